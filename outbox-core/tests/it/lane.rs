//! The lane hash, which is part of the stored format.

use std::collections::{BTreeMap, BTreeSet};

use outbox_core::{EventId, Lane, StoreErrorKind};
use uuid::Uuid;

fn of_key(topic: &str, key: &str) -> u8 {
    Lane::of_key(topic, key).number()
}

fn of_id(id: &str) -> u8 {
    Lane::of_id(EventId::from_uuid(Uuid::parse_str(id).unwrap()).unwrap()).number()
}

/// Computed with another implementation of XXH3. A change puts stored keys into two lanes.
#[test]
fn the_lane_of_a_key_never_changes() {
    let long = "k".repeat(300);

    assert_eq!(of_key("orders", "7"), 36);
    assert_eq!(of_key("orders", "8"), 12);
    assert_eq!(of_key("returns", "7"), 37);
    assert_eq!(of_key("orders", ""), 58);
    assert_eq!(of_key("", "orders"), 57);
    assert_eq!(of_key("arn:aws:sns:eu-central-1:123456789012:orders.fifo", "customer-42"), 62);
    assert_eq!(of_key("orders", "straße 東京 \u{1F980}"), 24);
    assert_eq!(of_key("orders", &long), 36);
}

#[test]
fn the_lane_of_an_id_never_changes() {
    assert_eq!(of_id("00000000-0000-0000-0000-000000000001"), 16);
    assert_eq!(of_id("0190a3c8-7d2e-7c11-b3f4-5a6b7c8d9e0f"), 56);
    assert_eq!(of_id("ffffffff-ffff-ffff-ffff-ffffffffffff"), 1);
    assert_eq!(of_id("f47ac10b-58cc-4372-a567-0e02b2c3d479"), 63);
}

#[test]
fn topic_and_key_both_matter() {
    let by_key: BTreeSet<_> = (0..64).map(|n| of_key("orders", &n.to_string())).collect();
    let by_topic: BTreeSet<_> = (0..64).map(|n| of_key(&n.to_string(), "orders")).collect();

    assert!(by_key.len() > 32 && by_topic.len() > 32, "{by_key:?} {by_topic:?}");
}

#[test]
fn the_border_between_topic_and_key_matters() {
    let text = "orders-of-the-north-7";

    let lanes: BTreeSet<_> =
        (0..=text.len()).map(|border| text.split_at(border)).map(|(t, k)| of_key(t, k)).collect();

    // Were the two only joined, every border would give the same lane.
    assert!(lanes.len() > text.len() / 2, "{lanes:?}");
}

#[test]
fn keys_and_ids_are_spread_over_all_lanes() {
    let mut keys = BTreeMap::<_, u32>::new();
    let mut ids = BTreeMap::<_, u32>::new();

    for number in 1..=6400_u32 {
        *keys.entry(of_key("orders", &number.to_string())).or_default() += 1;
        let id = EventId::from_uuid(Uuid::from_u128(number.into())).unwrap();
        *ids.entry(Lane::of_id(id).number()).or_default() += 1;
    }

    for lanes in [keys, ids] {
        assert_eq!(lanes.len(), usize::from(Lane::COUNT));
        assert!(lanes.values().all(|records| (50..=150).contains(records)), "{lanes:?}");
    }
}

#[test]
fn there_are_sixty_four_lanes() {
    let numbers: Vec<_> = Lane::all().map(Lane::number).collect();

    assert_eq!(numbers, (0..64).collect::<Vec<_>>());
    assert_eq!(Lane::new(63).unwrap().to_string(), "63");
}

#[test]
fn a_number_beyond_the_lanes_is_refused() {
    for number in [64, 65, u8::MAX] {
        let error = Lane::new(number).unwrap_err();

        assert_eq!(error.kind(), StoreErrorKind::InvalidArgument);
        assert_eq!(error.to_string(), "a lane is a number from 0 to 63: invalid argument");
    }
}

#[test]
fn a_stored_number_is_refused_like_any_other() {
    assert_eq!(Lane::try_from(63_i16).unwrap().number(), 63);
    for number in [-1, 64, 255, 256, i16::MIN, i16::MAX] {
        assert!(Lane::try_from(number).is_err(), "{number}");
    }
}
