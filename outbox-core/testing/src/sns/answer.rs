//! The XML of SNS's answers.

use uuid::Uuid;

use super::dedup::Receipt;
use super::fault::EntryFailure;
use super::refusal::Refusal;
use super::topics::TopicAttributes;
use super::xml::Xml;

/// An answer's document and the request id within, which its head repeats.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) request_id: String,
    pub(crate) xml: String,
}

/// What the answer to a batch says about one entry.
#[derive(Debug)]
pub(crate) enum EntryResult<'request> {
    Accepted { id: &'request str, receipt: Receipt },
    Failed { id: &'request str, failure: &'request EntryFailure },
    Omitted,
}

pub(crate) fn error(refusal: &Refusal) -> Document {
    let blame = if refusal.status < 500 { "Sender" } else { "Receiver" };
    let request_id = Uuid::new_v4().to_string();
    let xml = Xml::document("ErrorResponse", |xml| {
        xml.nest("Error", |xml| {
            xml.leaf("Type", blame);
            xml.leaf("Code", &refusal.code);
            xml.leaf("Message", &refusal.message);
        });
        xml.leaf("RequestId", &request_id);
    });
    Document { request_id, xml }
}

pub(crate) fn topic_created(arn: &str) -> Document {
    response("CreateTopic", |xml| xml.leaf("TopicArn", arn))
}

pub(crate) fn topic_attributes(arn: &str, attributes: &TopicAttributes) -> Document {
    response("GetTopicAttributes", |xml| {
        xml.nest("Attributes", |xml| {
            entry(xml, "TopicArn", arn);
            for (name, value) in attributes {
                entry(xml, name, value);
            }
        });
    })
}

/// The answer to a single `Publish`; without a receipt it is a result that says nothing.
pub(crate) fn published(receipt: Option<&Receipt>) -> Document {
    response("Publish", |xml| {
        if let Some(receipt) = receipt {
            self::receipt(xml, receipt);
        }
    })
}

pub(crate) fn batch_published(results: &[EntryResult<'_>]) -> Document {
    response("PublishBatch", |xml| {
        xml.nest("Successful", |xml| results.iter().for_each(|result| successful(xml, result)));
        xml.nest("Failed", |xml| results.iter().for_each(|result| failed(xml, result)));
    })
}

fn response(action: &str, result: impl FnOnce(&mut Xml)) -> Document {
    let request_id = Uuid::new_v4().to_string();
    let xml = Xml::document(&format!("{action}Response"), |xml| {
        xml.nest(&format!("{action}Result"), result);
        xml.nest("ResponseMetadata", |xml| xml.leaf("RequestId", &request_id));
    });
    Document { request_id, xml }
}

fn entry(xml: &mut Xml, key: &str, value: &str) {
    xml.nest("entry", |xml| {
        xml.leaf("key", key);
        xml.leaf("value", value);
    });
}

fn receipt(xml: &mut Xml, receipt: &Receipt) {
    xml.leaf("MessageId", &receipt.message_id);
    if let Some(sequence_number) = &receipt.sequence_number {
        xml.leaf("SequenceNumber", sequence_number);
    }
}

fn successful(xml: &mut Xml, result: &EntryResult<'_>) {
    if let EntryResult::Accepted { id, receipt } = result {
        xml.nest("member", |xml| {
            xml.leaf("Id", id);
            self::receipt(xml, receipt);
        });
    }
}

fn failed(xml: &mut Xml, result: &EntryResult<'_>) {
    if let EntryResult::Failed { id, failure } = result {
        xml.nest("member", |xml| {
            xml.leaf("Id", id);
            xml.leaf("Code", &failure.code);
            xml.leaf("Message", "The entry was not published");
            xml.leaf("SenderFault", if failure.sender_fault { "true" } else { "false" });
        });
    }
}
