//! Writing how attempts ended.

use std::time::Duration;

use outbox_core::{
    DeadReason, EventId, Failure, FailureKind, LostLane, OutboxStore, Outcome, OutcomeKind,
    RecordRef, StoreErrorKind,
};

use crate::database::TestDatabase;
use crate::on_all;
use crate::store_fixture::{HOUR, Outbox, SECOND, outcome, positions, published, sample};

on_all!(store_settle:
    a_dead_letter_needs_an_error_text,
    a_dead_record_leaves_with_its_reason_and_its_message,
    a_delay_beyond_all_calendars_is_taken_as_for_ever,
    a_failed_record_is_due_again_after_its_delay,
    a_place_is_never_given_twice,
    a_late_success_of_an_earlier_attempt_changes_nothing,
    a_lease_that_expired_settles_nothing_and_is_named_lost,
    a_lease_that_was_superseded_settles_nothing_and_is_named_lost,
    a_published_record_is_gone,
    a_record_of_another_id_at_the_same_place_is_left_alone,
    a_repeated_failure_counts_once,
    a_repeated_settlement_is_harmless,
    a_second_failure_keeps_the_instant_of_the_first,
    a_summary_that_a_database_would_refuse_is_cleaned,
    all_kinds_of_outcomes_of_many_lanes_settle_in_one_call,
    an_undecodable_record_dies_without_an_attempt,
    hundreds_of_outcomes_settle_in_one_call,
    nothing_to_settle_is_answered_with_nothing,
    settlements_of_several_workers_at_once_all_succeed,
    two_records_with_one_event_id_both_become_dead_letters,
);

fn failed(summary: &str, delay: Duration) -> OutcomeKind {
    OutcomeKind::Failed { failure: Failure::new(FailureKind::Transient, summary), delay }
}

fn dead(reason: DeadReason, error: &str) -> OutcomeKind {
    OutcomeKind::Dead { reason, error: error.to_owned(), parks_key: false }
}

fn sorted(mut records: Vec<RecordRef>) -> Vec<RecordRef> {
    records.sort_by_key(|record| record.position);
    records
}

async fn a_published_record_is_gone(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let records = outbox.fill(0, 3).await;

    let settled = outbox.settle(&published(&leases[0], &records[..2])).await;

    assert_eq!(sorted(settled.applied), records[..2]);
    assert_eq!(settled.lost, []);
    assert_eq!(settled.stamp.is_some(), outbox.is_postgres());
    assert_eq!(outbox.positions("message").await, [3]);
}

async fn nothing_to_settle_is_answered_with_nothing(database: TestDatabase) {
    let outbox = Outbox::new(database);

    let settled = outbox.settle(&[]).await;

    assert!(settled.applied.is_empty() && settled.lost.is_empty());
}

async fn a_repeated_settlement_is_harmless(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let records = outbox.fill(0, 2).await;
    let outcomes = published(&leases[0], &records[..1]);
    outbox.settle(&outcomes).await;

    let again = outbox.settle(&outcomes).await;

    assert!(again.applied.is_empty() && again.lost.is_empty());
    assert_eq!(outbox.positions("message").await, [2]);
}

/// Were it given again, a settlement that is repeated would delete an event that was never sent.
async fn a_place_is_never_given_twice(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let id = EventId::new();
    let first = outbox.insert(sample(0).id(id)).await;
    let outcomes = published(&leases[0], &[first]);
    outbox.settle(&outcomes).await;

    let second = outbox.insert(sample(0).id(id)).await;
    let again = outbox.settle(&outcomes).await;

    assert_eq!(again.applied, []);
    assert_eq!(outbox.positions("message").await, [second.position.0]);
}

async fn settlements_of_several_workers_at_once_all_succeed(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(4).await;
    let mut running = Vec::new();
    for lease in leases {
        let records = outbox.fill(lease.lane.number(), 10).await;
        let store = outbox.store.clone();
        running.push(tokio::spawn(async move {
            for record in records {
                store.settle(&published(&lease, &[record])).await.unwrap();
            }
        }));
    }

    for ended in futures_util::future::join_all(running).await {
        ended.unwrap();
    }

    assert_eq!(outbox.count("message").await, 0);
}

async fn a_failed_record_is_due_again_after_its_delay(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let records = outbox.fill(0, 2).await;
    let kind = |seconds| failed("no route", Duration::from_secs(seconds));

    let outcomes =
        [outcome(&leases[0], records[0], kind(0)), outcome(&leases[0], records[1], kind(3600))];
    let settled = outbox.settle(&outcomes).await;

    assert_eq!(sorted(settled.applied), records);
    let due = outbox.read_one(0).await;
    assert_eq!((due.reference, due.attempts, due.revision), (records[0], 1, 1));
    assert_eq!(due.last_error.as_deref(), Some("no route"));
    assert!(due.first_failed_at.is_some() && due.failing_for < Duration::from_mins(1));
    let now = outbox.instant(Some(3590 * SECOND));
    let waiting = format!("SELECT count(*) FROM outbox_message WHERE available_at > {now}");
    assert_eq!(outbox.value::<i64>(&waiting).await, 1);
}

