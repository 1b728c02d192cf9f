//! The real store behind a network that is slow where a test wants it to be.

use std::sync::Arc;

use async_trait::async_trait;
use outbox_core::{
    Batch, Fleet, LaneLease, LaneRead, LaneState, LeaseRequest, LeaseTime, OutboxStats,
    OutboxStore, Outcome, ReadRequest, RecordRef, Settled, StoreError, WorkerCard,
};
use tokio::sync::watch;

/// What has happened so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The answer to a read is kept back.
    AnswerKept,
    /// Lanes are asked for again, and waited for.
    MoreLanesWanted,
    /// A read of these lanes was answered.
    Read(Vec<LaneRead>),
}

/// A store whose answer to a read comes late.
#[derive(Debug)]
pub(crate) struct SlowStore {
    store: Arc<dyn OutboxStore>,
    /// The first lease takes no more lanes than this; others wait until they are let.
    first_lanes: u8,
    events: watch::Sender<Vec<Event>>,
    keep_next: watch::Sender<bool>,
    /// Nothing before the first lease.
    more_lanes: watch::Sender<Option<bool>>,
    late_answers: watch::Sender<bool>,
}

impl SlowStore {
    pub(crate) fn new(store: Arc<dyn OutboxStore>, first_lanes: u8) -> Arc<Self> {
        Arc::new(Self {
            store,
            first_lanes,
            events: watch::Sender::default(),
            keep_next: watch::Sender::default(),
            more_lanes: watch::Sender::default(),
            late_answers: watch::Sender::default(),
        })
    }

    /// Keeps back the answer to the next read that finds a record or leaves out a known one.
    pub(crate) fn keep_next_answer(&self) {
        self.keep_next.send_replace(true);
    }

    /// Lets the answer go that was kept back.
    pub(crate) fn answer(&self) {
        self.late_answers.send_replace(true);
    }

    /// Lets all lanes be leased.
    pub(crate) fn give_more_lanes(&self) {
        self.more_lanes.send_replace(Some(true));
    }

    /// Returns once such a thing has happened so many times.
    pub(crate) async fn happened(&self, times: usize, is_such: impl Fn(&Event) -> bool) {
        let count = |events: &Vec<Event>| events.iter().filter(|event| is_such(event)).count();
        until(&self.events, |events| count(events) >= times).await;
    }

    fn note(&self, event: Event) {
        self.events.send_modify(|events| events.push(event));
    }

    /// Whether a record is there for a caller that knows of none.
    async fn finds(&self, request: &ReadRequest) -> Result<bool, StoreError> {
        let request = ReadRequest { known: Vec::new(), ..request.clone() };
        Ok(!self.store.read(&request).await?.is_empty())
    }
}

async fn until<T>(value: &watch::Sender<T>, reached: impl FnMut(&T) -> bool) {
    // The sender is borrowed, so the wait ends only by the condition.
    _ = value.subscribe().wait_for(reached).await;
}

#[async_trait]
impl OutboxStore for SlowStore {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LaneLease>, StoreError> {
        if self.more_lanes.borrow().is_none() {
            self.more_lanes.send_replace(Some(false));
            let lanes = self.first_lanes;
            let request = LeaseRequest { lanes, orphans: None, ..request.clone() };
            return self.store.lease(&request).await;
        }
        self.note(Event::MoreLanesWanted);
        until(&self.more_lanes, |given| *given == Some(true)).await;
        self.store.lease(request).await
    }

    async fn renew(
        &self,
        leases: &[LaneLease],
        lease: LeaseTime,
    ) -> Result<Vec<LaneLease>, StoreError> {
        self.store.renew(leases, lease).await
    }

    async fn release(&self, leases: &[LaneLease]) -> Result<(), StoreError> {
        self.store.release(leases).await
    }

    async fn acquired(&self, leases: &[LaneLease]) -> Result<Vec<LaneState>, StoreError> {
        self.store.acquired(leases).await
    }

    async fn mark_suspect(
        &self,
        lease: &LaneLease,
        record: Option<RecordRef>,
    ) -> Result<bool, StoreError> {
        self.store.mark_suspect(lease, record).await
    }

    async fn read(&self, request: &ReadRequest) -> Result<Batch, StoreError> {
        // Asked before, so that what is there for this look is there for the read.
        let keep = *self.keep_next.borrow() && self.finds(request).await?;
        let answer = self.store.read(request).await?;
        if keep && self.keep_next.send_replace(false) {
            self.note(Event::AnswerKept);
            until(&self.late_answers, |go| *go).await;
        }
        self.note(Event::Read(request.lanes.clone()));
        Ok(answer)
    }

    async fn settle(&self, outcomes: &[Outcome]) -> Result<Settled, StoreError> {
        self.store.settle(outcomes).await
    }

    async fn stats(&self) -> Result<OutboxStats, StoreError> {
        self.store.stats().await
    }

    async fn heartbeat(&self, worker: &WorkerCard) -> Result<Fleet, StoreError> {
        self.store.heartbeat(worker).await
    }
}
