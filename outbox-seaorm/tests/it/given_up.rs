//! Calls that are given up in the middle, as a timeout or a closed connection does.
//!
//! A case runs in rounds, each of which gives its call up at another of the points at which it
//! waits for the database.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use outbox_seaorm::Stage;
use sea_orm::{
    ActiveModelTrait, ConnectionTrait, DatabaseConnection, DbErr, QueryResult, Set,
    TransactionTrait,
};

use crate::database::{TestDatabase, count, rows};
use crate::on_both;
use crate::shop::{ReportRequested, known, line, new_order, order};
use crate::staged::{texts, types};

on_both!(given_up:
    a_begin_that_is_given_up_harms_no_other_transaction,
    a_commit_that_is_given_up_keeps_row_and_event_together,
    a_nested_save_that_is_given_up_goes_with_its_dropped_transaction,
    a_nested_save_without_a_transaction_that_is_given_up_keeps_row_and_event_together,
    a_save_that_is_given_up_goes_with_its_dropped_transaction,
    an_update_that_is_given_up_leaves_nothing_for_the_next,
);

/// Rounds until enough of them gave their call up.
#[derive(Default)]
struct Rounds {
    number: usize,
    given_up: usize,
    waits: usize,
}

impl Rounds {
    fn next(&mut self) -> Option<usize> {
        assert!(self.number < 20_000, "the database answers before anyone could wait");
        self.number += 1;
        (self.given_up < 16).then_some(self.number)
    }

    /// Gives the call up at its first wait, in the next round at its second, and so on until it is
    /// through; whether it was.
    async fn through<T>(&mut self, call: impl Future<Output = Result<T, DbErr>>) -> bool {
        let mut waits = self.waits;
        let mut call = pin!(call);
        let ended = poll_fn(|context| match call.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending if waits == 0 => Poll::Ready(None),
            Poll::Pending => {
                waits -= 1;
                Poll::Pending
            }
        });
        if ended.await.map(Result::unwrap).is_some() {
            self.waits = 0;
            return true;
        }
        self.given_up += 1;
        self.waits += 1;
        false
    }
}

/// An order under this number, whose event has the number as its key.
fn numbered(id: usize) -> order::ActiveModel {
    order::ActiveModel { id: Set(i32::try_from(id).unwrap()), ..new_order(1) }
}

/// The numbers of the orders that are there, which are those of the staged events.
async fn orders(db: &DatabaseConnection) -> Vec<usize> {
    let number = |row: &QueryResult| row.try_get_by_index::<i32>(0).unwrap().try_into().unwrap();
    let rows = rows(db, "SELECT id FROM orders ORDER BY id").await;
    let written: Vec<usize> = rows.iter().map(number).collect();
    let staged = texts(db, "ordering_key").await;
    let mut staged: Vec<usize> = staged.iter().map(|key| key.parse().unwrap()).collect();
    staged.sort_unstable();
    assert_eq!(staged, written);
    written
}

/// One transaction is rolled back, the next one commits, both on the connection that was left.
async fn a_begin_that_is_given_up_harms_no_other_transaction(shop: TestDatabase) {
    let db = shop.pool(1).await;
    let mut committed = Vec::new();
    let mut rounds = Rounds::default();
    while let Some(round) = rounds.next() {
        rounds.through(db.begin()).await;

        let txn = db.begin().await.unwrap();
        numbered(10_000 + round).insert(&txn).await.unwrap();
        txn.rollback().await.unwrap();
        let txn = db.begin().await.unwrap();
        numbered(round).insert(&txn).await.unwrap();
        assert_eq!(orders(&shop.db).await, committed);
        txn.commit().await.unwrap();

        committed.push(round);
        assert_eq!(orders(&shop.db).await, committed);
    }
}

async fn a_save_that_is_given_up_goes_with_its_dropped_transaction(shop: TestDatabase) {
    let db = shop.pool(1).await;
    let mut rounds = Rounds::default();
    while let Some(_round) = rounds.next() {
        let txn = db.begin().await.unwrap();
        numbered(1).insert(&txn).await.unwrap();

        rounds.through(numbered(2).insert(&txn)).await;
        drop(txn);

        assert_eq!(orders(&db).await, [0; 0]);
    }
}

fn with_line(id: usize) -> order::ActiveModelEx {
    order::ActiveModel::builder()
        .set_id(i32::try_from(id).unwrap())
        .set_total(1)
        .add_line(line::ActiveModel::builder().set_sku("A1"))
}

/// A savepoint whose begin is given up ends the whole transaction at the driver, which says so to
/// nobody: what is dropped with it is gone.
async fn a_nested_save_that_is_given_up_goes_with_its_dropped_transaction(shop: TestDatabase) {
    let db = shop.pool(1).await;
    let mut rounds = Rounds::default();
    while let Some(_round) = rounds.next() {
        let txn = db.begin().await.unwrap();
        numbered(1).insert(&txn).await.unwrap();
        txn.stage(ReportRequested).await.unwrap();

        rounds.through(with_line(2).insert(&txn)).await;
        drop(txn);

        assert_eq!(types(&db).await, [""; 0]);
        assert_eq!(count(&db, "orders").await + count(&db, "order_lines").await, 0);
    }
}

/// It has a transaction of its own, whose commit may be what is given up.
async fn a_nested_save_without_a_transaction_that_is_given_up_keeps_row_and_event_together(
    shop: TestDatabase,
) {
    let db = shop.pool(1).await;
    let mut rounds = Rounds::default();
    while let Some(round) = rounds.next() {
        rounds.through(with_line(round).insert(&db)).await;

        let written = count(&db, "orders").await;
        assert_eq!(count(&db, "order_lines").await, written);
        let expected = ["orders.order_placed", "orders.line_added"];
        assert_eq!(types(&db).await, expected.repeat(usize::try_from(written).unwrap()));
    }
}

async fn a_commit_that_is_given_up_keeps_row_and_event_together(shop: TestDatabase) {
    let db = shop.pool(1).await;
    let mut rounds = Rounds::default();
    while let Some(round) = rounds.next() {
        let txn = db.begin().await.unwrap();
        numbered(round).insert(&txn).await.unwrap();

        let through = rounds.through(txn.commit()).await;

        let written = orders(&db).await;
        assert!(!through || written.last() == Some(&round));
    }
}

/// The next transaction stands at the same place in memory.
async fn an_update_that_is_given_up_leaves_nothing_for_the_next(shop: TestDatabase) {
    let db = shop.pool(1).await;
    let txn = db.begin().await.unwrap();
    let placed = new_order(1).insert(&txn).await.unwrap();
    txn.commit().await.unwrap();
    let mut rounds = Rounds::default();
    while let Some(_round) = rounds.next() {
        let mut repriced = known(&placed);
        repriced.total = Set(2);
        let mut noted = known(&placed);
        noted.note = Set(Some("ring twice".into()));
        db.execute_unprepared("DELETE FROM outbox_message").await.unwrap();

        for change in [repriced, noted] {
            let txn = db.begin().await.unwrap();
            if change.note.is_set() {
                change.update(&txn).await.unwrap();
                txn.commit().await.unwrap();
            } else {
                rounds.through(change.update(&txn)).await;
            }
        }

        assert_eq!(types(&db).await, ["orders.renoted"]);
    }
}
