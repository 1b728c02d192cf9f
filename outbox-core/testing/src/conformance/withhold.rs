//! Cases about reads that leave out what the caller does not want now.

use std::num::NonZeroU32;
use std::time::Duration;

use outbox_core::{
    Batch, DuePlace, KeyRef, Lane, Position, ReadRequest, RecordRef, Schedule, StagedMessage,
    Withheld,
};

use super::fixture::StoreFixture;
use super::outbox::{Outbox, ids, references, sorted, staged_ids};
use super::sample::{HOUR, TOPIC, failed, keyed, keyed_in, message, neighbours, scheduled};

const OTHER: &str = "invoices";

/// Nothing of a topic is read that is withheld with all of its keys, be it new or tried before; other
/// topics are.
pub async fn a_withheld_topic_is_left_out(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([message(), keyed("key")]).await;
    let retried = outbox.read().await.remove(0);
    outbox.settle(&retried, failed(Duration::ZERO)).await;
    let other = keyed_in(OTHER, "key");
    outbox.stage([message(), other.clone()]).await;

    let batch = read(&outbox, vec![topic(TOPIC), ordered(TOPIC)]).await;

    assert_eq!(ids(&batch.records), [other.message.id]);
    assert!(!batch.truncated);
    assert_eq!(outbox.read().await.len(), 4, "a read that withholds nothing finds all of it");
}

/// A topic is withheld for the transport that is named, and for no other.
pub async fn a_topic_is_withheld_for_its_transport_alone(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let plain = message();
    let mut by_transport = message();
    by_transport.message.transport = Some("sns-eu".to_owned());
    outbox.stage([plain.clone(), by_transport.clone()]).await;
    let transport = Some("sns-eu".to_owned());
    let named = Withheld::Destination { topic: TOPIC.into(), transport };

    let without_named = read(&outbox, vec![named.clone()]).await;
    let without_plain = read(&outbox, vec![topic(TOPIC)]).await;
    let without_both = read(&outbox, vec![named, topic(TOPIC)]).await;

    assert_eq!(ids(&without_named.records), [plain.message.id]);
    assert_eq!(ids(&without_plain.records), [by_transport.message.id]);
    assert_eq!(without_both.records, []);
}

/// The keys of a topic are withheld whatever the transports of their records, for a key is in order,
/// and without what has no key.
pub async fn all_keys_of_a_topic_are_withheld_together(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let mut by_transport = keyed("key");
    by_transport.message.transport = Some("sns-eu".to_owned());
    let others = [message(), keyed_in(OTHER, "key")];
    outbox.stage([keyed("key"), by_transport]).await;
    outbox.stage(others.clone()).await;

    let batch = read(&outbox, vec![ordered(TOPIC)]).await;

    assert_eq!(sorted(ids(&batch.records)), sorted(staged_ids(&others)));
}

/// With a destination no ordered record is withheld, of whatever transport.
pub async fn a_withheld_destination_leaves_its_keys(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let mut by_transport = keyed("key");
    by_transport.message.transport = Some("sns-eu".to_owned());
    let keys = [keyed("key"), by_transport];
    outbox.stage([message()]).await;
    outbox.stage(keys.clone()).await;
    let transport = Some("sns-eu".to_owned());
    let named = Withheld::Destination { topic: TOPIC.into(), transport };

    let batch = read(&outbox, vec![named, topic(TOPIC)]).await;

    assert_eq!(sorted(ids(&batch.records)), sorted(staged_ids(&keys)));
}

/// Withholding is exact: no topic and no key of other letters is left out.
pub async fn a_name_of_other_letters_is_not_withheld(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let topics = ["ORDERS", "order", "orders1"].map(|topic| keyed_in(topic, "key"));
    let keys = ["KEY", "key ", "k\u{e9}y", "ke", "key\"]", "key'"].map(|key| keyed_in(OTHER, key));
    outbox.stage([keyed("other"), keyed_in(OTHER, "key")]).await;
    outbox.stage(topics.clone()).await;
    outbox.stage(keys.clone()).await;
    let withheld = KeyRef { topic: OTHER.into(), key: "key".to_owned() };

    let without = vec![topic(TOPIC), ordered(TOPIC), Withheld::Key(withheld)];
    let batch = read(&outbox, without).await;

    let others = [topics.to_vec(), keys.to_vec()].concat();
    assert_eq!(sorted(ids(&batch.records)), sorted(staged_ids(&others)));
}

/// Records of a withheld key that were never tried are not read; other keys, other topics and records without a
/// key are.
pub async fn a_withheld_key_is_left_out(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let (withheld, neighbour) = neighbours();
    let others = [keyed(&neighbour), keyed_in(OTHER, &withheld), message()];
    outbox.stage([keyed(&withheld), keyed(&withheld)]).await;
    outbox.stage(others.clone()).await;

    let batch = read(&outbox, vec![key(&withheld)]).await;

    assert_eq!(sorted(ids(&batch.records)), sorted(staged_ids(&others)));
}

