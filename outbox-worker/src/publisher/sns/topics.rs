//! From a topic's name in a record to a topic of SNS.

use std::collections::BTreeMap;
use std::sync::Arc;

use outbox_core::{Failure, FailureKind, TopicKind, TopicProfile};

use super::error::SnsConfigError;

const LONGEST_NAME: usize = 256;
const FIFO: &str = ".fifo";

/// One topic of SNS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnsTopic {
    arn: String,
    profile: TopicProfile,
}

impl SnsTopic {
    /// The topic with this ARN and the default profile.
    ///
    /// # Errors
    /// [`SnsConfigError::Arn`] if no topic can have it.
    pub fn new(arn: impl Into<String>) -> Result<Self, SnsConfigError> {
        let arn = arn.into();
        let (prefix, name) = arn.rsplit_once(':').ok_or(SnsConfigError::Arn)?;
        if !is_prefix(prefix) || !is_name(name) {
            return Err(SnsConfigError::Arn);
        }
        let profile = TopicProfile::default().with_kind(kind(&arn));
        Ok(Self { arn, profile })
    }

    /// Sends to it like this, as to a topic of the kind that its ARN says.
    pub fn with_profile(mut self, profile: TopicProfile) -> Self {
        self.profile = profile.with_kind(kind(&self.arn));
        self
    }

    /// Its ARN.
    pub fn arn(&self) -> &str {
        &self.arn
    }

    /// Whether it keeps the order of each message group and drops repeated messages.
    pub fn is_fifo(&self) -> bool {
        self.profile.kind() == TopicKind::Fifo
    }

    /// How messages travel to it.
    pub const fn profile(&self) -> &TopicProfile {
        &self.profile
    }
}

/// Topics by the name that records bear.
///
/// A name is looked up in this order: entries of [`SnsTopics::with_topic`]; the name itself if it
/// is an ARN; a topic of that name under the prefix of [`SnsTopics::under`].
#[derive(Clone, Debug, Default)]
pub struct SnsTopics {
    entries: BTreeMap<String, Arc<SnsTopic>>,
    prefix: Option<String>,
    profile: TopicProfile,
}

impl SnsTopics {
    /// No topics but those whose name is an ARN.
    pub fn new() -> Self {
        Self::default()
    }

    /// Finds topics by name in one account and region: `arn:aws:sns:eu-west-1:123456789012:`.
    ///
    /// # Errors
    /// [`SnsConfigError::Prefix`] if no topic has such an ARN.
    pub fn under(mut self, prefix: &str) -> Result<Self, SnsConfigError> {
        let prefix = prefix.strip_suffix(':').unwrap_or(prefix);
        if !is_prefix(prefix) {
            return Err(SnsConfigError::Prefix);
        }
        self.prefix = Some(format!("{prefix}:"));
        Ok(self)
    }

    /// Sends like this to topics that have no entry.
    pub fn with_profile(mut self, profile: TopicProfile) -> Self {
        self.profile = profile;
        self
    }

    /// Sends records of this topic name to this topic.
    pub fn with_topic(mut self, name: impl Into<String>, topic: SnsTopic) -> Self {
        self.entries.insert(name.into(), Arc::new(topic));
        self
    }

    /// Names of all topics that there are, but for names that are ARNs; none if there is a prefix,
    /// under which any name is a topic.
    pub fn names(&self) -> Vec<String> {
        match self.prefix {
            Some(_) => Vec::new(),
            None => self.entries.keys().cloned().collect(),
        }
    }

    /// The topic that records of this topic name go to.
    ///
    /// # Errors
    /// [`FailureKind::Destination`] if there is none.
    pub fn resolve(&self, name: &str) -> Result<Arc<SnsTopic>, Failure> {
        if let Some(topic) = self.entries.get(name) {
            return Ok(Arc::clone(topic));
        }
        let unknown = |why| {
            let summary = format!("topic `{name}` {why}");
            Failure::new(FailureKind::Destination, &summary)
        };
        let arn = match &self.prefix {
            _ if name.starts_with("arn:") => name.to_owned(),
            Some(prefix) => format!("{prefix}{name}"),
            None => return Err(unknown("has no ARN: set sns.topics or sns.topic_arn_prefix")),
        };
        let topic = SnsTopic::new(arn).map_err(|_| unknown("is no name of an SNS topic"))?;
        Ok(Arc::new(topic.with_profile(self.profile.clone())))
    }
}

fn kind(arn: &str) -> TopicKind {
    if arn.ends_with(FIFO) { TopicKind::Fifo } else { TopicKind::Standard }
}

/// Whether this is a topic's ARN without name and last colon.
fn is_prefix(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    let [arn, partition, service, region, account] = parts[..] else { return false };
    arn == "arn"
        && service == "sns"
        && [partition, region, account].iter().all(|part| !part.is_empty())
}

fn is_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let stem = name.strip_suffix(FIFO).unwrap_or(name);
    !stem.is_empty() && name.len() <= LONGEST_NAME && stem.bytes().all(legal)
}
