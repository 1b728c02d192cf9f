//! Lines for whoever watches. Logs go to the other stream.

use std::fmt;
use std::io::Write;

/// As `println!`, but a reader that has left does not end the program.
macro_rules! say {
    () => { $crate::console::line(format_args!("")) };
    ($($line:tt)*) => { $crate::console::line(format_args!($($line)*)) };
}

pub(crate) use say;

/// What ended the program, and why, in one line.
pub(crate) fn trouble(error: &anyhow::Error) {
    let said = error.chain().map(ToString::to_string).reduce(|said, cause| {
        // Some libraries repeat their cause in their own text.
        if said.contains(&cause) { said } else { format!("{said}: {cause}") }
    });
    let _ = writeln!(std::io::stderr(), "quickstart: {}", said.unwrap_or_default());
}

pub(crate) fn line(line: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
