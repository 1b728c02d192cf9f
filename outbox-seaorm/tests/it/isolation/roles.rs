//! What workers and others do in the interleavings.

use std::time::Duration;

use outbox_core::{
    DeadReason, Failure, FailureKind, LaneLease, LeaseRequest, OutboxStore, Outcome, OutcomeKind,
    RecordClaims, RecordRef, WorkerId,
};
use sea_orm::{ConnectionTrait, Statement};

use super::judge::Answer;
use super::scene::Scene;
use super::session::{Hands, Script, Told};
use crate::store_fixture::{LEASE, from_start, lasting, outcome};

pub(crate) type Answers = Told<(usize, Answer)>;

/// Beyond the hour that passes.
const LATER: Duration = Duration::from_hours(100);

pub(crate) fn request(lanes: u8) -> LeaseRequest {
    LeaseRequest {
        owner: WorkerId::new(),
        lanes,
        lease: lasting(LATER),
        orphans: None,
        except: Vec::new(),
        counts_abandoned: true,
    }
}

/// Leases lanes, and says which.
pub(crate) fn leases(answers: &Answers, actor: usize, request: LeaseRequest) -> Script {
    let answers = answers.clone();
    Box::new(move |hands| {
        Box::pin(async move {
            lease(&hands, &answers, actor, &request).await;
        })
    })
}

/// Leases lanes and reads them.
pub(crate) fn takes_over(answers: &Answers, actor: usize, lanes: u8) -> Script {
    let answers = answers.clone();
    Box::new(move |hands| {
        Box::pin(async move {
            let leases = lease(&hands, &answers, actor, &request(lanes)).await;
            read(&hands, &answers, actor, &leases).await;
        })
    })
}

/// Leases lanes, reads them and sends what is there.
pub(crate) fn takes_over_and_sends(answers: &Answers, actor: usize, lanes: u8) -> Script {
    let answers = answers.clone();
    Box::new(move |hands| {
        Box::pin(async move {
            let leases = lease(&hands, &answers, actor, &request(lanes)).await;
            let outcomes = read(&hands, &answers, actor, &leases).await;
            if !outcomes.is_empty() {
                settle(&hands, &answers, actor, outcomes).await;
            }
        })
    })
}

/// Settles.
pub(crate) fn settles(answers: &Answers, actor: usize, outcomes: Vec<Outcome>) -> Script {
    let answers = answers.clone();
    Box::new(move |hands| Box::pin(async move { settle(&hands, &answers, actor, outcomes).await }))
}

/// Renews leases; where it does not commit, it dies before.
pub(crate) fn renews(
    answers: &Answers,
    actor: usize,
    leases: Vec<LaneLease>,
    commits: bool,
) -> Script {
    let answers = answers.clone();
    Box::new(move |hands| {
        Box::pin(async move {
            renew(&hands, &answers, actor, &leases, (LEASE, commits)).await;
        })
    })
}

/// Renews leases for longer than the hour that passes.
pub(crate) fn renews_for_long(answers: &Answers, actor: usize, leases: Vec<LaneLease>) -> Script {
    let answers = answers.clone();
    Box::new(move |hands| {
        Box::pin(async move {
            renew(&hands, &answers, actor, &leases, (LATER, true)).await;
        })
    })
}

async fn renew(
    hands: &Hands,
    answers: &Answers,
    actor: usize,
    leases: &[LaneLease],
    (time, commits): (Duration, bool),
) {
    let renew =
        |store: outbox_seaorm::SeaOrmStore| async move { store.renew(leases, lasting(time)).await };
    let renewed = hands.call_and(commits, renew).await;
    answers.tell((actor, Answer::Renewed(renewed)));
}

/// Claims a record.
pub(crate) fn claims(answers: &Answers, actor: usize, record: RecordRef) -> Script {
    let answers = answers.clone();
    Box::new(move |hands| {
        Box::pin(async move {
            let claim = |store: outbox_seaorm::SeaOrmStore| async move {
                store.try_claim(&record, WorkerId::new(), lasting(LATER)).await
            };
            let claimed = hands.call_alone(claim).await;
            answers.tell((actor, Answer::Claimed(claimed.is_ok())));
        })
    })
}

