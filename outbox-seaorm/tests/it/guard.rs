//! Hooks take nothing but a transaction.

use std::marker::PhantomData;

use async_trait::async_trait;
use outbox_seaorm::{InTransaction, OutboxError, Refusal, WriteKind, trust_transaction_type};
use sea_orm::{
    ActiveModelTrait, ConnectionTrait, DatabaseConnection, DatabaseExecutor, DatabaseTransaction,
    DbBackend, DbErr, ExecResult, IntoDatabaseExecutor, QueryResult, RestrictedConnection,
    RestrictedTransaction, Set, Statement, TransactionSession, TransactionTrait,
};

use crate::database::{TestDatabase, count};
use crate::on_all;
use crate::shop::{known, new_order, order};
use crate::staged::types;

on_all!(guard:
    a_foreign_connection_is_refused,
    a_foreign_connection_that_is_trusted_stages,
    a_plain_connection_is_refused_before_any_write,
    an_executor_is_refused_in_its_own_words,
    no_write_goes_through_without_settings,
);

async fn placed(shop: &TestDatabase) -> order::Model {
    let txn = shop.db.begin().await.unwrap();
    let placed = new_order(100).insert(&txn).await.unwrap();
    txn.commit().await.unwrap();
    placed
}

async fn a_plain_connection_is_refused_before_any_write(shop: TestDatabase) {
    let placed = placed(&shop).await;
    let mut change = known(&placed);
    change.total = Set(80);

    let insert = new_order(7).insert(&shop.db).await.unwrap_err();
    let update = change.update(&shop.db).await.unwrap_err();
    let delete = known(&placed).delete(&shop.db).await.unwrap_err();

    for (error, expected) in
        [(&insert, WriteKind::Insert), (&update, WriteKind::Update), (&delete, WriteKind::Delete)]
    {
        let refused = OutboxError::of(error);
        let Some(OutboxError::Refused { write, refusal: Refusal::Autocommit, .. }) = refused else {
            panic!("{error}")
        };
        assert_eq!(*write, expected);
    }
    let text = OutboxError::of(&insert).unwrap().to_string();
    assert_eq!(
        text,
        "insert of `orders` on sea_orm::database::db_connection::DatabaseConnection refused: it \
         stages events, and outside of a transaction the row and its events cannot commit \
         together; begin one, `let txn = db.begin().await?`, and pass `&txn`; nothing was written"
    );
    assert_eq!(count(&shop.db, "orders WHERE total = 100").await, 1);
    assert_eq!(count(&shop.db, "orders").await, 1);
    assert_eq!(types(&shop.db).await, ["orders.order_placed"]);
}

async fn an_executor_is_refused_in_its_own_words(shop: TestDatabase) {
    let placed = placed(&shop).await;
    let mut change = known(&placed);
    change.total = Set(80);
    let txn = shop.db.begin().await.unwrap();
    let plain: DatabaseExecutor<'_> = (&shop.db).into_database_executor();
    let in_transaction: DatabaseExecutor<'_> = (&txn).into_database_executor();

    for executor in [&plain, &in_transaction] {
        for (error, write) in [
            (new_order(7).insert(executor).await.unwrap_err(), "insert"),
            (change.clone().update(executor).await.unwrap_err(), "update"),
            (known(&placed).delete(executor).await.unwrap_err(), "delete"),
        ] {
            let text = OutboxError::of(&error).unwrap().to_string();
            assert!(text.starts_with(&format!("{write} of `orders` on ")), "{text}");
            assert!(text.contains("does not say whether it holds a transaction"), "{text}");
            assert!(text.contains("pass the `&DatabaseTransaction` itself"), "{text}");
            assert!(text.ends_with("nothing was written"), "{text}");
        }
    }
    drop(in_transaction);
    txn.commit().await.unwrap();
    assert_eq!(count(&shop.db, "orders WHERE total = 100").await, 1);
    assert_eq!(count(&shop.db, "orders").await, 1);
}

async fn a_foreign_connection_is_refused(shop: TestDatabase) {
    let foreign = Foreign::<false>(shop.db.begin().await.unwrap());

    let error = new_order(7).insert(&foreign).await.unwrap_err();
    foreign.commit().await.unwrap();

    let text = OutboxError::of(&error).unwrap().to_string();
    assert!(text.contains("trust_transaction_type::<T>()"), "{text}");
    assert_eq!(count(&shop.db, "orders").await, 0);
}

async fn a_foreign_connection_that_is_trusted_stages(shop: TestDatabase) {
    trust_transaction_type::<Foreign<true>>();
    let foreign = Foreign::<true>(shop.db.begin().await.unwrap());

    new_order(7).insert(&foreign).await.unwrap();
    foreign.commit().await.unwrap();

    assert_eq!(types(&shop.db).await, ["orders.order_placed"]);
}

/// A spawned future has left the scope, and nothing is installed in this process.
async fn no_write_goes_through_without_settings(shop: TestDatabase) {
    let db = shop.db.clone();
    let (saved, txn) = tokio::spawn(async move {
        let txn = db.begin().await.unwrap();
        (new_order(7).insert(&txn).await, txn)
    })
    .await
    .unwrap();
    txn.commit().await.unwrap();

    let error = saved.unwrap_err();
    let text = OutboxError::of(&error).unwrap().to_string();
    assert!(text.contains("`OutboxSettings::new(source).install()`"), "{text}");
    assert_eq!(count(&shop.db, "orders").await, 0);
}

/// The explicit forms ask for `InTransaction`, so what is not one does not compile.
#[test]
fn only_an_open_transaction_can_stage_by_hand() {
    /// `IS` is the inherent constant where the bound holds, and that of the trait elsewhere.
    struct Stages<T>(PhantomData<T>);
    impl<T: InTransaction> Stages<T> {
        const IS: bool = true;
    }
    trait Otherwise {
        const IS: bool = false;
    }
    impl<T> Otherwise for Stages<T> {}

    let allowed = [
        Stages::<DatabaseTransaction>::IS,
        Stages::<RestrictedTransaction>::IS,
        Stages::<Foreign<false>>::IS,
    ];
    let refused = [
        Stages::<DatabaseConnection>::IS,
        Stages::<DatabaseExecutor<'_>>::IS,
        Stages::<RestrictedConnection>::IS,
    ];

    assert_eq!((allowed, refused), ([true; 3], [false; 3]));
}

/// A transaction in a framework's clothes; trusted or not is part of the type.
#[derive(Debug)]
struct Foreign<const TRUSTED: bool>(DatabaseTransaction);

#[async_trait]
impl<const TRUSTED: bool> ConnectionTrait for Foreign<TRUSTED> {
    fn get_database_backend(&self) -> DbBackend {
        self.0.get_database_backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        self.0.execute_raw(statement).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.0.execute_unprepared(sql).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.0.query_one_raw(statement).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.0.query_all_raw(statement).await
    }
}

#[async_trait]
impl<const TRUSTED: bool> TransactionSession for Foreign<TRUSTED> {
    async fn commit(self) -> Result<(), DbErr> {
        self.0.commit().await
    }

    async fn rollback(self) -> Result<(), DbErr> {
        self.0.rollback().await
    }
}
