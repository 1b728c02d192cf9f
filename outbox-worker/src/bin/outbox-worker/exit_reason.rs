//! What ends the program, as one line.

use std::error::Error;
use std::fmt;

use outbox_worker::Chain;

/// A sentence for the operator, with the causes behind it.
#[derive(Debug)]
pub(crate) struct ExitReason {
    sentence: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

impl ExitReason {
    pub(crate) fn new(
        sentence: impl Into<String>,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { sentence: sentence.into(), cause: Some(cause.into()) }
    }

    /// Names the outbox, where there are several.
    pub(crate) fn of(self, outbox: Option<&str>) -> Self {
        match outbox {
            Some(name) => Self { sentence: format!("{name}: {}", self.sentence), ..self },
            None => self,
        }
    }

    pub(crate) fn plain(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), cause: None }
    }
}

impl fmt::Display for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = match &self.cause {
            Some(cause) => format!("{}: {}", self.sentence, Chain(&**cause)),
            None => self.sentence.clone(),
        };
        f.write_str(&said.replace(['\n', '\r'], " "))
    }
}