/// An operator writes to a record.
pub(crate) fn writes_to(
    answers: &Answers,
    actor: usize,
    record: RecordRef,
    commits: bool,
) -> Script {
    let answers = answers.clone();
    Box::new(move |hands| {
        Box::pin(async move {
            let (lane, position) = (record.lane, record.position);
            let place = format!("lane = {lane} AND position = {position}");
            // By the key by which records are settled: two who came by different ones would deadlock.
            let by_key = if hands.is_mariadb() { "FORCE INDEX (PRIMARY)" } else { "" };
            let table = format!("outbox_message {by_key}");
            let write = format!("UPDATE {table} SET tenant = 'late' WHERE {place}");
            let txn = hands.begin_to_write().await;
            answers.tell((actor, Answer::Wrote(run(&txn, &write).await)));
            if commits {
                txn.commit().await.unwrap();
            } else {
                txn.rollback().await.unwrap();
            }
        })
    })
}

async fn lease(
    hands: &Hands,
    answers: &Answers,
    actor: usize,
    request: &LeaseRequest,
) -> Vec<LaneLease> {
    let lease = |store: outbox_seaorm::SeaOrmStore| async move { store.lease(request).await };
    let leases = hands.call(lease).await;
    answers.tell((actor, Answer::Leased(leases.clone())));
    leases
}

/// Reads the lanes of these leases, and returns how all records were sent.
async fn read(
    hands: &Hands,
    answers: &Answers,
    actor: usize,
    leases: &[LaneLease],
) -> Vec<Outcome> {
    if leases.is_empty() {
        return Vec::new();
    }
    let lanes: Vec<u8> = leases.iter().map(|lease| lease.lane.number()).collect();
    let batch = hands.store.read(&from_start(&lanes)).await.unwrap();
    let read: Vec<RecordRef> = batch.records.iter().map(|record| record.reference).collect();
    answers.tell((actor, Answer::Read(read)));
    let sent = batch.records.iter().map(|record| {
        let of_lane = |lease: &&LaneLease| lease.lane == record.reference.lane;
        let lease = leases.iter().find(of_lane).unwrap();
        let sent = outcome(lease, record.reference, OutcomeKind::Published);
        Outcome { revision: record.revision, ..sent }
    });
    sent.collect()
}

async fn settle(hands: &Hands, answers: &Answers, actor: usize, outcomes: Vec<Outcome>) {
    let asked = &outcomes;
    let settled = hands.call(|store| async move { store.settle(asked).await }).await;
    answers.tell((actor, Answer::Settled(outcomes, settled)));
}

/// Runs a statement that is no store's.
async fn run(db: &impl ConnectionTrait, sql: &str) -> u64 {
    let statement = Statement::from_string(db.get_database_backend(), sql);
    db.execute_raw(statement).await.unwrap().rows_affected()
}

/// How all records of the held lanes ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Failed,
    /// The first of each lane is dead, and the others are parked behind it.
    Parked,
    Published,
}

impl Ending {
    pub(crate) const ALL: [Self; 3] = [Self::Failed, Self::Parked, Self::Published];

    pub(crate) fn of(self, scene: &Scene) -> Vec<Outcome> {
        let lanes = scene.leases.iter().zip(&scene.records);
        let of_lane = |(lease, records): (&LaneLease, &Vec<RecordRef>)| {
            let each = records.iter().enumerate();
            each.map(|(nth, record)| outcome(lease, *record, self.kind(nth))).collect::<Vec<_>>()
        };
        lanes.flat_map(of_lane).collect()
    }

    fn kind(self, nth: usize) -> OutcomeKind {
        match self {
            Self::Failed => {
                let failure = Failure::new(FailureKind::Transient, "no route");
                OutcomeKind::Failed { failure, delay: LATER }
            }
            Self::Parked if nth > 0 => OutcomeKind::Parked,
            Self::Parked => {
                let error = "refused".to_owned();
                OutcomeKind::Dead { reason: DeadReason::Rejected, error, parks_key: true }
            }
            Self::Published => OutcomeKind::Published,
        }
    }
}
