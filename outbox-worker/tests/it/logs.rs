//! What is logged while a test listens.

use std::io;
use std::sync::{Arc, Mutex};

use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::format::FmtSpan;

/// Collects what is logged.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// The lines with this text.
    pub(crate) fn with(&self, text: &str) -> Vec<String> {
        self.text().lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is logged on this thread until the guard is dropped.
pub(crate) fn listen() -> (Lines, DefaultGuard) {
    listen_to(FmtSpan::NONE)
}

/// As [`listen`], with a line for each span that closes, which has its name and fields.
pub(crate) fn listen_to_spans() -> (Lines, DefaultGuard) {
    listen_to(FmtSpan::CLOSE)
}

fn listen_to(spans: FmtSpan) -> (Lines, DefaultGuard) {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .with_span_events(spans)
        .finish();
    (lines, tracing::subscriber::set_default(subscriber))
}
