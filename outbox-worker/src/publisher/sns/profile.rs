//! How messages travel to a topic.

use super::envelope::EnvelopeForm;
use super::error::SnsConfigError;
use super::text;

/// How messages travel to one topic: envelope, size limit and headers to filter by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicProfile {
    form: EnvelopeForm,
    limit: usize,
    filter_headers: Vec<String>,
}

impl TopicProfile {
    /// What SNS takes per request from a topic that nobody configured: 256 KiB.
    pub const DEFAULT_LIMIT: usize = 262_144;
    /// The most that a topic's `MaximumMessageSize` can be: 1 MiB.
    pub const LARGEST_LIMIT: usize = 1_048_576;
    /// The least that a topic's `MaximumMessageSize` can be: 1 KiB.
    pub const SMALLEST_LIMIT: usize = 1024;

    /// Messages in this form, up to 256 KiB, without headers to filter by.
    pub const fn new(form: EnvelopeForm) -> Self {
        Self { form, limit: Self::DEFAULT_LIMIT, filter_headers: Vec::new() }
    }

    /// The topic's `MaximumMessageSize` in bytes, attributes included. Default: 262,144.
    ///
    /// Above the topic's own value SNS refuses what this publisher lets through; below it messages
    /// are dead-lettered that would have been taken.
    ///
    /// # Errors
    /// [`SnsConfigError::Limit`] outside of 1,024 to 1,048,576.
    pub fn with_limit(mut self, bytes: usize) -> Result<Self, SnsConfigError> {
        if !(Self::SMALLEST_LIMIT..=Self::LARGEST_LIMIT).contains(&bytes) {
            return Err(SnsConfigError::Limit);
        }
        self.limit = bytes;
        Ok(self)
    }

    /// Headers that also travel as message attributes, for subscription filters. Default: none.
    ///
    /// There is room for as many as [`EnvelopeForm::spare_attributes`] says.
    ///
    /// # Errors
    /// [`SnsConfigError::FilterHeader`] if there are too many, one is named twice, or SNS allows no
    /// attribute of that name.
    pub fn with_filter_headers<N: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = N>,
    ) -> Result<Self, SnsConfigError> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        if names.len() > self.form.spare_attributes() {
            return Err(SnsConfigError::FilterHeader("there are more than fit beside the others"));
        }
        for (place, name) in names.iter().enumerate() {
            text::check_attribute_name(name).map_err(SnsConfigError::FilterHeader)?;
            if names[..place].contains(name) {
                return Err(SnsConfigError::FilterHeader("one is named twice"));
            }
        }
        self.filter_headers = names;
        Ok(self)
    }

    /// The envelope.
    pub const fn form(&self) -> EnvelopeForm {
        self.form
    }

    /// Largest message and largest request in bytes.
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// Headers that also travel as message attributes.
    pub fn filter_headers(&self) -> &[String] {
        &self.filter_headers
    }
}

impl Default for TopicProfile {
    fn default() -> Self {
        Self::new(EnvelopeForm::default())
    }
}
