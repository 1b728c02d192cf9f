//! One `PublishBatch` request and its answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_sdk_sns::Client;
use aws_sdk_sns::operation::publish_batch::PublishBatchOutput;
use aws_sdk_sns::types::{BatchResultErrorEntry, PublishBatchResultEntry};
use outbox_core::{Failure, FailureKind, Receipt};

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
pub(crate) struct Request {
    topic: Arc<SnsTopic>,
    entries: Vec<(usize, SnsEntry)>,
}

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Each message has its verdict.
    Complete(Vec<(usize, Verdict)>),
    /// Nothing was published, and smaller requests can tell why.
    Split(Vec<Request>),
}

impl Request {
    pub(crate) fn new(topic: Arc<SnsTopic>, entries: Vec<(usize, SnsEntry)>) -> Self {
        Self { topic, entries }
    }

    pub(crate) async fn send(self, client: &Client) -> Answer {
        match self.attempt(client).await {
            Ok(output) => Answer::Complete(self.reconcile(&output)),
            Err(refusal) if refusal.class.splits() && self.entries.len() > 1 => {
                tracing::debug!(
                    topic = self.topic.arn(),
                    messages = self.entries.len(),
                    "batch refused whole, trying smaller ones"
                );
                Answer::Split(self.split())
            }
            Err(refusal) => Answer::Complete(self.all_fail(&refusal.failure(self.topic.arn()))),
        }
    }

    async fn attempt(&self, client: &Client) -> Result<PublishBatchOutput, Refusal> {
        let entries: Result<Vec<_>, _> =
            self.entries.iter().map(|(place, entry)| entry.to_request(*place)).collect();
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
        let reconciled = self.entries.iter().map(|(place, _)| (*place, verdict(*place))).collect();

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
        self.entries.iter().map(|(place, _)| (*place, Err(failure.clone()))).collect()
    }

    fn split(self) -> Vec<Self> {
        let size = if self.entries.len() > HALVED { self.entries.len().div_ceil(2) } else { 1 };
        let mut rest = self.entries.into_iter().peekable();
        let mut parts = Vec::new();
        while rest.peek().is_some() {
            let entries = rest.by_ref().take(size).collect();
            parts.push(Self::new(Arc::clone(&self.topic), entries));
        }
        parts
    }
}

fn receipt(entry: &PublishBatchResultEntry) -> Receipt {
    Receipt { broker_id: entry.message_id().map(str::to_owned) }
}

fn unclear(summary: &str) -> Failure {
    Failure::new(FailureKind::Ambiguous, summary)
}
