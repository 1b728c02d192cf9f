//! The row as it was before.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use outbox_seaorm::{OutboxError, trust_transaction_type};
use sea_orm::{
    ActiveModelTrait, ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, ExecResult,
    QueryResult, Schema, Set, Statement, TransactionSession, TransactionTrait,
};

use crate::database::{TestDatabase, count};
use crate::on_all;
use crate::shop::{known, new_order};
use crate::staged::{payloads, types};

on_all!(before:
    a_delete_whose_past_is_lost_fails,
    a_deleted_row_is_its_own_past,
    a_failed_update_leaves_no_past_for_the_next,
    a_new_row_has_no_past,
    an_aggregate_that_does_not_ask_reads_nothing,
    an_update_that_assigns_nothing_reads_nothing,
    an_update_tells_the_row_that_it_found,
    an_update_whose_past_is_lost_fails,
);

/// An aggregate that tells from what to what.
mod account {
    use outbox_seaorm::{Change, Events, OutboxAggregate, OutboxError, OutboxEvent, outbox_hooks};
    use sea_orm::entity::prelude::*;

    #[derive(serde::Serialize, OutboxEvent)]
    #[outbox(type = "accounts.moved", topic = "accounts", key = id)]
    struct Moved {
        id: i32,
        from: Option<i64>,
        to: i64,
    }

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "accounts")]
    pub(crate) struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub balance: i64,
        #[sea_orm(unique)]
        pub owner: String,
    }

    #[outbox_hooks(before)]
    impl ActiveModelBehavior for ActiveModel {}

    impl OutboxAggregate for ActiveModel {
        fn outbox_events(change: Change<'_, Self>, out: &mut Events) -> Result<(), OutboxError> {
            let (before, now) = (change.before().map(|before| before.balance), change.model());
            if before == Some(now.balance) && matches!(change, Change::Updated { .. }) {
                return Ok(());
            }
            out.push(Moved { id: now.id, from: before, to: now.balance })
        }
    }
}

async fn opened(shop: &TestDatabase) -> (DatabaseTransaction, account::Model) {
    let schema = Schema::new(shop.db.get_database_backend());
    shop.db.execute(&schema.create_table_from_entity(account::Entity)).await.unwrap();
    let txn = shop.db.begin().await.unwrap();
    let account =
        account::ActiveModel { balance: Set(100), owner: Set("Ada".into()), ..Default::default() };
    let account = account.insert(&txn).await.unwrap();
    (txn, account)
}

fn balance(id: i32, balance: i64) -> account::ActiveModel {
    account::ActiveModel { id: Set(id), balance: Set(balance), ..Default::default() }
}

