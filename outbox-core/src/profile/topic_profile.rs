//! How messages travel to one topic.

use super::fit;
use super::form::EnvelopeForm;
use super::kind::TopicKind;
use super::wrapped::WrappedMessage;
use crate::cloudevents::check_attribute_name;
use crate::message::OutboxMessage;
use crate::settings::SettingsError;
use crate::unsendable::Unsendable;

/// How messages travel to one topic: envelope, size limit, headers to filter by, kind of topic.
///
/// The application and its worker are given the same one for a topic. The application then refuses
/// to stage what the worker could not send.
///
/// ```
/// use outbox_core::{EnvelopeForm, TopicProfile};
///
/// let orders = TopicProfile::new(EnvelopeForm::Structured)
///     .with_limit(1_048_576)?
///     .with_filter_headers(["region", "tier"])?;
/// assert_eq!(orders.limit(), TopicProfile::LARGEST_LIMIT);
/// # Ok::<(), outbox_core::SettingsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicProfile {
    form: EnvelopeForm,
    kind: TopicKind,
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

    /// Messages in this form, up to 256 KiB, without headers to filter by, to a standard topic.
    pub const fn new(form: EnvelopeForm) -> Self {
        Self {
            form,
            kind: TopicKind::Standard,
            limit: Self::DEFAULT_LIMIT,
            filter_headers: Vec::new(),
        }
    }

    /// The kind of the topic. A worker goes by the topic's ARN instead.
    pub const fn with_kind(mut self, kind: TopicKind) -> Self {
        self.kind = kind;
        self
    }

    /// The topic's `MaximumMessageSize` in bytes, attributes included. Default: 262,144.
    ///
    /// Above the topic's own value SNS refuses what this lets through; below it messages are
    /// refused that would have been taken.
    ///
    /// # Errors
    /// [`SettingsError`] outside of 1,024 to 1,048,576.
    pub fn with_limit(mut self, bytes: usize) -> Result<Self, SettingsError> {
        if !(Self::SMALLEST_LIMIT..=Self::LARGEST_LIMIT).contains(&bytes) {
            return Err(SettingsError::new("limit", "1024 to 1048576 bytes"));
        }
        self.limit = bytes;
        Ok(self)
    }

    /// Headers that also travel as message attributes, for subscription filters. Default: none.
    ///
    /// There is room for as many as [`EnvelopeForm::spare_attributes`] says.
    ///
    /// # Errors
    /// [`SettingsError`] if there are too many, one is named twice, or SNS allows no attribute of
    /// that name.
    pub fn with_filter_headers<N: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = N>,
    ) -> Result<Self, SettingsError> {
        let refused = |wanted| SettingsError::new("filter_headers", wanted);
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        if names.len() > self.form.spare_attributes() {
            return Err(refused(match self.form {
                EnvelopeForm::Binary => "one name at most in the binary form",
                EnvelopeForm::Structured => "five names at most",
            }));
        }
        for (place, name) in names.iter().enumerate() {
            check_attribute_name(name).map_err(refused)?;
            if names[..place].contains(name) {
                return Err(refused("different names"));
            }
        }
        self.filter_headers = names;
        Ok(self)
    }

    /// The envelope.
    pub const fn form(&self) -> EnvelopeForm {
        self.form
    }

    /// The kind of the topic.
    pub const fn kind(&self) -> TopicKind {
        self.kind
    }

    /// Largest message and largest request in bytes.
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// Headers that also travel as message attributes.
    pub fn filter_headers(&self) -> &[String] {
        &self.filter_headers
    }

    /// Puts a message into its envelope.
    ///
    /// # Errors
    /// [`Unsendable`] if the topic or a queue behind it would refuse or lose it.
    pub fn wrap(&self, message: &OutboxMessage) -> Result<WrappedMessage, Unsendable> {
        WrappedMessage::new(self, message)
    }

    /// Whether [`wrap`](Self::wrap) would succeed, mostly without doing it.
    ///
    /// # Errors
    /// As `wrap`.
    pub fn check(&self, message: &OutboxMessage) -> Result<(), Unsendable> {
        fit::check(self, message)
    }

    /// The filter headers that this message has. To a filter, an empty header is a missing one.
    pub(super) fn chosen_headers<'a>(
        &'a self,
        message: &'a OutboxMessage,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        let chosen = |name: &'a String| Some((name.as_str(), message.headers.value(name)?));
        self.filter_headers.iter().filter_map(chosen).filter(|(_, value)| !value.is_empty())
    }

    pub(super) fn check_size(&self, size: usize) -> Result<(), Unsendable> {
        fit::check_size(size, self.limit)
    }
}

impl Default for TopicProfile {
    fn default() -> Self {
        Self::new(EnvelopeForm::default())
    }
}
