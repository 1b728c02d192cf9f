use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::request::Entry;

/// How long a FIFO topic remembers a message.
const WINDOW: Duration = Duration::from_secs(5 * 60);

/// What SNS gives back for a message it took.
#[derive(Debug, Clone)]
pub(crate) struct Receipt {
    pub(crate) message_id: String,
    pub(crate) sequence_number: Option<String>,
    pub(crate) deduplicated: bool,
}

impl Receipt {
    /// For a standard topic: nothing is remembered, nothing is numbered.
    pub(crate) fn unordered() -> Self {
        Self { message_id: message_id(), sequence_number: None, deduplicated: false }
    }
}

/// The messages a FIFO topic took within the last five minutes.
#[derive(Debug, Default)]
pub(crate) struct Deduplication {
    seen: HashMap<Key, (DateTime<Utc>, Receipt)>,
    sequence: u64,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    /// Set only where the topic deduplicates within a group.
    group: Option<String>,
    identity: Identity,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Identity {
    /// SNS keeps a hash of the body; the body itself serves as well here.
    Content(String),
    Id(String),
}

impl Deduplication {
    /// Takes the message, or recognises it.
    pub(crate) fn receive(
        &mut self,
        entry: &Entry,
        per_group: bool,
        now: DateTime<Utc>,
    ) -> Receipt {
        let key = Key {
            group: entry.group_id.clone().filter(|_| per_group),
            identity: match &entry.deduplication_id {
                Some(id) => Identity::Id(id.clone()),
                None => Identity::Content(entry.message.clone()),
            },
        };
        if let Some((first_seen, receipt)) = self.seen.get(&key)
            && now < *first_seen + WINDOW
        {
            return Receipt { deduplicated: true, ..receipt.clone() };
        }
        self.sequence += 1;
        let receipt = Receipt {
            message_id: message_id(),
            sequence_number: Some(format!("1{:019}", self.sequence)),
            deduplicated: false,
        };
        self.seen.insert(key, (now, receipt.clone()));
        receipt
    }
}

fn message_id() -> String {
    Uuid::new_v4().to_string()
}
