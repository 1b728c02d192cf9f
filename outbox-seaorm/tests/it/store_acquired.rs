//! What a new owner of lanes asks for, beside a million records that are only scheduled.

use outbox_core::{Lane, LaneLease, LeaseToken, OutboxStore};
use uuid::Uuid;

use crate::store_hot::{COLUMNS, Cost, EACH, Hot, MILLION, Round};

/// Keys of each lane whose head has failed and waits for its next attempt.
const WAITING: u64 = 10;

/// A million records that were scheduled and never tried, and among them those that have failed.
pub(crate) async fn schedule(hot: &Hot) {
    let (values, (now, hour)) = (hot.values(), hot.now_and_hour());
    let key = "CONCAT('key-', seq)";
    let columns = format!("{COLUMNS}, occurred_at, available_at");
    let row = format!("{values}, {key}, {now}, {now} + {hour}");
    hot.insert("message", &columns, &row, MILLION).await;
    let columns = format!("{columns}, attempts, revision, first_failed_at, last_error");
    let row = format!("{row}, 1, 1, {now}, 'no route'");
    hot.insert("message", &columns, &row, 64 * WAITING).await;
}

/// Asks for the state of all lanes, in which so many keys wait.
pub(crate) async fn ask(hot: &Hot, waiting: u64) -> Vec<Cost> {
    let leases: Vec<LaneLease> = (0..Lane::COUNT)
        .map(|lane| LaneLease {
            lane: Lane::try_from(i16::from(lane)).unwrap(),
            token: LeaseToken::from_uuid(Uuid::new_v4()).unwrap(),
        })
        .collect();
    let mut round = Round::begin(hot).await;

    let states = round.call("acquired", (128 + waiting) * EACH, hot.store.acquired(&leases)).await;

    let told: usize = states.iter().map(|state| state.waiting.len()).sum();
    assert_eq!(u64::try_from(told).unwrap(), waiting);
    round.costs
}

pub(crate) const ALL_WAITING: u64 = 64 * WAITING;
