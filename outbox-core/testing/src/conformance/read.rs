//! Cases about reading the records of lanes.

use std::num::NonZeroU32;
use std::time::Duration;

use outbox_core::{Lane, LaneRead, OutboxRecord, Position, ReadRequest, StagedMessage};

use super::fixture::StoreFixture;
use super::outbox::{Outbox, ids, only, references, sorted, staged_ids};
use super::sample::{TOPIC, complete, keyed, keyed_times, message, neighbours, sized, strangers};

/// What is read is what was staged, byte for byte, if everything is set.
pub async fn a_complete_message_is_read_as_it_was_staged(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let staged = complete();
    outbox.stage([staged.clone()]).await;

    let record = outbox.read_one().await;

    assert_eq!(record.message, staged.message);
    assert_eq!(record.message.payload, staged.message.payload);
    assert!(record.message.headers.iter().eq(staged.message.headers.iter()));
}

/// What is read is what was staged if nothing optional is set and the payload is empty.
pub async fn a_bare_message_is_read_as_it_was_staged(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let mut staged = message();
    staged.message.payload = bytes::Bytes::new();
    outbox.stage([staged.clone()]).await;

    let record = outbox.read_one().await;

    assert_eq!(record.message, staged.message);
}

/// A large payload comes back whole.
pub async fn a_large_payload_is_read_whole(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let mut staged = message();
    let bytes = (0..150_000_u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
    staged.message.payload = bytes.into();
    outbox.stage([staged.clone()]).await;

    let record = outbox.read_one().await;

    assert!(record.message.payload == staged.message.payload, "the payload was changed");
}

/// A new record has no attempts, no error and no time of failure.
pub async fn a_new_record_has_no_attempts_and_no_error(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let staged = message();
    outbox.stage([staged.clone()]).await;

    let record = outbox.read_one().await;

    assert_eq!(record, OutboxRecord::new(record.reference, staged.message));
}

/// The reference names the event id and the lane that the message belongs to.
pub async fn a_record_is_in_the_lane_of_its_message(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let messages = vec![message(), keyed("key")];
    outbox.stage(messages.clone()).await;

    let records = outbox.read().await;

    let found = records.iter().map(|record| (record.reference.id, record.reference.lane));
    let expected = messages.iter().map(|staged| (staged.message.id, staged.message.lane()));
    assert_eq!(sorted(found), sorted(expected));
}

/// Within a lane records come in the order in which they were staged.
pub async fn a_lane_is_read_in_order_of_position(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let messages = keyed_times("key", 20);
    outbox.stage(messages[..10].to_vec()).await;
    outbox.stage(messages[10..].to_vec()).await;

    let records = outbox.read().await;

    assert_eq!(ids(&records), staged_ids(&messages));
    assert!(records.is_sorted_by(|a, b| a.reference.position < b.reference.position));
}

/// Positions grow in the order of the inserts and are never used twice, whatever the lane.
pub async fn positions_grow_and_are_never_used_twice(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([message()]).await;
    let first = outbox.read_one().await;
    outbox.settle(&first, outbox_core::OutcomeKind::Published).await;

    outbox.stage([message()]).await;

    let second = outbox.read_one().await;
    assert!(second.reference.position > first.reference.position);
}

/// Only the lanes that were asked for are read.
pub async fn only_the_lanes_asked_for_are_read(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let (wanted, other) = strangers();
    let staged = keyed(&wanted);
    outbox.stage([staged.clone(), keyed(&other)]).await;
    let lane = LaneRead::new(staged.message.lane(), Position(0));
    let request = ReadRequest { lanes: vec![lane], ..Outbox::read_request() };

    let batch = outbox.read_as(&request).await;

    assert_eq!(ids(&batch.records), [staged.message.id]);
}

/// A read of no lanes finds nothing.
pub async fn a_read_of_no_lanes_finds_nothing(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    outbox.stage([message()]).await;
    let request = ReadRequest { lanes: Vec::new(), ..Outbox::read_request() };

    let batch = outbox.read_as(&request).await;

    assert!(batch.is_empty());
}

/// An empty outbox gives an empty batch that was not cut.
pub async fn an_empty_outbox_gives_an_empty_batch(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);

    let batch = outbox.read_as(&Outbox::read_request()).await;

    assert!(batch.is_empty());
    assert!(!batch.truncated);
}

