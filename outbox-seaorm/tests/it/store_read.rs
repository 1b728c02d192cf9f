//! Reading due records of several lanes.

use std::num::NonZeroU32;

use outbox_core::{Batch, Format, LaneRead, OutboxStore, Position, ReadRequest};
use sea_orm::DbBackend;

use crate::database::TestDatabase;
use crate::on_all;
use crate::store_fixture::{HOUR, Outbox, SECOND, from_start, lane, positions, sample};

on_all!(store_read:
    a_budget_of_bytes_still_gives_one_record,
    a_budget_of_rows_cuts_each_lane_to_a_prefix_rank_by_rank,
    a_budget_that_is_spent_exactly_is_not_truncated,
    a_cut_read_is_continued_behind_what_is_known,
    a_floor_hides_new_records_but_none_that_waited,
    a_full_lane_does_not_keep_the_budget_from_a_single_other,
    a_read_that_finds_nothing_is_empty,
    a_record_of_a_newer_format_stays_pending,
    a_record_without_a_usable_id_stays_pending,
    a_small_budget_comes_round_to_every_lane,
    a_truncated_read_says_so,
    due_records_come_first_and_both_in_order_of_position,
    known_positions_are_left_out_and_count_for_nothing,
    more_records_than_the_share_of_a_lane_come_without_a_gap,
    only_the_lanes_that_were_asked_for_are_read,
    records_become_due_at_their_instant,
    uneven_lanes_fill_the_budget,
);

fn budget(lanes: &[u8], records: u32) -> ReadRequest {
    ReadRequest { records: NonZeroU32::new(records).unwrap(), ..from_start(lanes) }
}

async fn read(outbox: &Outbox, request: &ReadRequest) -> Batch {
    outbox.store.read(request).await.unwrap()
}

fn lanes_of(batch: &Batch) -> Vec<u8> {
    let mut lanes: Vec<u8> =
        batch.records.iter().map(|record| record.reference.lane.number()).collect();
    lanes.sort_unstable();
    lanes
}

async fn a_read_that_finds_nothing_is_empty(database: TestDatabase) {
    let outbox = Outbox::new(database);

    let batch = outbox.read(&[0, 1, 2]).await;
    let no_lanes = outbox.read(&[]).await;

    assert!(batch.is_empty() && !batch.truncated);
    assert!(no_lanes.is_empty() && !no_lanes.truncated);
}

async fn only_the_lanes_that_were_asked_for_are_read(database: TestDatabase) {
    let outbox = Outbox::new(database);
    for lane in 0..4 {
        outbox.fill(lane, 2).await;
    }

    let batch = outbox.read(&[1, 3]).await;

    assert_eq!(lanes_of(&batch), [1, 1, 3, 3]);
}

async fn due_records_come_first_and_both_in_order_of_position(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let waited = |ago: i64| outbox.instant(Some(-ago));
    outbox.insert(sample(0)).await;
    outbox.insert(sample(0).with("available_at", &waited(SECOND))).await;
    outbox.insert(sample(0)).await;
    outbox.insert(sample(0).with("available_at", &waited(HOUR))).await;

    let batch = outbox.read(&[0]).await;

    assert_eq!(positions(&batch), [2, 4, 1, 3]);
}

async fn records_become_due_at_their_instant(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.insert(sample(0).with("available_at", &outbox.instant(Some(0)))).await;
    outbox.insert(sample(0).with("available_at", &outbox.instant(Some(HOUR)))).await;

    let batch = outbox.read(&[0]).await;

    assert_eq!(positions(&batch), [1]);
    assert!(batch.records[0].available_at.is_some());
}

async fn a_floor_hides_new_records_but_none_that_waited(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.insert(sample(0).with("available_at", &outbox.instant(Some(-SECOND)))).await;
    outbox.fill(0, 3).await;
    let mut request = from_start(&[0]);
    request.lanes[0].floor = Position(3);
    let nothing_new =
        ReadRequest { lanes: vec![LaneRead::new(lane(0), Position(i64::MAX))], ..from_start(&[]) };

    let behind = read(&outbox, &request).await;
    let due = read(&outbox, &nothing_new).await;

    assert_eq!(positions(&behind), [1, 4]);
    assert_eq!(positions(&due), [1]);
}

async fn known_positions_are_left_out_and_count_for_nothing(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.insert(sample(0).with("available_at", &outbox.instant(Some(-SECOND)))).await;
    outbox.fill(0, 5).await;
    let request = ReadRequest { known: [1, 2, 3].map(Position).into(), ..budget(&[0], 3) };

    let batch = read(&outbox, &request).await;

    assert_eq!(positions(&batch), [4, 5, 6]);
    assert!(!batch.truncated);
}

async fn a_budget_of_rows_cuts_each_lane_to_a_prefix_rank_by_rank(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.fill(0, 5).await;
    outbox.fill(1, 1).await;
    outbox.fill(2, 5).await;

    let batch = read(&outbox, &budget(&[0, 1, 2], 6)).await;

    // Ranks one of all lanes, rank two and half of rank three of the full ones.
    assert_eq!(positions(&batch), [1, 2, 3, 6, 7, 8]);
    assert!(batch.truncated);
}

async fn a_full_lane_does_not_keep_the_budget_from_a_single_other(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.fill(0, 20).await;
    outbox.fill(1, 2).await;

    let batch = read(&outbox, &budget(&[0, 1], 4)).await;

    assert_eq!(positions(&batch), [1, 2, 21, 22]);
}

