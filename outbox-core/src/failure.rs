//! Why a send failed and who is at fault.

use std::fmt;
use std::time::Duration;

/// Who is at fault. It decides what happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The broker may have taken the message: the answer was lost. Retried, counted.
    Ambiguous,
    /// Our credentials or clock: all publishing pauses, nothing is counted.
    Credentials,
    /// The topic, its permissions or its key: that topic pauses, nothing is counted.
    Destination,
    /// This message, for ever: dead-lettered at once.
    Message,
    /// The broker asks for less: that topic slows down, nothing is counted.
    Throttled,
    /// The broker surely did not take it. Retried, counted.
    Transient,
}

impl FailureKind {
    /// The word used in metrics and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ambiguous => "ambiguous",
            Self::Credentials => "credentials",
            Self::Destination => "destination",
            Self::Message => "message",
            Self::Throttled => "throttled",
            Self::Transient => "transient",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failed send of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Who is at fault.
    pub kind: FailureKind,
    /// The broker's error code, if it gave one.
    pub code: Option<String>,
    /// How long the broker asks to wait.
    pub retry_after: Option<Duration>,
    summary: String,
}

impl Failure {
    /// Longest summary that is stored, in bytes.
    pub const SUMMARY: usize = 2048;

    /// A failure with a summary for the operator.
    ///
    /// Control characters become spaces and the text is cut at [`Failure::SUMMARY`] bytes, because
    /// it is stored and shown on terminals. An empty one becomes the kind's name.
    pub fn new(kind: FailureKind, summary: &str) -> Self {
        let summary = clean(summary);
        let summary = if summary.is_empty() { kind.as_str().to_owned() } else { summary };
        Self { kind, code: None, retry_after: None, summary }
    }

    /// Adds the broker's error code.
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// What happened, never empty, without control characters.
    pub fn summary(&self) -> &str {
        &self.summary
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.code {
            Some(code) => write!(f, "{}: {code}: {}", self.kind, self.summary),
            None => write!(f, "{}: {}", self.kind, self.summary),
        }
    }
}

fn clean(text: &str) -> String {
    let blank = |character: char| character.is_whitespace() || character.is_control();
    let mut clean = String::new();
    for character in text.trim_matches(blank).chars() {
        let character = if character.is_control() { ' ' } else { character };
        if clean.len() + character.len_utf8() > Failure::SUMMARY {
            break;
        }
        clean.push(character);
    }
    clean
}
