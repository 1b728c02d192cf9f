//! The way of a publish request: its fault, the rules, acceptance, the answer.

use chrono::{DateTime, Utc};
use tokio::time::sleep;

use super::accepted::{Accepted, Answer};
use super::answer::{self, EntryResult};
use super::control::Control;
use super::dedup::Receipt;
use super::fault::Fault;
use super::journal::PendingAnswer;
use super::refusal::Refusal;
use super::reply::Reply;
use super::request::{Entry, PublishRequest, Shape};
use super::rules;

/// Serves one publish request; `number` is its place among all of them.
pub(crate) async fn publish(control: &Control, request: PublishRequest, number: usize) -> Reply {
    let fault = control.script.next(&request.topic_arn);
    if let Some(reply) = before_acceptance(control, &fault).await {
        return reply;
    }
    match accept(control, &request, &fault, number) {
        Err(refusal) => Reply::refused(&refusal),
        Ok(acceptance) => {
            after_acceptance(control, &fault, &acceptance.pending).await;
            acceptance.reply(&fault, request.shape)
        }
    }
}

/// What was accepted of one request, and what its answer says.
struct Acceptance<'request> {
    results: Vec<EntryResult<'request>>,
    pending: PendingAnswer,
}

async fn before_acceptance(control: &Control, fault: &Fault) -> Option<Reply> {
    match fault {
        Fault::DropBeforeAccept => Some(Reply::dropped()),
        Fault::Hang => {
            control.hung.wait().await;
            None
        }
        Fault::Html503 => Some(Reply::proxy_unavailable()),
        _ => fault.refusal().as_ref().map(Reply::refused),
    }
}

/// Takes the entries that do not fail. The topics stay locked meanwhile, so that the journal
/// has the order in which a FIFO topic saw its messages.
fn accept<'request>(
    control: &Control,
    request: &'request PublishRequest,
    fault: &'request Fault,
    number: usize,
) -> Result<Acceptance<'request>, Refusal> {
    rules::check_shape(request)?;
    control.topics.with(&request.topic_arn, |topic| {
        rules::check_entries(request, topic)?;
        let now = control.clock.now();
        let mut accepted = Vec::with_capacity(request.entries.len());
        let mut results = Vec::with_capacity(request.entries.len());
        for (index, entry) in request.entries.iter().enumerate() {
            if let Some(failure) = fault.failure_of(index, &entry.message) {
                results.push(EntryResult::Failed { id: &entry.id, failure });
                continue;
            }
            let receipt = topic.receive(entry, now);
            let mut journalled = journalled(request, entry, &receipt, number, now);
            if fault.omits(index, &entry.message) {
                journalled.answer = Answer::Withheld;
                results.push(EntryResult::Omitted);
            } else {
                results.push(EntryResult::Accepted { id: &entry.id, receipt });
            }
            accepted.push(journalled);
        }
        Ok(Acceptance { results, pending: control.journal.append(accepted) })
    })
}

fn journalled(
    request: &PublishRequest,
    entry: &Entry,
    receipt: &Receipt,
    request_number: usize,
    received_at: DateTime<Utc>,
) -> Accepted {
    Accepted {
        // The journal numbers what it takes.
        number: 0,
        request: request_number,
        access_key_id: request.access_key_id.clone(),
        topic_arn: request.topic_arn.clone(),
        message: entry.message.clone(),
        subject: entry.subject.clone(),
        attributes: entry.attributes.clone(),
        group_id: entry.group_id.clone(),
        deduplication_id: entry.deduplication_id.clone(),
        deduplicated: receipt.deduplicated,
        message_id: receipt.message_id.clone(),
        received_at,
        answer: Answer::Pending,
    }
}

async fn after_acceptance(control: &Control, fault: &Fault, pending: &PendingAnswer) {
    match fault {
        Fault::AcceptThenHang => control.hung.wait().await,
        Fault::Delay(delay) => sleep(*delay).await,
        _ => {}
    }
    if !pending.is_empty() {
        control.held.pass().await;
    }
}

impl Acceptance<'_> {
    fn reply(self, fault: &Fault, shape: Shape) -> Reply {
        let document = match (shape, self.results.first()) {
            (Shape::Single, Some(EntryResult::Failed { failure, .. })) => {
                let status = if failure.sender_fault { 400 } else { 500 };
                let message = "The message was not published";
                return Reply::refused(&Refusal::new(status, failure.code.clone(), message));
            }
            (Shape::Single, Some(EntryResult::Accepted { receipt, .. })) => {
                answer::published(Some(receipt))
            }
            (Shape::Single, _) => answer::published(None),
            (Shape::Batch, _) => answer::batch_published(&self.results),
        };
        let (reply, fate) = match fault {
            Fault::DropAfterAccept => (Reply::dropped(), Answer::Withheld),
            Fault::DropMidAnswer => (Reply::broken_off(&document), Answer::Withheld),
            Fault::Garbage200 => (Reply::garbage(), Answer::Withheld),
            _ => (Reply::xml(document), Answer::Sent),
        };
        reply.concluding(self.pending, fate)
    }
}
