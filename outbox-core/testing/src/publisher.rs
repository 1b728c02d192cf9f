//! A publisher that does as the test says.

mod script;

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use outbox_core::{
    BatchLimit, EventId, Failure, FailureKind, OutboxMessage, PublishOutcomes, Publisher,
};
use tokio::sync::watch;

use crate::clock::{ManualClock, StoreClock};
use crate::gate::{Gate, until};
use script::Script;

pub use script::{SendVerdict, Times};

/// As many as SNS takes in one call.
const BATCH: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9);

/// One send of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentMessage {
    /// Identity of the event.
    pub id: EventId,
    /// Its wire name.
    pub event_type: Arc<str>,
    /// Where it went.
    pub topic: Arc<str>,
    /// Its ordering key.
    pub key: Option<String>,
    /// When, by the publisher's clock.
    pub at: DateTime<Utc>,
    /// Which call of the publisher carried it, from 1.
    pub call: usize,
    /// What was answered.
    pub verdict: SendVerdict,
}

impl SentMessage {
    /// Whether the broker took it.
    pub const fn was_accepted(&self) -> bool {
        self.verdict.is_ok()
    }
}

/// A publisher with a script, gates and a journal.
///
/// It accepts every message that no rule and no scripted verdict speaks of. Clones share all of it,
/// but for how many messages a call takes and to what topics.
#[derive(Clone)]
pub struct ScriptedPublisher {
    shared: Arc<Shared>,
    limit: BatchLimit,
    topics: Vec<String>,
}

struct Shared {
    clock: StoreClock,
    script: Mutex<Script>,
    arrived: watch::Sender<Arrived>,
    journal: watch::Sender<Vec<SentMessage>>,
}

#[derive(Clone, Copy, Default)]
struct Arrived {
    calls: usize,
    messages: usize,
}

impl Default for ScriptedPublisher {
    fn default() -> Self {
        Self::build(StoreClock::System)
    }
}

impl ScriptedPublisher {
    /// A publisher that accepts all, ten in a call, and goes by the machine's clock.
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`ScriptedPublisher::new`], with this clock in its journal.
    pub fn with_clock(clock: &ManualClock) -> Self {
        Self::build(StoreClock::Manual(clock.clone()))
    }

    /// Takes so many messages in one call.
    pub fn with_batch_limit(mut self, messages: NonZeroUsize) -> Self {
        self.limit = BatchLimit(messages);
        self
    }

    /// Knows no topics but these: messages of others fail with [`FailureKind::Destination`].
    pub fn with_topics(mut self, topics: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.topics = topics.into_iter().map(Into::into).collect();
        self
    }

    /// Gives these verdicts to the next messages, in the order of their sending.
    pub fn script(&self, verdicts: impl IntoIterator<Item = SendVerdict>) {
        self.lock().add_verdicts(verdicts);
    }

    /// Fails the next message.
    pub fn fail_next(&self, failure: Failure) {
        self.script([Err(failure)]);
    }

    /// Fails messages of this wire name.
    pub fn fail_type(&self, event_type: impl Into<String>, times: Times, failure: Failure) {
        let event_type = event_type.into();
        self.fail_when(move |message| *message.event_type == *event_type, times, failure);
    }

    /// Fails messages that meet the condition. Rules go before scripted verdicts and the older
    /// rule before the younger.
    pub fn fail_when(
        &self,
        condition: impl Fn(&OutboxMessage) -> bool + Send + 'static,
        times: Times,
        failure: Failure,
    ) {
        self.lock().add_rule(Box::new(condition), times, failure);
    }

    /// Drops all rules and verdicts: from now on every message is accepted.
    pub fn recover(&self) {
        self.lock().forget_failures();
    }

    /// Holds every call that begins from now on.
    pub fn hold(&self) -> Gate {
        self.hold_when(|_| true)
    }

    /// Holds every call from now on that carries a message that meets the condition.
    pub fn hold_when(&self, condition: impl Fn(&OutboxMessage) -> bool + Send + 'static) -> Gate {
        let gate = Gate::new();
        self.lock().add_gate(Box::new(condition), gate.door());
        gate
    }

    /// All sends so far, held ones left out, in the order of their verdicts.
    pub fn sent(&self) -> Vec<SentMessage> {
        self.shared.journal.borrow().clone()
    }

    /// Ids of all messages that were accepted, in order, duplicates included.
    pub fn accepted(&self) -> Vec<EventId> {
        let journal = self.shared.journal.borrow();
        journal.iter().filter(|sent| sent.was_accepted()).map(|sent| sent.id).collect()
    }

    /// Returns once so many messages got their verdict, with all of them.
    pub async fn sent_at_least(&self, messages: usize) -> Vec<SentMessage> {
        until(&self.shared.journal, |journal| journal.len() >= messages).await;
        self.sent()
    }

    /// Returns once so many messages were accepted, with their ids.
    pub async fn accepted_at_least(&self, messages: usize) -> Vec<EventId> {
        let accepted = |sent: &&SentMessage| sent.was_accepted();
        until(&self.shared.journal, |journal| journal.iter().filter(accepted).count() >= messages)
            .await;
        self.accepted()
    }

    /// Returns once so many messages arrived, held ones included.
    pub async fn arrived_at_least(&self, messages: usize) {
        until(&self.shared.arrived, |arrived| arrived.messages >= messages).await;
    }

    /// How many messages arrived, held ones included.
    pub fn arrived(&self) -> usize {
        self.shared.arrived.borrow().messages
    }

    fn build(clock: StoreClock) -> Self {
        let shared = Shared {
            clock,
            script: Mutex::default(),
            arrived: watch::Sender::default(),
            journal: watch::Sender::default(),
        };
        Self { shared: Arc::new(shared), limit: BatchLimit(BATCH), topics: Vec::new() }
    }

    fn verdict(&self, message: &OutboxMessage) -> SendVerdict {
        let known = self.topics.is_empty() || self.topics.iter().any(|it| **it == *message.topic);
        if !known {
            return Err(Failure::new(FailureKind::Destination, "no such topic here"));
        }
        self.lock().verdict(message)
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        self.shared.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call that begins and says which one it is.
    fn arrive(&self, messages: usize) -> usize {
        let mut call = 0;
        self.shared.arrived.send_modify(|arrived| {
            arrived.calls += 1;
            arrived.messages += messages;
            call = arrived.calls;
        });
        call
    }
}

#[async_trait]
impl Publisher for ScriptedPublisher {
    fn batch_limit(&self) -> BatchLimit {
        self.limit
    }

    fn topics(&self) -> Vec<String> {
        self.topics.clone()
    }

    async fn publish(&self, messages: &[OutboxMessage]) -> PublishOutcomes {
        let call = self.arrive(messages.len());
        let doors = self.lock().doors(messages);
        for door in doors {
            door.pass().await;
        }
        let at = self.shared.clock.now();
        let verdicts: PublishOutcomes =
            messages.iter().map(|message| self.verdict(message)).collect();
        self.shared.journal.send_modify(|journal| {
            let sent = messages.iter().zip(&verdicts);
            journal.extend(sent.map(|(message, verdict)| SentMessage {
                id: message.id,
                event_type: Arc::clone(&message.event_type),
                topic: Arc::clone(&message.topic),
                key: message.ordering_key.clone(),
                at,
                call,
                verdict: verdict.clone(),
            }));
        });
        verdicts
    }
}

impl fmt::Debug for ScriptedPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedPublisher").field("limit", &self.limit).finish_non_exhaustive()
    }
}
