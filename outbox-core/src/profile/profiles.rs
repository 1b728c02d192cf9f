//! Profiles by topic.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fit;
use super::topic_profile::TopicProfile;
use crate::error::EncodeError;
use crate::message::OutboxMessage;

/// How messages travel to each topic that an application stages for.
///
/// Of a topic without a profile only this much is known: it takes 256 KiB unless somebody raised
/// that, and messages travel to it in one of the forms of [`EnvelopeForm`](crate::EnvelopeForm). So
/// the larger form counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicProfiles {
    topics: BTreeMap<String, TopicProfile>,
    others: Option<TopicProfile>,
}

impl TopicProfiles {
    /// No profile for any topic.
    pub const fn new() -> Self {
        Self { topics: BTreeMap::new(), others: None }
    }

    /// Messages to this topic travel like this.
    pub fn with_topic(mut self, topic: impl Into<String>, profile: TopicProfile) -> Self {
        self.topics.insert(topic.into(), profile);
        self
    }

    /// Messages to topics without a profile of their own travel like this.
    pub fn with_default(mut self, profile: TopicProfile) -> Self {
        self.others = Some(profile);
        self
    }

    /// The profile of a topic, if there is one.
    pub fn of(&self, topic: &str) -> Option<&TopicProfile> {
        self.topics.get(topic).or(self.others.as_ref())
    }

    /// Whether the message's topic would take it.
    ///
    /// # Errors
    /// [`EncodeError::Unsendable`] that says what to do.
    pub fn check(&self, message: &OutboxMessage) -> Result<(), EncodeError> {
        let checked = match self.of(&message.topic) {
            Some(profile) => profile.check(message),
            None => fit::check_unknown(message),
        };
        checked.map_err(|reason| EncodeError::Unsendable {
            event_type: Arc::clone(&message.event_type),
            topic: Arc::clone(&message.topic),
            reason,
        })
    }
}