async fn a_second_failure_keeps_the_instant_of_the_first(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let first = outbox.instant(Some(-HOUR));
    let before = sample(0)
        .with("available_at", &first)
        .with("first_failed_at", &first)
        .with("attempts", "1")
        .with("revision", "1");
    let record = outbox.insert(before).await;

    let kind = failed("again", Duration::ZERO);
    outbox.settle(&[Outcome { revision: 1, ..outcome(&leases[0], record, kind) }]).await;

    let read = outbox.read_one(0).await;
    assert_eq!((read.attempts, read.revision), (2, 2));
    assert!(read.failing_for >= Duration::from_hours(1));
}

async fn a_repeated_failure_counts_once(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let record = outbox.insert(sample(0)).await;
    let outcomes = [outcome(&leases[0], record, failed("no route", Duration::ZERO))];

    let first = outbox.settle(&outcomes).await;
    let again = outbox.settle(&outcomes).await;
    let twice_in_one_call = outbox.settle(&[outcomes.clone(), outcomes].concat()).await;

    assert_eq!(first.applied, [record]);
    assert!(again.applied.is_empty() && twice_in_one_call.applied.is_empty());
    assert_eq!(outbox.read_one(0).await.attempts, 1);
}

async fn a_late_success_of_an_earlier_attempt_changes_nothing(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let record = outbox.insert(sample(0)).await;
    outbox.settle(&[outcome(&leases[0], record, failed("lost", Duration::ZERO))]).await;

    let late = outbox.settle(&published(&leases[0], &[record])).await;

    assert_eq!(late.applied, []);
    assert_eq!(outbox.read_one(0).await.revision, 1);
}

async fn a_record_of_another_id_at_the_same_place_is_left_alone(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let record = outbox.insert(sample(0)).await;

    let other = RecordRef { id: EventId::new(), ..record };
    let settled = outbox.settle(&published(&leases[0], &[other])).await;

    assert!(settled.applied.is_empty() && settled.lost.is_empty());
    assert_eq!(outbox.count("message").await, 1);
}

async fn a_lease_that_was_superseded_settles_nothing_and_is_named_lost(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(2).await;
    let (kept, lost) = (outbox.fill(0, 2).await, outbox.fill(1, 2).await);
    outbox.expire(1).await;
    let new = outbox.other_worker().lease(1).await;

    let old = [published(&leases[0], &kept), published(&leases[1], &lost)].concat();
    let settled = outbox.settle(&old).await;
    let new = outbox.settle(&published(&new[0], &lost)).await;

    assert_eq!(sorted(settled.applied), kept);
    assert_eq!(settled.lost, [LostLane { lane: leases[1].lane, token: leases[1].token }]);
    assert_eq!(sorted(new.applied), lost);
}

async fn a_lease_that_expired_settles_nothing_and_is_named_lost(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let records = outbox.fill(0, 2).await;
    outbox.set_lane(0, "expires_at", Some(0)).await;

    let kinds = [OutcomeKind::Published, failed("no route", Duration::ZERO)];
    let outcomes: Vec<Outcome> = records
        .iter()
        .zip(kinds)
        .map(|(record, kind)| outcome(&leases[0], *record, kind))
        .collect();
    let settled = outbox.settle(&outcomes).await;

    assert_eq!(settled.applied, []);
    assert_eq!(settled.lost, [LostLane { lane: leases[0].lane, token: leases[0].token }]);
    assert_eq!(positions(&outbox.read(&[0]).await), [1, 2]);
}

async fn a_dead_record_leaves_with_its_reason_and_its_message(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let first = outbox.instant(Some(-HOUR));
    let failed = sample(0)
        .key("order-7")
        .with("headers", "'[[\"a\",\"b\"]]'")
        .with("available_at", &first)
        .with("first_failed_at", &first)
        .with("attempts", "2");
    let record = outbox.insert(failed).await;
    let columns = if outbox.is_postgres() { "id, payload" } else { "hex(id), hex(payload)" };
    let columns = &format!("{columns}, lane, position, headers, created_at, first_failed_at");
    let before = format!("{:?}", values(&outbox, columns, "message").await);

    let kind = dead(DeadReason::AttemptsExhausted, "no route");
    let settled = outbox.settle(&[outcome(&leases[0], record, kind)]).await;

    assert_eq!(settled.applied, [record]);
    assert_eq!(outbox.count("message").await, 0);
    assert_eq!(format!("{:?}", values(&outbox, columns, "dead_letter").await), before);
    let about = "SELECT reason || ', ' || last_error FROM outbox_dead_letter";
    assert_eq!(outbox.value::<String>(about).await, "attempts_exhausted, no route");
    // The attempt that killed it is one of the failures.
    assert_eq!(outbox.value::<i32>("SELECT attempts FROM outbox_dead_letter").await, 3);
    assert_eq!(outbox.count("parked_key").await, 0);
}

