//! The store in memory, taken along each step of the model.

mod claims;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::num::NonZeroU32;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use outbox_core::{
    ClaimToken, DeadReason, EventId, Failure, FailureKind, Lane, LaneLease, LaneRead, LeaseRequest,
    LeaseTime, LeaseToken, OutboxMessage, OutboxRecord, OutboxStore, OutcomeKind, Position,
    ReadMark, ReadRequest, RecordRef, Schedule, StagedMessage, WorkerId,
};
use outbox_testing::protocol::{
    Action, CallEnding, Draft, Ending, LEASE, Mark, Outcome, RETRY, Row, State, Window,
};
use outbox_testing::{CommitOrder, ManualClock, MemoryStore, MemoryTransaction};

const TOPIC: &str = "orders";
/// A tick of the model on the store's clock.
const TICK: Duration = Duration::from_secs(1);
/// So long that no run lives to see its end.
const FOR_EVER: Duration = Duration::from_secs(1_000_000);

/// What differs between the two.
pub(super) type Difference = String;

/// The store, and what it calls the things of the model.
pub(super) struct Mirror {
    clock: ManualClock,
    store: MemoryStore,
    lanes: u8,
    workers: Vec<WorkerId>,
    tokens: BTreeMap<u8, LeaseToken>,
    claimant: WorkerId,
    claim_tokens: BTreeMap<u8, ClaimToken>,
    records: BTreeMap<Position, RecordRef>,
    open: BTreeMap<u64, MemoryTransaction>,
}

