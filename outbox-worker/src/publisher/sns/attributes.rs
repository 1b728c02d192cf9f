//! The message attributes of one message.

use outbox_core::{Failure, FailureKind};

use super::text;

/// What SNS calls the type of a text attribute.
pub(crate) const STRING: &str = "String";

/// Name and value pairs, all of type String.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Attributes(Vec<(String, String)>);

impl Attributes {
    /// Adds an attribute.
    ///
    /// # Errors
    /// [`FailureKind::Message`] if the value is empty, which SNS refuses, or holds a character for
    /// which filters ignore it.
    pub(crate) fn add(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        if value.is_empty() {
            let summary = format!("message attribute `{name}` is empty");
            return Err(Failure::new(FailureKind::Message, &summary));
        }
        if let Some(illegal) = text::illegal_in_attribute(value) {
            let code = u32::from(illegal);
            let summary = format!("message attribute `{name}` holds U+{code:04X}");
            return Err(Failure::new(FailureKind::Message, &summary));
        }
        self.0.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    /// Bytes that SNS counts for them: names, types and values.
    pub(crate) fn bytes(&self) -> usize {
        self.iter().map(|(name, value)| name.len() + STRING.len() + value.len()).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}