/// A floor leaves out the records up to and including its position, in its own lane only.
pub async fn records_up_to_the_floor_are_left_out(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let (first, second) = strangers();
    outbox.stage([keyed(&second), keyed(&first), keyed(&first), keyed(&first)]).await;
    let lane = Lane::of_key(TOPIC, &first);
    let all = in_lane(&outbox.read().await, lane);
    let mut request = Outbox::read_request();
    raise_floor(&mut request, lane, all[1].reference.position);

    let batch = outbox.read_as(&request).await;

    assert_eq!(references(&in_lane(&batch.records, lane)), [all[2].reference]);
    assert_eq!(batch.records.len(), 2, "the other lane has its own floor");
}

/// Known records are left out.
pub async fn known_records_are_left_out(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    outbox.stage(keyed_times("key", 3)).await;
    let all = outbox.read().await;
    let known = vec![all[1].reference.position];
    let request = ReadRequest { known, ..Outbox::read_request() };

    let batch = outbox.read_as(&request).await;

    assert_eq!(references(&batch.records), [all[0].reference, all[2].reference]);
}

/// Known records take no room in the budget, by number and by size.
pub async fn known_records_count_for_nothing(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    outbox.stage((0..5).map(|_| sized("key", 1000))).await;
    let all = outbox.read().await;
    let known = all[..3].iter().map(|record| record.reference.position).collect();
    let bytes = 2 * u64::try_from(all[0].message.size()).unwrap();
    let request = ReadRequest { known, records: count(2), bytes, ..Outbox::read_request() };

    let batch = outbox.read_as(&request).await;

    assert_eq!(references(&batch.records), references(&all[3..]));
    assert!(!batch.truncated);
}

/// The budget of records cuts a lane to a prefix and the answer says so.
pub async fn the_record_budget_cuts_a_lane_to_a_prefix(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let messages = keyed_times("key", 5);
    outbox.stage(messages.clone()).await;
    let request = ReadRequest { records: count(3), ..Outbox::read_request() };

    let batch = outbox.read_as(&request).await;

    assert_eq!(ids(&batch.records), staged_ids(&messages[..3]));
    assert!(batch.truncated);
}

/// The budget of records holds for all lanes together.
pub async fn the_record_budget_holds_for_all_lanes_together(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    outbox.stage((0..40).map(|_| message())).await;
    let request = ReadRequest { records: count(7), ..Outbox::read_request() };

    let batch = outbox.read_as(&request).await;

    assert_eq!(batch.records.len(), 7);
    assert!(batch.truncated);
}

/// An answer that holds all that is due says that nothing was cut.
pub async fn an_answer_that_holds_everything_was_not_cut(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    outbox.stage(keyed_times("key", 3)).await;
    let request = ReadRequest { records: count(4), ..Outbox::read_request() };

    let batch = outbox.read_as(&request).await;

    assert_eq!(batch.records.len(), 3);
    assert!(!batch.truncated);
}

/// A full lane leaves room for the others.
pub async fn a_full_lane_leaves_room_for_the_others(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let (full, sparse) = strangers();
    let last = keyed(&sparse);
    outbox.stage(keyed_times(&full, 20)).await;
    outbox.stage([last.clone()]).await;
    let request = ReadRequest { records: count(5), ..Outbox::read_request() };

    let batch = outbox.read_as(&request).await;

    assert_eq!(batch.records.len(), 5);
    assert!(ids(&batch.records).contains(&last.message.id), "the full lane took all the room");
}

/// The budget of bytes cuts a lane to a prefix that fits, and the answer says so.
pub async fn the_byte_budget_cuts_a_lane_to_a_prefix(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    // The last one is small: a store that only skips what does not fit would return it.
    let messages = vec![sized("key", 1000), sized("key", 5000), sized("key", 1)];
    outbox.stage(messages.clone()).await;
    let request = ReadRequest { bytes: 3000, ..Outbox::read_request() };

    let batch = outbox.read_as(&request).await;

    assert_eq!(ids(&batch.records), staged_ids(&messages[..1]));
    assert!(batch.truncated);
}

/// The budget of bytes holds for all lanes together, and is spent on one record of each lane first.
pub async fn the_byte_budget_holds_for_all_lanes_together(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let messages = two_in_each_lane();
    outbox.stage(messages.clone()).await;
    let size = u64::try_from(messages[0].message.size()).unwrap();
    let request = ReadRequest { bytes: 2 * size + size / 2, ..Outbox::read_request() };

    let batch = outbox.read_as(&request).await;

    assert_eq!(sorted(ids(&batch.records)), sorted(staged_ids(&messages[..2])));
    assert!(batch.truncated);
}

