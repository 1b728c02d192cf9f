//! One `PublishBatch` request and its answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_sdk_sns::Client;
use aws_sdk_sns::operation::publish_batch::PublishBatchOutput;
use aws_sdk_sns::types::{BatchResultErrorEntry, PublishBatchResultEntry};
use outbox_core::{Failure, FailureKind, OutboxMessage, Receipt};

use super::classify::classify_entry;
use super::entry::SnsEntry;
use super::refusal::{self, Refusal};
use super::topics::SnsTopic;
use super::verdicts::Verdict;

/// A refused request of more messages is halved, one of fewer is taken apart.
///
/// One bad message among ten then costs eight requests, one after the other only three.
const HALVED: usize = 5;

/// Messages for one topic that fit into one request, each with its place in the call.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    topic: Arc<SnsTopic>,
    /// All of the call.
    messages: &'a [OutboxMessage],
    places: Vec<usize>,
    /// Handed over when it is sent: kept for the rare split, they would double what is under way.
    entries: Vec<(usize, SnsEntry)>,
}

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Answer<'a> {
    /// Each message has its verdict.
    Complete(Vec<(usize, Verdict)>),
    /// Nothing was published, and smaller requests can tell why.
    Split(Vec<Request<'a>>),
}

impl<'a> Request<'a> {
    pub(crate) fn new(
        topic: Arc<SnsTopic>,
        messages: &'a [OutboxMessage],
        entries: Vec<(usize, SnsEntry)>,
    ) -> Self {
        let places = entries.iter().map(|(place, _)| *place).collect();
        Self { topic, messages, places, entries }
    }

    pub(crate) async fn send(mut self, client: &Client) -> Answer<'a> {
        match self.attempt(client).await {
            Ok(output) => Answer::Complete(self.reconcile(&output)),
            Err(refusal) if refusal.class.splits() && self.places.len() > 1 => {
                tracing::debug!(
                    topic = self.topic.arn(),
                    messages = self.places.len(),
                    "batch refused whole, trying smaller ones"
                );
                Answer::Split(self.split())
            }
            Err(refusal) => Answer::Complete(self.all_fail(&refusal.failure(self.topic.arn()))),
        }
    }

    async fn attempt(&mut self, client: &Client) -> Result<PublishBatchOutput, Refusal> {
        let entries = std::mem::take(&mut self.entries).into_iter();
        let entries: Result<Vec<_>, _> =
            entries.map(|(place, entry)| entry.into_request(place)).collect();
        let entries = entries.map_err(|error| Refusal::unbuilt(&error))?;
        client
            .publish_batch()
            .topic_arn(self.topic.arn())
            .set_publish_batch_request_entries(Some(entries))
            .send()
            .await
            .map_err(|error| Refusal::new(&error))
    }

    /// Finds each message's verdict by its id; SNS promises no order.
    fn reconcile(&self, output: &PublishBatchOutput) -> Vec<(usize, Verdict)> {
        let taken = output.successful().iter();
        let mut taken: BTreeMap<&str, Receipt> =
            taken.filter_map(|entry| Some((entry.id()?, receipt(entry)))).collect();
        let mut failed: BTreeMap<&str, Failure> =
            output.failed().iter().map(|entry| (entry.id(), self.failure(entry))).collect();

        let mut verdict = |place: usize| {
            let id = place.to_string();
            match (taken.remove(&*id), failed.remove(&*id)) {
                (Some(receipt), None) => Ok(receipt),
                (None, Some(failure)) => Err(failure),
                (Some(_), Some(_)) => Err(unclear("SNS says that it took and that it refused it")),
                (None, None) => Err(unclear("SNS says nothing about the message")),
            }
        };
        let reconciled = self.places.iter().map(|place| (*place, verdict(*place))).collect();

        let strangers = taken.len() + failed.len();
        if strangers > 0 {
            let topic = self.topic.arn();
            tracing::warn!(topic, strangers, "SNS reports on messages that were not sent");
        }
        reconciled
    }

    fn failure(&self, entry: &BatchResultErrorEntry) -> Failure {
        let text = entry.message().unwrap_or_default();
        let class = classify_entry(entry.code(), entry.sender_fault(), text);
        refusal::failure(class, Some(entry.code()), text, self.topic.arn())
    }

    /// This failure for each of its messages.
    pub(crate) fn all_fail(&self, failure: &Failure) -> Vec<(usize, Verdict)> {
        self.places.iter().map(|place| (*place, Err(failure.clone()))).collect()
    }

    fn split(self) -> Vec<Self> {
        let size = if self.places.len() > HALVED { self.places.len().div_ceil(2) } else { 1 };
        let wrap = |&place: &usize| {
            // It could be wrapped before, so it can now.
            Some((place, SnsEntry::new(&self.messages[place], &self.topic).ok()?))
        };
        let parts = self.places.chunks(size).map(|places| places.iter().filter_map(wrap).collect());
        parts.map(|entries| Self::new(Arc::clone(&self.topic), self.messages, entries)).collect()
    }
}

fn receipt(entry: &PublishBatchResultEntry) -> Receipt {
    Receipt { broker_id: entry.message_id().map(str::to_owned) }
}

fn unclear(summary: &str) -> Failure {
    Failure::new(FailureKind::Ambiguous, summary)
}
