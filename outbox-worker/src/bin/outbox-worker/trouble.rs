//! What ends the program, as one line.

use std::error::Error;
use std::fmt;

/// A sentence for the operator, with the causes behind it.
#[derive(Debug)]
pub(crate) struct Trouble {
    sentence: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

impl Trouble {
    pub(crate) fn new(
        sentence: impl Into<String>,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { sentence: sentence.into(), cause: Some(cause.into()) }
    }

    pub(crate) fn plain(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), cause: None }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = self.sentence.clone();
        let mut cause = self.cause.as_deref().map(|cause| cause as &dyn Error);
        while let Some(error) = cause {
            let text = error.to_string();
            // Some libraries repeat their source in their own text.
            if !said.contains(&text) {
                said = format!("{said}: {text}");
            }
            cause = error.source();
        }
        f.write_str(&said.replace(['\n', '\r'], " "))
    }
}
