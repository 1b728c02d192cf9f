//! Which topics of AWS SNS the records go to, and how messages travel there.

use std::collections::BTreeMap;
use std::fmt;

use outbox_worker::publisher::sns::{EnvelopeForm, SnsTopic, SnsTopics, TopicProfile};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::config::both;
use crate::exit_reason::ExitReason;

/// Topics of AWS SNS.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Sns {
    /// By the topic name of the events.
    topics: BTreeMap<String, Entry>,
    /// What stands before a topic's name in its ARN, for topics without an own one.
    topic_arn_prefix: Option<String>,
    envelope: Envelope,
    /// The topics' `MaximumMessageSize` in bytes, which the application is told as well.
    limit: usize,
    filter_headers: Vec<String>,
}

impl Default for Sns {
    fn default() -> Self {
        Self {
            topics: BTreeMap::new(),
            topic_arn_prefix: None,
            envelope: Envelope::default(),
            limit: TopicProfile::DEFAULT_LIMIT,
            filter_headers: Vec::new(),
        }
    }
}

impl Sns {
    /// The topics that these settings name.
    pub(crate) fn topics(&self) -> Result<SnsTopics, ExitReason> {
        if self.topics.is_empty() && self.topic_arn_prefix.is_none() {
            return Err(ExitReason::plain(
                "settings: no topic is configured: set sns.topic_arn_prefix \
                 (OUTBOX_SNS__TOPIC_ARN_PREFIX) or entries of sns.topics",
            ));
        }
        let mut topics = SnsTopics::new().with_profile(self.profile("sns", &Topic::default())?);
        if let Some(prefix) = &self.topic_arn_prefix {
            topics = topics
                .under(prefix)
                .map_err(|error| ExitReason::new(setting("sns.topic_arn_prefix"), error))?;
        }
        for (name, Entry(own)) in &self.topics {
            let key = format!("sns.topics.{name}");
            let topic = match &own.arn {
                Some(arn) => SnsTopic::new(arn.clone())
                    .map_err(|error| ExitReason::new(setting(&key), error))?,
                None => self.under_the_prefix(&topics, name)?,
            };
            topics = topics.with_topic(name, topic.with_profile(self.profile(&key, own)?));
        }
        Ok(topics)
    }

    fn under_the_prefix(&self, topics: &SnsTopics, name: &str) -> Result<SnsTopic, ExitReason> {
        let key = format!("sns.topics.{name}");
        if self.topic_arn_prefix.is_none() {
            let cure = "set its arn, or sns.topic_arn_prefix";
            return Err(ExitReason::plain(format!("{}: {cure}", setting(&key))));
        }
        let topic = topics.resolve(name).map_err(|failure| {
            ExitReason::plain(format!("{}: {}", setting(&key), failure.summary()))
        })?;
        Ok(SnsTopic::clone(&topic))
    }

    /// What a topic does not say itself is as for all topics.
    fn profile(&self, key: &str, own: &Topic) -> Result<TopicProfile, ExitReason> {
        let form = match own.envelope.unwrap_or(self.envelope) {
            Envelope::Binary => EnvelopeForm::Binary,
            Envelope::Structured => EnvelopeForm::Structured,
        };
        TopicProfile::new(form)
            .with_limit(own.limit.unwrap_or(self.limit))
            .and_then(|profile| {
                let names = own.filter_headers.as_ref().unwrap_or(&self.filter_headers);
                profile.with_filter_headers(names)
            })
            .map_err(|error| ExitReason::new(setting(key), error))
    }
}

fn setting(key: &str) -> String {
    format!("settings: {}", both(key))
}

/// What one topic has of its own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Topic {
    arn: Option<String>,
    envelope: Option<Envelope>,
    limit: Option<usize>,
    filter_headers: Option<Vec<String>>,
}

/// One topic as it is written: its ARN alone, or a section.
#[derive(Clone, Debug)]
struct Entry(Topic);

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an ARN or a section with arn, envelope, limit or filter_headers")
    }

    fn visit_str<E>(self, arn: &str) -> Result<Entry, E> {
        Ok(Entry(Topic { arn: Some(arn.to_owned()), ..Topic::default() }))
    }

    fn visit_map<A: MapAccess<'de>>(self, section: A) -> Result<Entry, A::Error> {
        Topic::deserialize(MapAccessDeserializer::new(section)).map(Entry)
    }
}

/// Form of the messages.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Envelope {
    /// The payload as it is, metadata in message attributes.
    Binary,
    /// A CloudEvents JSON document.
    #[default]
    Structured,
}
