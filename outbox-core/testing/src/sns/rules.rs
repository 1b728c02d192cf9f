//! What SNS demands of a publish request, in the order and with the codes it answers.

use std::collections::HashSet;

use super::accepted::Attribute;
use super::refusal::Refusal;
use super::request::{Entry, PublishRequest, Shape};
use super::topics::Topic;

const MAX_BATCH_ENTRIES: usize = 10;
const MAX_BATCH_ID: usize = 80;
const MAX_ATTRIBUTE_NAME: usize = 256;
const MAX_FIFO_ID: usize = 128;
/// "Less than 100 characters long".
const MAX_SUBJECT: usize = 99;

/// Checks what can be told without the topic.
pub(crate) fn check_shape(request: &PublishRequest) -> Result<(), Refusal> {
    if request.shape == Shape::Single {
        return Ok(());
    }
    let entries = &request.entries;
    if entries.is_empty() {
        return Err(batch("EmptyBatchRequest", "The batch request doesn't contain any entries."));
    }
    if entries.len() > MAX_BATCH_ENTRIES {
        return Err(batch(
            "TooManyEntriesInBatchRequest",
            "The batch request contains more entries than permissible.",
        ));
    }
    let distinct: HashSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    if distinct.len() < entries.len() {
        return Err(batch(
            "BatchEntryIdsNotDistinct",
            "Two or more batch entries in the request have the same Id.",
        ));
    }
    if !entries.iter().all(|entry| is_batch_id(&entry.id)) {
        return Err(batch(
            "InvalidBatchEntryId",
            "The Id of a batch entry in a batch request doesn't abide by the specification.",
        ));
    }
    Ok(())
}

/// Checks the entries against the topic. One bad entry turns the whole request down.
pub(crate) fn check_entries(request: &PublishRequest, topic: &Topic) -> Result<(), Refusal> {
    for entry in &request.entries {
        check_content(entry)?;
        check_ordering(entry, topic)?;
    }
    let size: usize = request.entries.iter().map(Entry::size).sum();
    match request.shape {
        _ if size <= topic.max_message_size() => Ok(()),
        Shape::Batch => Err(batch(
            "BatchRequestTooLong",
            "The length of all the messages put together is more than the limit.",
        )),
        Shape::Single => Err(Refusal::invalid_parameter("Message too long")),
    }
}

fn batch(code: &'static str, message: &'static str) -> Refusal {
    Refusal::new(400, code, message)
}

fn is_batch_id(id: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !id.is_empty() && id.len() <= MAX_BATCH_ID && id.bytes().all(legal)
}

fn check_content(entry: &Entry) -> Result<(), Refusal> {
    if entry.message.is_empty() {
        return Err(Refusal::invalid_parameter("Empty message"));
    }
    if entry.subject.as_deref().is_some_and(|subject| !is_subject(subject)) {
        return Err(Refusal::invalid_parameter("Subject"));
    }
    let mut names = HashSet::new();
    for attribute in &entry.attributes {
        check_name(&attribute.name)?;
        check_value(attribute)?;
        if !names.insert(attribute.name.as_str()) {
            return Err(Refusal::invalid_value("Message attribute names must be unique."));
        }
    }
    Ok(())
}

fn is_subject(subject: &str) -> bool {
    let length = subject.chars().count();
    (1..=MAX_SUBJECT).contains(&length) && !subject.chars().any(char::is_control)
}

fn check_name(name: &str) -> Result<(), Refusal> {
    let lower = name.to_ascii_lowercase();
    let illegal = |character: &char| {
        !character.is_ascii_alphanumeric() && !matches!(character, '-' | '_' | '.')
    };
    let complaint = if name.is_empty() {
        "Message attribute name can not be empty.".to_owned()
    } else if name.len() > MAX_ATTRIBUTE_NAME {
        "Length of message attribute name must be less than 256 bytes.".to_owned()
    } else if name.starts_with('.') {
        "Invalid message attribute name starting with character '.' was found.".to_owned()
    } else if name.ends_with('.') {
        "Invalid message attribute name ending with character '.' was found.".to_owned()
    } else if name.contains("..") {
        "Message attribute name can not have successive '.' character.".to_owned()
    } else if lower.starts_with("aws.") || lower.starts_with("amazon.") {
        format!("The message attribute name '{name}' starts with a reserved prefix.")
    } else if let Some(character) = name.chars().find(illegal) {
        format!(
            "Invalid non-alphanumeric character '#x{:x}' was found in the message attribute \
             name '{name}'.",
            u32::from(character)
        )
    } else {
        return Ok(());
    };
    Err(Refusal::invalid_value(complaint))
}

fn check_value(attribute: &Attribute) -> Result<(), Refusal> {
    let Attribute { name, data_type, value } = attribute;
    let (base, suffix) = data_type.split_once('.').unwrap_or((data_type, "default"));
    if !matches!(base, "String" | "Number" | "Binary") || suffix.is_empty() {
        return Err(Refusal::invalid_value(format!(
            "The message attribute '{name}' has an invalid message attribute type, the set of \
             supported type prefixes is Binary, Number, and String."
        )));
    }
    if value.is_empty() {
        return Err(Refusal::invalid_value(format!(
            "The message attribute '{name}' must contain non-empty message attribute value for \
             message attribute type '{data_type}'."
        )));
    }
    let is_number = value.parse::<f64>().is_ok_and(f64::is_finite);
    if base == "Number" && !is_number {
        return Err(Refusal::invalid_value(format!(
            "Could not cast message attribute '{name}' value to number."
        )));
    }
    Ok(())
}

fn check_ordering(entry: &Entry, topic: &Topic) -> Result<(), Refusal> {
    for (field, id) in
        [("MessageGroupId", &entry.group_id), ("MessageDeduplicationId", &entry.deduplication_id)]
    {
        if id.as_deref().is_some_and(|id| !is_fifo_id(id)) {
            return Err(Refusal::invalid_parameter(format!(
                "{field} Reason: it is limited to {MAX_FIFO_ID} alphanumeric and punctuation \
                 characters"
            )));
        }
    }
    if !topic.is_fifo() {
        return match entry.deduplication_id {
            None => Ok(()),
            Some(_) => Err(Refusal::invalid_parameter(
                "MessageDeduplicationId Reason: The request includes MessageDeduplicationId \
                 parameter that is not valid for this topic type",
            )),
        };
    }
    if entry.group_id.is_none() {
        return Err(Refusal::invalid_parameter(
            "The MessageGroupId parameter is required for FIFO topics",
        ));
    }
    if entry.deduplication_id.is_none() && !topic.deduplicates_by_content() {
        return Err(Refusal::invalid_parameter(
            "The topic should either have ContentBasedDeduplication enabled or \
             MessageDeduplicationId provided explicitly",
        ));
    }
    Ok(())
}

fn is_fifo_id(id: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_graphic();
    !id.is_empty() && id.len() <= MAX_FIFO_ID && id.bytes().all(legal)
}
