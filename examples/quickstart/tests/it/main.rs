//! The program as a new user starts it.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong must stop at once")]

mod run;
mod serve;

use std::process::Command;

/// Without anything in the environment that leads to a real database or topic.
fn quickstart(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quickstart"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("AWS_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).env_remove("DATABASE_URL").env_remove("QUICKSTART_TOPIC_ARN");
    command
}