impl Mirror {
    /// An empty store in which only the first lanes are free, as many as the model has.
    pub(super) async fn new(commits: CommitOrder, lanes: u8, workers: u8) -> Self {
        let clock = ManualClock::new();
        let store = MemoryStore::with_commit_order(&clock, commits);
        let request = lease_request(WorkerId::new(), Lane::COUNT, FOR_EVER);
        let all = store.lease(&request).await.unwrap();
        store.release(&all[..usize::from(lanes)]).await.unwrap();
        Self {
            clock,
            store,
            lanes,
            workers: (0..workers).map(|_| WorkerId::new()).collect(),
            tokens: BTreeMap::new(),
            claimant: WorkerId::new(),
            claim_tokens: BTreeMap::new(),
            records: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    /// Takes the step that the model took, and compares the answer and all that is stored.
    pub(super) async fn follow(
        &mut self,
        before: &State,
        action: &Action,
        after: &State,
    ) -> Result<(), Difference> {
        match action {
            Action::BeginRead { worker, lane } => self.read(*worker, *lane, before, after).await?,
            Action::Claim { position, .. } => self.claim(*position, before, after).await?,
            Action::Claimed(claim, call) => self.call_claim(claim, *call, before).await?,
            Action::Commit(number) => self.commit(*number, before, after)?,
            Action::Drain { worker } => self.release(&self.leases(before, *worker)).await,
            Action::Late(outcome) => {
                self.store.settle(&[self.outcome(outcome)]).await.unwrap();
            }
            Action::Lease { worker, lanes } => self.lease(*worker, *lanes, after).await?,
            Action::Release { worker, lane } => {
                let token = window(before, *worker, *lane).token;
                self.release(&[self.lane_lease(*lane, token)]).await;
            }
            Action::Renew { worker } => self.renew(*worker, before, after).await?,
            Action::Rollback(number) => drop(self.open.remove(number)),
            Action::Settle { worker, lane, ending } if *ending != CallEnding::Delayed => {
                self.settle(*worker, *lane, before, after).await?;
            }
            Action::Stage(draft) => self.stage(*draft, after),
            Action::Tick => self.clock.advance(TICK),
            // The others touch no table.
            _ => {}
        }
        self.compare(after)
    }

    async fn release(&self, leases: &[LaneLease]) {
        self.store.release(leases).await.unwrap();
    }

    fn stage(&mut self, draft: Draft, after: &State) {
        let (number, _) = after.tables.open.last_key_value().unwrap();
        let mut transaction = self.store.begin();
        transaction.stage(StagedMessage { message: message(draft), schedule: Schedule::Now });
        self.open.insert(*number, transaction);
    }

    fn commit(&mut self, number: u64, before: &State, after: &State) -> Result<(), Difference> {
        let committed = self.open.remove(&number).unwrap().commit();
        let (now, then) = (&after.tables.rows, &before.tables.rows);
        let new: Vec<Position> = now.keys().filter(|at| !then.contains_key(at)).copied().collect();
        self.records.extend(committed.iter().map(|record| (record.position, *record)));
        same("committed", &new, &committed.iter().map(|record| record.position).collect())
    }

    async fn lease(&mut self, worker: u8, lanes: u8, after: &State) -> Result<(), Difference> {
        let owner = self.workers[usize::from(worker)];
        let request = lease_request(owner, lanes, TICK * u32::from(LEASE));
        let granted = self.store.lease(&request).await.unwrap();
        for lease in &granted {
            let lane = lease.lane.number();
            let Some(window) = after.workers[usize::from(worker)].windows.get(&lane) else {
                return Err(format!("lane {lane} was leased by the store alone"));
            };
            self.tokens.insert(window.token, lease.token);
        }
        self.told(&granted, after).await
    }

    async fn renew(&self, worker: u8, before: &State, after: &State) -> Result<(), Difference> {
        let leases = self.leases(before, worker);
        let time = LeaseTime::new(TICK * u32::from(LEASE)).unwrap();
        let renewed = self.store.renew(&leases, time).await.unwrap();
        same("renewed", &self.leases(after, worker), &renewed)?;
        self.told(&renewed, after).await
    }

    async fn read(
        &self,
        worker: u8,
        lane: u8,
        before: &State,
        after: &State,
    ) -> Result<(), Difference> {
        let window = window(before, worker, lane);
        let request = ReadRequest {
            lanes: vec![LaneRead::new(Lane::new(lane).unwrap(), window.floor)],
            known: window.left_out().into_iter().collect(),
            without: Vec::new(),
            records: NonZeroU32::MAX,
            bytes: u64::MAX,
        };
        let batch = self.store.read(&request).await.unwrap();
        let reading = self::window(after, worker, lane).reading.as_ref().unwrap();
        same("read", &reading.rows, &rows(batch.records))?;
        let mark = match reading.mark {
            Mark::Horizon(horizon) => ReadMark::Horizon(horizon),
            Mark::Ordered => ReadMark::Ordered,
            Mark::Unknown => ReadMark::Unknown,
        };
        same("mark", &mark, &batch.mark)
    }

    async fn settle(
        &self,
        worker: u8,
        lane: u8,
        before: &State,
        after: &State,
    ) -> Result<(), Difference> {
        let outcomes = window(before, worker, lane).outcomes(lane);
        let told: Vec<_> = outcomes.iter().map(|(outcome, _)| self.outcome(outcome)).collect();
        let settled = self.store.settle(&told).await.unwrap();
        let changed = |(outcome, _): &&(Outcome, bool)| {
            let at = &outcome.position;
            before.tables.rows.get(at) != after.tables.rows.get(at)
        };
        let changed = outcomes.iter().filter(changed).map(|(outcome, _)| outcome.position);
        let applied = settled.applied.iter().map(|record| record.position);
        same("applied", &changed.collect::<Vec<_>>(), &applied.collect())?;
        let holder = before.tables.lanes[usize::from(lane)].live(before.now);
        let token = window(before, worker, lane).token;
        let lost = holder.is_none_or(|holder| holder.token != token);
        same("lost", &lost, &(settled.lost.len() == 1))
    }

    /// All that is stored.
    fn compare(&self, state: &State) -> Result<(), Difference> {
        let tables = &state.tables;
        same("pending", &tables.rows, &rows(self.store.pending()))?;
        let dead = self.store.dead_letters().into_iter().map(|letter| letter.record);
        same("dead", &tables.dead, &rows(dead.collect()))?;
        same("parked", &tables.parked, &rows(self.store.parked()))?;
        let heads: Vec<Position> = tables.parked_keys.values().copied().collect();
        let keys = self.store.parked_keys();
        let mut stored: Vec<Position> = keys.iter().map(|(_, head)| head.position).collect();
        stored.sort_by_key(|head| heads.iter().position(|it| it == head));
        same("parked keys", &heads, &stored)?;
        self.compare_lanes(state)
    }

    fn compare_lanes(&self, state: &State) -> Result<(), Difference> {
        let held = self.store.lanes();
        for lane in 0..self.lanes {
            let live = state.tables.lanes[usize::from(lane)].live(state.now);
            let expected = live.map(|holder| {
                let owner = self.workers[usize::from(holder.owner)];
                (self.tokens.get(&holder.token).copied(), owner, holder.expires_at)
            });
            let stored = held.iter().find(|held| held.lease.lane.number() == lane);
            let stored = stored.map(|it| (Some(it.lease.token), it.owner, tick(it.expires_at)));
            same("lease", &expected, &stored)?;
        }
        Ok(())
    }

    fn leases(&self, state: &State, worker: u8) -> Vec<LaneLease> {
        let windows = &state.workers[usize::from(worker)].windows;
        windows.iter().map(|(lane, window)| self.lane_lease(*lane, window.token)).collect()
    }

    fn lane_lease(&self, lane: u8, token: u8) -> LaneLease {
        LaneLease { lane: Lane::new(lane).unwrap(), token: self.tokens[&token] }
    }

    fn outcome(&self, outcome: &Outcome) -> outbox_core::Outcome {
        outbox_core::Outcome {
            record: self.records[&outcome.position],
            token: self.tokens[&outcome.token],
            revision: outcome.revision.into(),
            kind: kind(outcome.ending),
        }
    }
}

fn window(state: &State, worker: u8, lane: u8) -> &Window {
    &state.workers[usize::from(worker)].windows[&lane]
}

fn lease_request(owner: WorkerId, lanes: u8, time: Duration) -> LeaseRequest {
    let lease = LeaseTime::new(time).unwrap();
    LeaseRequest { owner, lanes, lease, orphans: None, except: Vec::new(), counts_abandoned: true }
}

/// An event id or an ordering key decides the lane, so one is sought that does.
fn message(draft: Draft) -> OutboxMessage {
    let ids = std::iter::repeat_with(EventId::new);
    let id = ids.into_iter().find(|id| Lane::of_id(*id).number() == draft.lane).unwrap();
    let mut message = OutboxMessage::new(id, "order_placed", TOPIC, "shop", Bytes::new());
    message.ordering_key = draft.key.map(|number| key(draft.lane, number));
    message.partition_key.clone_from(&message.ordering_key);
    message
}

fn key(lane: u8, number: u8) -> String {
    let mut keys = (0..).map(|attempt| format!("{number}-{attempt}"));
    keys.find(|key| Lane::of_key(TOPIC, key).number() == lane).unwrap()
}

fn kind(ending: Ending) -> OutcomeKind {
    let reason = DeadReason::AttemptsExhausted;
    match ending {
        Ending::Dead => OutcomeKind::Dead { reason, error: "refused".to_owned(), parks_key: true },
        Ending::Failed => {
            OutcomeKind::Failed { failure: failure(), delay: TICK * u32::from(RETRY) }
        }
        Ending::Parked => OutcomeKind::Parked,
        Ending::Published => OutcomeKind::Published,
    }
}

fn failure() -> Failure {
    Failure::new(FailureKind::Transient, "refused")
}

fn rows(records: Vec<OutboxRecord>) -> BTreeMap<Position, Row> {
    records.into_iter().map(|record| (record.reference.position, row(&record))).collect()
}

/// A stored record as the model would write it down.
fn row(record: &OutboxRecord) -> Row {
    let number = |key: &String| key.split('-').next().unwrap().parse().unwrap();
    Row {
        lane: record.reference.lane.number(),
        key: record.message.ordering_key.as_ref().map(number),
        revision: record.revision.try_into().unwrap(),
        attempts: record.attempts.try_into().unwrap(),
        available_at: record.available_at.map(tick),
    }
}

fn tick(instant: DateTime<Utc>) -> u8 {
    (instant - ManualClock::new().now()).num_seconds().try_into().unwrap()
}

fn same<T: PartialEq + Debug>(what: &str, model: &T, store: &T) -> Result<(), Difference> {
    if model == store {
        return Ok(());
    }
    Err(format!("{what}: the model says {model:?}, the store {store:?}"))
}
