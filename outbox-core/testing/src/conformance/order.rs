//! Cases about transactions that are still open.

use std::time::Duration;

use outbox_core::{Batch, OutcomeKind, ReadMark};

use super::fixture::StoreFixture;
use super::fleet::worker;
use super::outbox::{Outbox, ids, only, staged_ids};
use super::sample::{HOUR, keyed, message};

/// Nothing of a transaction is read before it commits; then all of it is.
pub async fn an_uncommitted_record_is_not_read(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let staged = message();
    let mut writer = fixture.begin().await;
    writer.stage(staged.clone()).await;

    let before = outbox.read().await;
    writer.commit().await;
    let after = outbox.read().await;

    assert_eq!(before, []);
    assert_eq!(ids(&after), [staged.message.id]);
}

/// Nothing of a transaction that was rolled back is ever read or counted.
pub async fn a_rolled_back_record_is_never_read(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let kept = message();
    let mut writer = fixture.begin().await;
    writer.stage(message()).await;
    writer.rollback().await;
    outbox.stage([kept.clone()]).await;

    let records = outbox.read().await;

    assert_eq!(ids(&records), [kept.message.id]);
}

/// While an older writer is open, no read says that it has ended.
pub async fn no_read_takes_an_open_writer_for_ended(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    if is_ordered_for_certain(&outbox).await {
        return;
    }
    let mut older = fixture.begin().await;
    older.stage(keyed("late")).await;
    outbox.stage([message()]).await;
    let stamp = settle_the_only_record(&outbox).await;

    let meanwhile = read(&outbox).await;
    older.commit().await;

    match (meanwhile.mark, stamp) {
        (ReadMark::Horizon(horizon), Some(stamp)) => {
            assert!(horizon < stamp, "horizon {horizon} is past an open writer, stamp {stamp}");
        }
        (ReadMark::Horizon(_), None) => panic!("a store that knows a horizon stamps settlements"),
        _ => {}
    }
}

/// The read that says a settlement's writers have ended holds what they committed behind it.
pub async fn a_late_commit_is_read_once_the_horizon_passes(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    if is_ordered_for_certain(&outbox).await {
        return;
    }
    let late = keyed("late");
    let mut older = fixture.begin().await;
    older.stage(late.clone()).await;
    outbox.stage([message()]).await;
    let stamp = settle_the_only_record(&outbox).await;
    older.commit().await;

    let mut batch = read(&outbox).await;
    // Writers of other outboxes of the same server may hold the horizon for a moment.
    for _ in 0..500 {
        match (batch.mark, stamp) {
            (ReadMark::Horizon(horizon), Some(stamp)) if horizon < stamp => {}
            _ => break,
        }
        outbox.pass(Duration::from_millis(10)).await;
        batch = read(&outbox).await;
    }

    if let (ReadMark::Horizon(horizon), Some(stamp)) = (batch.mark, stamp) {
        assert!(horizon >= stamp, "horizon {horizon} never reaches stamp {stamp}");
    }
    assert_eq!(ids(&batch.records), staged_ids(&[late]));
}

/// A store that says positions commit in order lets nothing appear behind what was read.
pub async fn an_ordered_mark_is_true(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    if fixture.one_writer() || read(&outbox).await.mark != ReadMark::Ordered {
        return;
    }
    let mut older = fixture.begin().await;
    older.stage(keyed("late")).await;
    outbox.stage([message()]).await;
    let first = only(read(&outbox).await.records);
    outbox.settle(&first, OutcomeKind::Published).await;

    older.commit().await;

    let late = only(read(&outbox).await.records);
    assert!(late.reference.position > first.reference.position, "it appeared behind a read");
}

/// Stamps grow from settlement to settlement, where the store has them.
pub async fn a_later_settlement_has_a_higher_stamp(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([message()]).await;
    let first = settle_the_only_record(&outbox).await;
    outbox.stage([message()]).await;

    let second = settle_the_only_record(&outbox).await;

    assert_eq!(first.is_some(), second.is_some());
    assert!(first.is_none() || first < second, "{second:?} does not follow {first:?}");
}

/// A heartbeat has a stamp where settlements have one, in one row with theirs.
pub async fn a_heartbeat_has_a_stamp_like_a_settlement(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([message()]).await;
    let card = worker(Some(1), HOUR);

    let before = outbox.store.heartbeat(&card).await.unwrap().stamp;
    let settled = settle_the_only_record(&outbox).await;
    let after = outbox.store.heartbeat(&card).await.unwrap().stamp;

    assert_eq!([before.is_some(), after.is_some()], [settled.is_some(); 2]);
    let in_order = before < settled && settled < after;
    assert!(settled.is_none() || in_order, "{before:?}, {settled:?}, {after:?}");
}

/// Whether writers cannot overlap, so that there is nothing to know of open ones.
async fn is_ordered_for_certain(outbox: &Outbox<'_>) -> bool {
    outbox.fixture.one_writer() && read(outbox).await.mark == ReadMark::Ordered
}

async fn settle_the_only_record(outbox: &Outbox<'_>) -> Option<u64> {
    let record = outbox.read_one().await;
    let settled = outbox.settle(&record, OutcomeKind::Published).await;
    assert_eq!(settled.applied, [record.reference]);
    settled.stamp
}

async fn read(outbox: &Outbox<'_>) -> Batch {
    outbox.read_as(&Outbox::read_request()).await
}
