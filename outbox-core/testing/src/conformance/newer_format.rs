//! Cases about records in a format that this version does not know: an application of a newer one has
//! staged them, and a worker of that version will send them.

use std::num::NonZeroU32;
use std::time::Duration;

use outbox_core::{Format, ReadRequest, Schedule, StagedMessage};

use super::fixture::StoreFixture;
use super::outbox::{Outbox, ids, sorted, staged_ids};
use super::sample::{keyed, keyed_times, message, scheduled};
use super::stats::agrees;

fn newer(mut staged: StagedMessage) -> StagedMessage {
    staged.message.format = Format(Format::CURRENT.0 + 1);
    staged
}

/// It is not read and stops nobody, be it due by now or since it was staged.
pub async fn a_record_of_a_newer_format_is_left_alone(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let soon = scheduled(newer(message()), Schedule::After(Duration::ZERO));
    let others = [keyed("key"), message()];
    outbox.stage([newer(keyed("key")), newer(message()), soon]).await;
    outbox.stage(others.clone()).await;

    let batch = outbox.read_as(&Outbox::read_request()).await;

    assert_eq!(sorted(ids(&batch.records)), sorted(staged_ids(&others)));
    assert_eq!(batch.undecodable, []);
    assert!(!batch.truncated);
}

/// A queue of them takes no room in the budget of what can be read.
pub async fn records_of_a_newer_format_count_for_nothing(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let known = keyed("key");
    outbox.stage(keyed_times("key", 20).into_iter().map(newer)).await;
    outbox.stage([known.clone()]).await;
    let bytes = known.message.size().try_into().unwrap();
    let request = ReadRequest { records: NonZeroU32::MIN, bytes, ..Outbox::read_request() };

    let batch = outbox.read_as(&request).await;

    assert_eq!(ids(&batch.records), [known.message.id]);
    assert!(!batch.truncated);
}

/// It is pending like any other, so whoever looks sees that something is not sent.
pub async fn a_record_of_a_newer_format_is_counted(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    outbox.stage([newer(message()), message()]).await;

    let stats = outbox.stats().await;

    assert!(agrees(stats.ready, 2), "{:?}", stats.ready);
}