/// A record larger than the budget of bytes is read nevertheless, but no other with it.
pub async fn a_record_larger_than_the_byte_budget_is_read_alone(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let messages = two_in_each_lane();
    outbox.stage(messages.clone()).await;
    let lanes = [&messages[1], &messages[0]].map(|staged| staged.message.lane());
    let from_start = |lane| LaneRead::new(lane, Position(0));
    let lanes = lanes.map(from_start).to_vec();
    let request = ReadRequest { lanes, bytes: 1, ..Outbox::read_request() };

    let batch = outbox.read_as(&request).await;

    assert_eq!(ids(&batch.records), staged_ids(&messages[1..2]), "the lane that was named first");
    assert!(batch.truncated);
}

/// Reading on behind the last record of each batch finds every record once, in order.
pub async fn reading_on_finds_every_record_once(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let messages = keyed_times("key", 10);
    outbox.stage(messages.clone()).await;
    let lane = messages[0].message.lane();
    let mut request = ReadRequest { records: count(3), ..Outbox::read_request() };
    let mut found = Vec::new();

    for _ in 0..4 {
        let batch = outbox.read_as(&request).await;
        found.extend(ids(&batch.records));
        let Some(last) = batch.records.last() else { break };
        raise_floor(&mut request, lane, last.reference.position);
    }

    assert_eq!(found, staged_ids(&messages));
}

/// A read writes nothing: reading again finds the same, for every store.
pub async fn a_read_changes_nothing(fixture: &dyn StoreFixture) {
    let mut outbox = Outbox::new(fixture);
    outbox.stage(keyed_times("key", 3)).await;
    let first = outbox.read().await;

    let again = outbox.read().await;
    outbox.store = fixture.reopen().await;
    let by_other = outbox.read().await;

    assert_eq!(first.len(), 3);
    assert_eq!(again, first);
    assert_eq!(by_other, first);
}

/// Keys that share a lane do not hide each other.
pub async fn keys_that_share_a_lane_are_both_read(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let (first, second) = neighbours();
    let messages = vec![keyed(&first), keyed(&second), keyed(&first)];
    outbox.stage(messages.clone()).await;

    let records = outbox.read().await;

    assert_eq!(ids(&records), staged_ids(&messages));
}

/// One event id may stand in several records, each with a position of its own.
pub async fn one_event_id_may_stand_in_several_records(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let staged = message();
    outbox.stage([staged.clone()]).await;
    outbox.stage([staged.clone()]).await;

    let records = outbox.read().await;

    assert_eq!(ids(&records), [staged.message.id, staged.message.id]);
    assert_ne!(records[0].reference.position, records[1].reference.position);
}

/// A row that cannot be decoded is reported with its key and does not stop its lane.
pub async fn an_undecodable_row_does_not_stop_its_lane(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    outbox.stage(keyed_times("key", 3)).await;
    let all = outbox.read().await;
    fixture.damage(all[1].reference).await;

    let batch = outbox.read_as(&Outbox::read_request()).await;

    assert_eq!(references(&batch.records), [all[0].reference, all[2].reference]);
    let row = only(batch.undecodable);
    assert_eq!((row.reference, row.revision), (all[1].reference, all[1].revision));
    assert_eq!(row.key, all[1].key());
    assert!(!row.error.trim().is_empty(), "it is not said what is wrong");
}

/// An outbox that was read a while ago shows what was staged since.
pub async fn what_is_staged_later_is_read_later(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    assert_eq!(outbox.read().await, []);
    fixture.pass(Duration::from_millis(1)).await;
    let staged = message();
    outbox.stage([staged.clone()]).await;

    let record = outbox.read_one().await;

    assert_eq!(record.reference.id, staged.message.id);
}

/// Records of the same size, in turn in one lane and in another.
fn two_in_each_lane() -> Vec<StagedMessage> {
    let (first, second) = strangers();
    [&first, &second, &first, &second].into_iter().map(|key| sized(key, 1000)).collect()
}

fn count(records: u32) -> NonZeroU32 {
    NonZeroU32::new(records).unwrap()
}

fn in_lane(records: &[OutboxRecord], lane: Lane) -> Vec<OutboxRecord> {
    records.iter().filter(|record| record.reference.lane == lane).cloned().collect()
}

fn raise_floor(request: &mut ReadRequest, lane: Lane, floor: Position) {
    for read in request.lanes.iter_mut().filter(|read| read.lane == lane) {
        read.floor = floor;
    }
}
