use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, Utc};

use super::dedup::{Deduplication, Receipt};
use super::refusal::Refusal;
use super::request::Entry;

const ACCOUNT: &str = "000000000000";
const DEFAULT_MAX_MESSAGE_SIZE: usize = 256 * 1024;
const FIFO_SUFFIX: &str = ".fifo";
const MAX_NAME: usize = 256;

/// The attributes of a topic, as `CreateTopic` gave them.
pub(crate) type TopicAttributes = BTreeMap<String, String>;

/// The topics of one region of one account.
#[derive(Debug)]
pub(crate) struct Topics {
    region: String,
    auto_create: bool,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_arn: HashMap<String, Topic>,
    /// Topics that must not come back by themselves.
    deleted: HashSet<String>,
}

/// One topic.
#[derive(Debug)]
pub(crate) struct Topic {
    attributes: TopicAttributes,
    max_message_size: usize,
    deduplication: Deduplication,
}

impl Topics {
    pub(crate) fn new(region: String, auto_create: bool) -> Self {
        Self { region, auto_create, known: Mutex::default() }
    }

    pub(crate) fn arn(&self, name: &str) -> String {
        format!("arn:aws:sns:{}:{ACCOUNT}:{name}", self.region)
    }

    /// Creates the topic, or confirms one that has the same attributes.
    pub(crate) fn create(
        &self,
        name: &str,
        attributes: TopicAttributes,
    ) -> Result<String, Refusal> {
        let topic = Topic::new(name, attributes)?;
        let arn = self.arn(name);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.by_arn.get(&arn) {
            Some(existing) if existing.attributes != topic.attributes => {
                return Err(Refusal::invalid_parameter(
                    "Attributes Reason: Topic already exists with different attributes",
                ));
            }
            Some(_) => {}
            None => {
                known.by_arn.insert(arn.clone(), topic);
            }
        }
        Ok(arn)
    }

    pub(crate) fn delete(&self, arn: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.by_arn.remove(arn);
        known.deleted.insert(arn.to_owned());
    }

    /// Runs `action` on the topic while nobody else can touch any topic.
    pub(crate) fn with<T>(
        &self,
        arn: &str,
        action: impl FnOnce(&mut Topic) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let name = self.name_in(arn)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = &mut *known;
        if self.auto_create
            && arn == self.arn(name)
            && !known.by_arn.contains_key(arn)
            && !known.deleted.contains(arn)
        {
            known.by_arn.insert(arn.to_owned(), Topic::new(name, implied_attributes(name))?);
        }
        known.by_arn.get_mut(arn).ok_or_else(Refusal::missing_topic).and_then(action)
    }

    fn name_in<'arn>(&self, arn: &'arn str) -> Result<&'arn str, Refusal> {
        let parts: Vec<&str> = arn.split(':').collect();
        match parts[..] {
            ["arn", _, "sns", region, _, name] if region == self.region => Ok(name),
            [_, _, _, _, _, _, ..] => Err(Refusal::invalid_parameter("TopicArn")),
            _ => Err(Refusal::invalid_parameter(format!(
                "TopicArn Reason: An ARN must have at least 6 elements, not {}",
                parts.len()
            ))),
        }
    }
}

impl Topic {
    fn new(name: &str, attributes: TopicAttributes) -> Result<Self, Refusal> {
        check_name(name, is_true(&attributes, "FifoTopic"))?;
        let max_message_size = match attributes.get("MaximumMessageSize") {
            None => DEFAULT_MAX_MESSAGE_SIZE,
            Some(size) => {
                size.parse().ok().filter(|size| (1024..=1024 * 1024).contains(size)).ok_or_else(
                    || Refusal::invalid_parameter("Attributes Reason: MaximumMessageSize"),
                )?
            }
        };
        Ok(Self { attributes, max_message_size, deduplication: Deduplication::default() })
    }

    pub(crate) fn receive(&mut self, entry: &Entry, now: DateTime<Utc>) -> Receipt {
        if self.is_fifo() {
            let per_group = self.attributes.get("FifoThroughputScope").map(String::as_str)
                == Some("MessageGroup");
            self.deduplication.receive(entry, per_group, now)
        } else {
            Receipt::unordered()
        }
    }

    pub(crate) fn attributes(&self) -> &TopicAttributes {
        &self.attributes
    }

    pub(crate) fn is_fifo(&self) -> bool {
        is_true(&self.attributes, "FifoTopic")
    }

    pub(crate) fn deduplicates_by_content(&self) -> bool {
        is_true(&self.attributes, "ContentBasedDeduplication")
    }

    pub(crate) fn max_message_size(&self) -> usize {
        self.max_message_size
    }
}

/// The attributes of a topic of which only the name is known.
pub(crate) fn implied_attributes(name: &str) -> TopicAttributes {
    if name.ends_with(FIFO_SUFFIX) {
        TopicAttributes::from([("FifoTopic".to_owned(), "true".to_owned())])
    } else {
        TopicAttributes::new()
    }
}

fn is_true(attributes: &TopicAttributes, name: &str) -> bool {
    attributes.get(name).is_some_and(|value| value == "true")
}

fn check_name(name: &str, fifo: bool) -> Result<(), Refusal> {
    let stem = if fifo { name.strip_suffix(FIFO_SUFFIX) } else { Some(name) };
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_legal = stem.is_some_and(|stem| !stem.is_empty() && stem.bytes().all(legal));
    match (is_legal && name.len() <= MAX_NAME, fifo) {
        (true, _) => Ok(()),
        (false, false) => Err(Refusal::invalid_parameter("Topic Name")),
        (false, true) => Err(Refusal::invalid_parameter(
            "Fifo Topic names must end with .fifo and must be made up of only uppercase and \
             lowercase ASCII letters, numbers, underscores, and hyphens, and must be between 1 \
             and 256 characters long.",
        )),
    }
}