/// The columns of the one row of a table, as text.
async fn values(outbox: &Outbox, columns: &str, table: &str) -> Vec<String> {
    let text = if outbox.is_mariadb() { "char" } else { "text" };
    let as_text: Vec<String> =
        columns.split(", ").map(|column| format!("CAST({column} AS {text})")).collect();
    let rows = outbox.rows(&format!("SELECT {} FROM outbox_{table}", as_text.join(", "))).await;
    (0..as_text.len()).map(|at| rows[0].try_get_by_index(at).unwrap()).collect()
}

async fn an_undecodable_record_dies_without_an_attempt(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    outbox.insert(sample(0).with("headers", "'broken'")).await;
    let batch = outbox.read(&[0]).await;
    let row = &batch.undecodable[0];

    let kind = dead(DeadReason::Undecodable, &row.error);
    outbox.settle(&[outcome(&leases[0], row.reference, kind)]).await;

    assert_eq!(outbox.count("message").await, 0);
    assert_eq!(outbox.value::<i32>("SELECT attempts FROM outbox_dead_letter").await, 0);
    let headers: String = outbox.value("SELECT headers FROM outbox_dead_letter").await;
    assert_eq!(headers, "broken");
}

async fn two_records_with_one_event_id_both_become_dead_letters(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let id = EventId::new();
    let records = [outbox.insert(sample(0).id(id)).await, outbox.insert(sample(0).id(id)).await];

    let outcomes =
        records.map(|record| outcome(&leases[0], record, dead(DeadReason::Rejected, "too large")));
    let settled = outbox.settle(&outcomes).await;

    assert_eq!(sorted(settled.applied), records);
    assert_eq!(outbox.positions("dead_letter").await, [1, 2]);
}

async fn a_dead_letter_needs_an_error_text(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let records = outbox.fill(0, 2).await;

    let outcomes = [
        outcome(&leases[0], records[0], OutcomeKind::Published),
        outcome(&leases[0], records[1], dead(DeadReason::Rejected, " ")),
    ];
    let error = outbox.store.settle(&outcomes).await.unwrap_err();

    assert_eq!(error.kind(), StoreErrorKind::InvalidArgument);
    assert_eq!(outbox.count("message").await, 2);
}

async fn a_summary_that_a_database_would_refuse_is_cleaned(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let record = outbox.insert(sample(0)).await;

    let kind = dead(DeadReason::Rejected, "a\0b\u{7}c");
    outbox.settle(&[outcome(&leases[0], record, kind)]).await;

    let error: String = outbox.value("SELECT last_error FROM outbox_dead_letter").await;
    assert_eq!(error, "a b c");
}

async fn a_delay_beyond_all_calendars_is_taken_as_for_ever(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let record = outbox.insert(sample(0)).await;

    let kind = failed("no route", Duration::MAX);
    let settled = outbox.settle(&[outcome(&leases[0], record, kind)]).await;

    assert_eq!(settled.applied, [record]);
    assert!(outbox.read(&[0]).await.is_empty());
    assert_eq!(outbox.count("message").await, 1);
}

async fn all_kinds_of_outcomes_of_many_lanes_settle_in_one_call(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(64).await;
    let mut outcomes = Vec::new();
    for lease in leases.iter().rev() {
        let records = outbox.fill(lease.lane.number(), 3).await;
        let kinds = [
            OutcomeKind::Published,
            failed("no route", Duration::ZERO),
            dead(DeadReason::Rejected, "too large"),
        ];
        outcomes.extend(records.iter().zip(kinds).map(|(at, kind)| outcome(lease, *at, kind)));
    }

    let settled = outbox.settle(&outcomes).await;

    let asked = sorted(outcomes.iter().map(|outcome| outcome.record).collect());
    assert_eq!(sorted(settled.applied), asked);
    assert_eq!(outbox.count("message").await, 64);
    assert_eq!(outbox.count("dead_letter").await, 64);
}

async fn hundreds_of_outcomes_settle_in_one_call(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(3).await;
    let mut outcomes = Vec::new();
    for (lease, count) in leases.iter().zip([400, 20, 200]) {
        outcomes.extend(published(lease, &outbox.fill(lease.lane.number(), count).await));
    }

    let settled = outbox.settle(&outcomes).await;

    assert_eq!(settled.applied.len(), 620);
    assert_eq!(outbox.count("message").await, 0);
}
