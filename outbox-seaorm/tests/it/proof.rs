//! A connection type that is a transaction only sometimes.

use async_trait::async_trait;
use outbox_seaorm::{
    OutboxError, Refusal, Stage, WriteKind, prove_transaction_type, trust_transaction_type,
};
use sea_orm::{
    ActiveModelTrait, ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, DbErr,
    ExecResult, QueryResult, Set, Statement, TransactionSession, TransactionTrait,
};

use crate::database::{TestDatabase, count, on_postgres, on_sqlite};
use crate::on_all;
use crate::shop::{ReportRequested, known, new_order, order};
use crate::staged::types;

on_all!(proof: a_type_that_is_trusted_too_carries_no_proof);

#[tokio::test]
async fn in_a_transaction_hooks_stage() {
    on_postgres(async |shop: TestDatabase| {
        prove_transaction_type::<Request<false>>();
        let request = Request::<false>::Open(shop.db.begin().await.unwrap());

        // Two events in one insert.
        let placed = new_order(5_000).insert(&request).await.unwrap();
        let mut change = known(&placed);
        change.total = Set(80);
        change.update(&request).await.unwrap();
        known(&placed).delete(&request).await.unwrap();
        request.commit().await.unwrap();

        let staged =
            ["orders.order_placed", "reports.requested", "orders.repriced", "orders.cancelled"];
        assert_eq!(types(&shop.db).await, staged);
        assert_eq!(shop.sent("pg_current_xact_id_if_assigned").len(), 3);
    })
    .await;
}

#[tokio::test]
async fn in_a_savepoint_hooks_stage() {
    on_postgres(async |shop: TestDatabase| {
        prove_transaction_type::<Request<false>>();
        let txn = shop.db.begin().await.unwrap();
        let request = Request::<false>::Open(txn.begin().await.unwrap());

        new_order(7).insert(&request).await.unwrap();
        request.commit().await.unwrap();
        txn.commit().await.unwrap();

        assert_eq!(types(&shop.db).await, ["orders.order_placed"]);
    })
    .await;
}

#[tokio::test]
async fn outside_of_a_transaction_the_error_says_that_the_write_stands_alone() {
    on_postgres(async |shop: TestDatabase| {
        prove_transaction_type::<Request<false>>();
        let request = Request::<false>::Plain(shop.db.clone());

        let insert = new_order(5_000).insert(&request).await.unwrap_err();
        let stands = count(&shop.db, "orders WHERE total = 5000").await;
        let mut change = order::ActiveModel { id: Set(1), ..Default::default() };
        change.total = Set(80);
        let update = change.update(&request).await.unwrap_err();
        let repriced = count(&shop.db, "orders WHERE total = 80").await;
        let key = order::ActiveModel { id: Set(1), ..Default::default() };
        let delete = key.delete(&request).await.unwrap_err();

        for (error, expected) in [
            (&insert, WriteKind::Insert),
            (&update, WriteKind::Update),
            (&delete, WriteKind::Delete),
        ] {
            let Some(OutboxError::Committed { write, .. }) = OutboxError::of(error) else {
                panic!("{error}")
            };
            assert_eq!(*write, expected);
        }
        let text = OutboxError::of(&insert).unwrap().to_string();
        let name = std::any::type_name::<Request<false>>();
        let expected = format!(
            "insert of `orders` on {name} is committed without its events: the connection was not \
             in a transaction; stage the events with `stage_all` inside of one, or undo the \
             insert, and pass hooks a transaction"
        );
        assert_eq!(text, expected);
        assert_eq!((stands, repriced, count(&shop.db, "orders").await), (1, 1, 0));
        assert_eq!(types(&shop.db).await, [""; 0]);
    })
    .await;
}

/// It may be the first statement, of which a proof would say nothing.
#[tokio::test]
async fn the_explicit_forms_carry_no_proof() {
    on_postgres(async |shop: TestDatabase| {
        prove_transaction_type::<Request<false>>();
        let request = Request::<false>::Open(shop.db.begin().await.unwrap());

        request.stage(ReportRequested).await.unwrap();
        request.commit().await.unwrap();

        assert_eq!(types(&shop.db).await, ["reports.requested"]);
    })
    .await;
}

#[tokio::test]
async fn a_database_without_a_proof_refuses_the_type_before_any_write() {
    on_sqlite(async |shop: TestDatabase| {
        prove_transaction_type::<Request<false>>();
        let request = Request::<false>::Open(shop.db.begin().await.unwrap());

        let error = new_order(7).insert(&request).await.unwrap_err();
        request.commit().await.unwrap();

        let refused = OutboxError::of(&error).unwrap();
        let unprovable =
            matches!(refused, OutboxError::Refused { refusal: Refusal::Unprovable, .. });
        assert!(unprovable, "{refused}");
        assert!(refused.to_string().contains("this database does not prove"), "{refused}");
        assert_eq!(count(&shop.db, "orders").await, 0);
    })
    .await;
}

/// Hooks on a plain connection are refused early, whatever was registered.
#[tokio::test]
async fn a_plain_connection_cannot_be_registered() {
    on_postgres(async |shop: TestDatabase| {
        prove_transaction_type::<DatabaseConnection>();

        let error = new_order(7).insert(&shop.db).await.unwrap_err();

        let refused = OutboxError::of(&error).unwrap();
        let early = matches!(refused, OutboxError::Refused { refusal: Refusal::Autocommit, .. });
        assert!(early, "{refused}");
        assert_eq!(count(&shop.db, "orders").await, 0);
    })
    .await;
}

async fn a_type_that_is_trusted_too_carries_no_proof(shop: TestDatabase) {
    trust_transaction_type::<Request<true>>();
    prove_transaction_type::<Request<true>>();
    let request = Request::<true>::Open(shop.db.begin().await.unwrap());

    new_order(7).insert(&request).await.unwrap();
    request.commit().await.unwrap();

    assert_eq!(types(&shop.db).await, ["orders.order_placed"]);
    assert_eq!(shop.sent("pg_current_xact_id_if_assigned"), [""; 0]);
}

/// A framework's connection of one request; trusted too or not is part of the type.
#[derive(Debug)]
enum Request<const TRUSTED: bool> {
    Open(DatabaseTransaction),
    Plain(DatabaseConnection),
}

#[async_trait]
impl<const TRUSTED: bool> ConnectionTrait for Request<TRUSTED> {
    fn get_database_backend(&self) -> DbBackend {
        match self {
            Self::Open(txn) => txn.get_database_backend(),
            Self::Plain(db) => db.get_database_backend(),
        }
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        match self {
            Self::Open(txn) => txn.execute_raw(statement).await,
            Self::Plain(db) => db.execute_raw(statement).await,
        }
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        match self {
            Self::Open(txn) => txn.execute_unprepared(sql).await,
            Self::Plain(db) => db.execute_unprepared(sql).await,
        }
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        match self {
            Self::Open(txn) => txn.query_one_raw(statement).await,
            Self::Plain(db) => db.query_one_raw(statement).await,
        }
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        match self {
            Self::Open(txn) => txn.query_all_raw(statement).await,
            Self::Plain(db) => db.query_all_raw(statement).await,
        }
    }
}

#[async_trait]
impl<const TRUSTED: bool> TransactionSession for Request<TRUSTED> {
    async fn commit(self) -> Result<(), DbErr> {
        match self {
            Self::Open(txn) => txn.commit().await,
            Self::Plain(_) => Ok(()),
        }
    }

    async fn rollback(self) -> Result<(), DbErr> {
        match self {
            Self::Open(txn) => txn.rollback().await,
            Self::Plain(_) => Ok(()),
        }
    }
}