/// A record of a withheld key that failed is read when it is due again, for the others wait for it.
pub async fn a_failed_head_of_a_withheld_key_is_read(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let soon = scheduled(keyed("key"), Schedule::After(Duration::ZERO));
    outbox.stage([keyed("key"), keyed("key"), keyed("later")]).await;
    let all = outbox.read().await;
    outbox.stage([soon]).await;
    outbox.settle(&all[0], failed(Duration::ZERO)).await;
    let later = all.iter().find(|record| record.key() != all[0].key()).unwrap();
    outbox.settle(later, failed(HOUR)).await;

    let batch = read(&outbox, vec![key("key"), key("later")]).await;

    assert_eq!(ids(&batch.records), [all[0].reference.id]);
}

/// Withheld records take no room in the budget, by number and by size.
pub async fn withheld_records_count_for_nothing(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let (withheld, wanted) = neighbours();
    let queue: Vec<StagedMessage> = (0..5).map(|_| keyed(&withheld)).collect();
    let others = [keyed(&wanted), keyed(&wanted)];
    outbox.stage(queue).await;
    outbox.stage(others.clone()).await;
    let bytes = 2 * u64::try_from(others[0].message.size()).unwrap();
    let records = NonZeroU32::new(2).unwrap();
    let without = vec![key(&withheld)];

    let request = ReadRequest { records, bytes, without, ..Outbox::read_request() };
    let batch = outbox.read_as(&request).await;

    assert_eq!(ids(&batch.records), staged_ids(&others));
}

/// What stands behind a long queue of withheld records is found by reading on from where the store
/// says that it has looked.
pub async fn a_long_queue_of_withheld_records_is_read_past(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let (withheld, wanted) = neighbours();
    let queue: Vec<StagedMessage> = (0..2500).map(|_| keyed(&withheld)).collect();
    let last = keyed(&wanted);
    let lane = last.message.lane();
    outbox.stage(queue).await;
    outbox.stage([last.clone()]).await;
    let without = vec![key(&withheld)];
    let mut request = ReadRequest { without, ..Outbox::read_request() };

    let mut found = Vec::new();
    for _ in 0..100 {
        let batch = outbox.read_as(&request).await;
        found.extend(ids(&batch.records));
        let Some(reached) = reached(&batch, lane) else { break };
        let read = request.lanes.iter_mut().find(|read| read.lane == lane).unwrap();
        if reached <= read.floor {
            break;
        }
        read.floor = reached;
    }

    assert_eq!(found, [last.message.id]);
}

/// Up to where the store says that it has looked, nothing that is due and wanted is left out,
/// whatever the budget.
pub async fn nothing_is_left_out_below_what_was_reached(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let (withheld, wanted) = neighbours();
    for number in 0..40 {
        outbox.stage([keyed(if number % 3 == 0 { &wanted } else { &withheld }), message()]).await;
    }
    let without = vec![key(&withheld)];
    let whole = read(&outbox, without.clone()).await;

    for records in 1..=60 {
        let records = NonZeroU32::new(records).unwrap();
        let request = ReadRequest { records, without: without.clone(), ..Outbox::read_request() };
        let batch = outbox.read_as(&request).await;

        let below = |place: &&outbox_core::RecordRef| {
            reached(&batch, place.lane).is_some_and(|reached| place.position <= reached)
        };
        let answer = references(&batch.records);
        for record in references(&whole.records).iter().filter(below) {
            assert!(answer.contains(record), "{record:?} is left out of {records} records");
        }
    }
}

/// What is due behind a long queue of withheld records that are due is found by reading on from where
/// the store says that it has looked.
pub async fn a_long_queue_of_withheld_due_records_is_read_past(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let instant = fixture.now().await - HOUR * 2;
    // The longer a record is due, the higher its position.
    let due_at = |number: u32| Schedule::At(instant - Duration::from_secs(number.into()));

    read_past_a_due_queue(&outbox, due_at, Schedule::At(instant + HOUR)).await;
}

/// The same where all of them are due at one instant.
pub async fn a_long_queue_of_one_instant_is_read_past(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let instant = Schedule::At(fixture.now().await - HOUR);

    read_past_a_due_queue(&outbox, |_| instant, instant).await;
}