async fn uneven_lanes_fill_the_budget(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.fill(0, 10).await;
    outbox.fill(1, 3).await;
    outbox.fill(2, 1).await;

    let batch = read(&outbox, &budget(&[0, 1, 2], 9)).await;

    assert_eq!(positions(&batch), [1, 2, 3, 4, 5, 11, 12, 13, 14]);
    assert!(batch.truncated);
}

async fn more_records_than_the_share_of_a_lane_come_without_a_gap(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let once = match outbox.db.get_database_backend() {
        DbBackend::MySql => "'2026-01-01'",
        DbBackend::Postgres => "'2026-01-01Z'",
        _ => "1767225600000000",
    };
    for _ in 0..30 {
        outbox.insert(sample(5).with("available_at", once)).await;
    }
    outbox.fill(5, 30).await;
    let all: Vec<u8> = (0..64).collect();

    let some = read(&outbox, &budget(&all, 40)).await;
    let whole = read(&outbox, &budget(&all, 60)).await;

    assert_eq!(positions(&some), (1..=40).collect::<Vec<_>>());
    assert!(some.truncated);
    assert_eq!(positions(&whole), (1..=60).collect::<Vec<_>>());
    assert!(!whole.truncated);
}

async fn a_budget_that_is_spent_exactly_is_not_truncated(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.fill(0, 3).await;

    let alone = read(&outbox, &budget(&[0], 3)).await;
    let beside_empty_ones = read(&outbox, &budget(&[0, 1, 2], 3)).await;

    assert_eq!((alone.records.len(), alone.truncated), (3, false));
    assert_eq!((beside_empty_ones.records.len(), beside_empty_ones.truncated), (3, false));
}

async fn a_truncated_read_says_so(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.fill(0, 4).await;

    let alone = read(&outbox, &budget(&[0], 3)).await;
    let beside_empty_ones = read(&outbox, &budget(&[0, 1, 2], 3)).await;
    let by_bytes = read(&outbox, &ReadRequest { bytes: 399, ..from_start(&[0, 1]) }).await;

    assert_eq!((alone.records.len(), alone.truncated), (3, true));
    assert_eq!((beside_empty_ones.records.len(), beside_empty_ones.truncated), (3, true));
    assert_eq!((by_bytes.records.len(), by_bytes.truncated), (3, true));
}

async fn a_budget_of_bytes_still_gives_one_record(database: TestDatabase) {
    let outbox = Outbox::new(database);
    for lane in 0..3 {
        outbox.fill(lane, 2).await;
    }

    let none = read(&outbox, &ReadRequest { bytes: 0, ..from_start(&[0, 1, 2]) }).await;
    let some = read(&outbox, &ReadRequest { bytes: 400, ..from_start(&[0, 1, 2]) }).await;

    assert_eq!(positions(&none), [1]);
    assert_eq!(positions(&some), [1, 2, 3, 5]);
    assert!(none.truncated && some.truncated);
}

async fn a_cut_read_is_continued_behind_what_is_known(database: TestDatabase) {
    let outbox = Outbox::new(database);
    for lane in 0..5 {
        outbox.fill(lane, usize::from(lane) * 3).await;
    }
    let mut request = budget(&[0, 1, 2, 3, 4], 7);
    let mut read_so_far: Vec<Vec<i64>> = vec![Vec::new(); 5];

    let mut truncated = true;
    for _ in 0..5 {
        let batch = read(&outbox, &request).await;
        truncated = batch.truncated;
        assert_eq!(batch.records.len(), if truncated { 7 } else { 2 });
        for record in &batch.records {
            let lane = usize::from(record.reference.lane.number());
            read_so_far[lane].push(record.reference.position.0);
            request.known.push(record.reference.position);
        }
    }

    assert!(!truncated);
    for (lane, read) in read_so_far.iter().enumerate() {
        assert_eq!(read.len(), lane * 3);
        assert!(read.is_sorted(), "lane {lane}: {read:?}");
    }
}

async fn a_small_budget_comes_round_to_every_lane(database: TestDatabase) {
    let outbox = Outbox::new(database);
    for lane in 0..4 {
        outbox.fill(lane, 3).await;
    }
    let mut request = budget(&[0, 1, 2, 3], 1);
    let mut lanes = Vec::new();

    for _ in 0..4 {
        let batch = read(&outbox, &request).await;
        assert_eq!(batch.records.len(), 1);
        lanes.extend(lanes_of(&batch));
        request.known.extend(positions(&batch).into_iter().map(Position));
    }

    lanes.sort_unstable();
    assert_eq!(lanes, [0, 1, 2, 3]);
}

async fn a_record_of_a_newer_format_stays_pending(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let newer = (Format::CURRENT.0 + 1).to_string();
    outbox.insert(sample(0).with("format", &newer)).await;
    outbox.insert(sample(0)).await;
    let due = outbox.instant(Some(-SECOND));
    outbox.insert(sample(0).with("format", &newer).with("available_at", &due)).await;

    let batch = outbox.read(&[0]).await;

    assert_eq!(positions(&batch), [2]);
    assert!(batch.undecodable.is_empty() && !batch.truncated);
    assert_eq!(outbox.count("message").await, 3);
}

async fn a_record_without_a_usable_id_stays_pending(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let nil = if outbox.is_postgres() {
        "'00000000-0000-0000-0000-000000000000'"
    } else {
        "x'00000000000000000000000000000000'"
    };
    outbox.insert(sample(0).with("id", nil)).await;
    outbox.insert(sample(0)).await;

    let batch = read(&outbox, &budget(&[0], 1)).await;

    assert_eq!(positions(&batch), [2]);
    assert!(batch.undecodable.is_empty() && !batch.truncated);
    assert_eq!(outbox.count("message").await, 2);
}