async fn a_new_row_has_no_past(shop: TestDatabase) {
    let (txn, account) = opened(&shop).await;
    txn.commit().await.unwrap();

    let expected = format!(r#"{{"id":{},"from":null,"to":100}}"#, account.id);
    assert_eq!(payloads(&shop.db).await, [expected]);
    assert_eq!(shop.sent("FOR UPDATE"), [""; 0]);
}

async fn an_update_tells_the_row_that_it_found(shop: TestDatabase) {
    let (txn, account) = opened(&shop).await;

    balance(account.id, 80).update(&txn).await.unwrap();
    // Assigned, and the same: only the old row tells.
    balance(account.id, 80).update(&txn).await.unwrap();
    txn.commit().await.unwrap();

    let expected = format!(r#"{{"id":{},"from":100,"to":80}}"#, account.id);
    assert_eq!(payloads(&shop.db).await[1..], [expected]);
    // Locked, so that what is told is what the update found.
    assert_eq!(shop.sent("FOR UPDATE").len(), if shop.url.starts_with("sqlite") { 0 } else { 2 });
}

async fn a_deleted_row_is_its_own_past(shop: TestDatabase) {
    let (txn, account) = opened(&shop).await;

    account::ActiveModel::from(account.clone()).delete(&txn).await.unwrap();
    txn.commit().await.unwrap();

    let expected = format!(r#"{{"id":{},"from":100,"to":100}}"#, account.id);
    assert_eq!(payloads(&shop.db).await[1..], [expected]);
}

async fn an_update_that_assigns_nothing_reads_nothing(shop: TestDatabase) {
    let (txn, account) = opened(&shop).await;
    shop.sent("");

    account::ActiveModel::from(account).update(&txn).await.unwrap();
    txn.commit().await.unwrap();

    // SeaORM's own reading of the row, which is the answer.
    assert_eq!(shop.sent("accounts").len(), 1);
    assert_eq!(types(&shop.db).await, ["accounts.moved"]);
}

async fn an_aggregate_that_does_not_ask_reads_nothing(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let order = new_order(100).insert(&txn).await.unwrap();
    shop.sent("");

    let mut change = known(&order);
    change.total = Set(80);
    change.update(&txn).await.unwrap();
    txn.commit().await.unwrap();

    // SeaORM may read the row after the update.
    let sent = shop.sent("orders");
    assert!(sent[0].starts_with("UPDATE"), "{sent:?}");
}

async fn a_failed_update_leaves_no_past_for_the_next(shop: TestDatabase) {
    let (txn, account) = opened(&shop).await;
    txn.execute_unprepared("SAVEPOINT before_update").await.unwrap();
    txn.execute_unprepared("INSERT INTO accounts (balance, owner) VALUES (1, 'Bob')")
        .await
        .unwrap();

    let mut taken = balance(account.id, 80);
    taken.owner = Set("Bob".into());
    taken.update(&txn).await.unwrap_err();
    txn.execute_unprepared("ROLLBACK TO SAVEPOINT before_update").await.unwrap();
    txn.execute_unprepared("UPDATE accounts SET balance = 90").await.unwrap();
    balance(account.id, 70).update(&txn).await.unwrap();
    txn.commit().await.unwrap();

    let expected = format!(r#"{{"id":{},"from":90,"to":70}}"#, account.id);
    assert_eq!(payloads(&shop.db).await[1..], [expected]);
}

/// Two updates of one row at once on one transaction: one of them takes the other's note.
async fn an_update_whose_past_is_lost_fails(shop: TestDatabase) {
    trust_transaction_type::<Twice>();
    let (txn, account) = opened(&shop).await;
    let twice = Twice { txn, id: account.id, interrupted: AtomicBool::new(false) };

    let error = balance(account.id, 80).update(&twice).await.unwrap_err();
    twice.rollback().await.unwrap();

    assert!(matches!(OutboxError::of(&error), Some(OutboxError::BeforeUnknown)), "{error}");
    assert!(error.to_string().contains("stands in this transaction without its events"));
    assert_eq!(count(&shop.db, "accounts").await, 0);
}

/// Two deletes of one row at once on one transaction: there may have been an event.
async fn a_delete_whose_past_is_lost_fails(shop: TestDatabase) {
    trust_transaction_type::<Twice>();
    let (txn, account) = opened(&shop).await;
    let twice = Twice { txn, id: account.id, interrupted: AtomicBool::new(false) };

    let error = account::ActiveModel::from(account).delete(&twice).await.unwrap_err();
    twice.rollback().await.unwrap();

    assert!(matches!(OutboxError::of(&error), Some(OutboxError::BeforeUnknown)), "{error}");
    assert_eq!(count(&shop.db, "accounts").await, 0);
}

/// Sends the same write of the row once more while an update to 80 or a delete is under way.
#[derive(Debug)]
struct Twice {
    txn: DatabaseTransaction,
    id: i32,
    interrupted: AtomicBool,
}

impl Twice {
    async fn interrupt(&self, statement: &Statement) {
        let eighty = |values: &sea_orm::sea_query::Values| values.0.contains(&80_i64.into());
        let updates = statement.sql.starts_with("UPDATE");
        if updates && statement.values.as_ref().is_some_and(eighty) {
            balance(self.id, 70).update(self).await.unwrap();
        }
        // On SQLite an empty delete comes before, which names no column.
        let deletes = statement.sql.starts_with("DELETE") && statement.sql.contains("id");
        if deletes && !self.interrupted.swap(true, Ordering::Relaxed) {
            balance(self.id, 0).delete(self).await.unwrap();
        }
    }
}

#[async_trait]
impl ConnectionTrait for Twice {
    fn get_database_backend(&self) -> DbBackend {
        self.txn.get_database_backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        self.interrupt(&statement).await;
        self.txn.execute_raw(statement).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.txn.execute_unprepared(sql).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.interrupt(&statement).await;
        self.txn.query_one_raw(statement).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.txn.query_all_raw(statement).await
    }
}

#[async_trait]
impl TransactionSession for Twice {
    async fn commit(self) -> Result<(), DbErr> {
        self.txn.commit().await
    }

    async fn rollback(self) -> Result<(), DbErr> {
        self.txn.rollback().await
    }
}