/// Reads on behind withheld records, as far as a store looks at all lanes at once and further.
async fn read_past_a_due_queue(
    outbox: &Outbox<'_>,
    queue: impl Fn(u32) -> Schedule,
    behind: Schedule,
) {
    let (withheld, wanted) = neighbours();
    let queue: Vec<StagedMessage> =
        (0..250).map(|number| scheduled(keyed(&withheld), queue(number))).collect();
    let last = scheduled(keyed(&wanted), behind);
    let lane = last.message.lane();
    outbox.stage(queue).await;
    outbox.stage([last.clone()]).await;
    let mut request = ReadRequest { without: vec![key(&withheld)], ..Outbox::read_request() };

    let mut found = Vec::new();
    for _ in 0..100 {
        let batch = outbox.read_as(&request).await;
        found.extend(ids(&batch.records));
        let ended = due_reached(&batch, lane).unwrap();
        if ended == DuePlace::END {
            break;
        }
        let read = request.lanes.iter_mut().find(|read| read.lane == lane).unwrap();
        assert!(read.due_behind.is_none_or(|before| before < ended), "it looks no further");
        read.due_behind = Some(ended);
    }

    assert_eq!(found, [last.message.id]);
}

/// Before where the store says that its look ended, nothing that is due and wanted is left out,
/// whatever the budget.
pub async fn nothing_due_is_left_out_before_what_was_reached(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let (withheld, wanted) = neighbours();
    let instant = fixture.now().await - HOUR;
    for number in 0..40_u32 {
        let staged = keyed(if number % 3 == 0 { &wanted } else { &withheld });
        let due = Schedule::At(instant + Duration::from_secs(u64::from(number * 7 % 40)));
        outbox.stage([scheduled(staged, due), message()]).await;
    }
    let without = vec![key(&withheld)];
    let mut all = outbox.read().await;
    all.retain(|record| record.message.ordering_key.as_ref() == Some(&wanted));

    for records in 1..=60 {
        let records = NonZeroU32::new(records).unwrap();
        let request = ReadRequest { records, without: without.clone(), ..Outbox::read_request() };
        let batch = outbox.read_as(&request).await;

        let answer = references(&batch.records);
        for record in &all {
            let RecordRef { lane, position, .. } = record.reference;
            let place = DuePlace { available_at: record.available_at.unwrap(), position };
            let is_told = due_reached(&batch, lane).is_some_and(|ended| place <= ended);
            assert!(!is_told || answer.contains(&record.reference), "{place:?} is left out");
        }
    }
}

/// A read that withholds nothing looks at all that waited, wherever it is told to begin.
pub async fn a_place_among_the_due_counts_only_where_something_is_withheld(
    fixture: &dyn StoreFixture,
) {
    let outbox = Outbox::new(fixture);
    let waited = scheduled(message(), Schedule::At(fixture.now().await - HOUR));
    let new = message();
    outbox.stage([waited.clone(), new.clone()]).await;
    let mut request = Outbox::read_request();
    for read in &mut request.lanes {
        read.due_behind = Some(DuePlace::END);
    }

    let all = outbox.read_as(&request).await;
    request.without = vec![key("another")];
    let behind = outbox.read_as(&request).await;

    assert_eq!(sorted(ids(&all.records)), sorted(staged_ids(&[waited, new.clone()])));
    assert_eq!(ids(&behind.records), [new.message.id]);
}

/// An answer of few records says how far it looked, of each lane that was asked for.
pub async fn how_far_was_looked_is_told_of_each_lane(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let (withheld, wanted) = neighbours();
    let lane = keyed(&withheld).message.lane();
    outbox.stage([keyed(&withheld), keyed(&wanted), keyed(&withheld)]).await;
    let last = outbox.read().await.pop().unwrap().reference.position;

    let batch = read(&outbox, vec![key(&withheld)]).await;

    assert_eq!(batch.records.len(), 1);
    assert!(reached(&batch, lane) >= Some(last), "{:?} of {last}", batch.reached);
    assert!(Lane::all().all(|lane| reached(&batch, lane).is_some()), "{:?}", batch.reached);
    assert!(Lane::all().all(|lane| due_reached(&batch, lane) == Some(DuePlace::END)));
}

/// A read that withholds nothing says nothing about how far it went.
pub async fn nothing_is_reached_where_nothing_is_withheld(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    outbox.stage([message(), keyed("key")]).await;

    let batch = read(&outbox, Vec::new()).await;

    assert_eq!(batch.records.len(), 2);
    assert_eq!(batch.reached, []);
    assert_eq!(batch.due_reached, []);
}

async fn read(outbox: &Outbox<'_>, without: Vec<Withheld>) -> Batch {
    outbox.read_as(&ReadRequest { without, ..Outbox::read_request() }).await
}

fn topic(name: &str) -> Withheld {
    Withheld::Destination { topic: name.into(), transport: None }
}

fn ordered(name: &str) -> Withheld {
    Withheld::Ordered(name.into())
}

fn key(key: &str) -> Withheld {
    Withheld::Key(KeyRef { topic: TOPIC.into(), key: key.to_owned() })
}

fn reached(batch: &Batch, lane: Lane) -> Option<Position> {
    batch.reached.iter().find(|(of, _)| *of == lane).map(|(_, position)| *position)
}

fn due_reached(batch: &Batch, lane: Lane) -> Option<DuePlace> {
    batch.due_reached.iter().find(|(of, _)| *of == lane).map(|(_, place)| *place)
}
