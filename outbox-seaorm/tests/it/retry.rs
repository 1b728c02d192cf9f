//! Transactions that are run again after the database refused to go on with them.

use outbox_seaorm::{Envelope, EventExt, EventId, OutboxSettings, Stage, scope};
use sea_orm::sqlx::error::DatabaseError;
use sea_orm::{
    ActiveModelTrait, ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr,
    IsolationLevel, RuntimeErr, SqliteTransactionMode, TransactionError, TransactionOptions,
    TransactionTrait,
};
use tokio::task::JoinSet;

use crate::database::{SOURCE, TestDatabase, count, on_mariadb, on_postgres, on_sqlite, rows};
use crate::shop::{OrderPlaced, ReportRequested, new_order, new_stock, order};
use crate::staged::types;

/// What a loop that repeats transactions asks, of an error of any call in one.
fn is_worth_repeating(error: &DbErr) -> bool {
    let (DbErr::Exec(RuntimeErr::SqlxError(error)) | DbErr::Query(RuntimeErr::SqlxError(error))) =
        error
    else {
        return false;
    };
    let code = error.as_database_error().and_then(DatabaseError::code);
    // Serialization failure and deadlock; SQLITE_BUSY and SQLITE_BUSY_SNAPSHOT.
    matches!(code.as_deref(), Some("40001" | "40P01" | "5" | "517"))
}

/// Places the same order until the database takes it; how often it was tried.
///
/// The order and the events are built once. `meanwhile` runs in the first attempt, after its read.
async fn place_until_taken(
    db: &DatabaseConnection,
    options: TransactionOptions,
    mut meanwhile: Option<impl AsyncFnOnce()>,
) -> usize {
    let order = new_order(1);
    let beside = vec![ReportRequested.with_id(EventId::new())];
    for attempt in 1.. {
        let txn = db.begin_with_options(options).await.unwrap();
        let _seen = rows(&txn, "SELECT total FROM orders").await;
        if let Some(meanwhile) = meanwhile.take() {
            meanwhile().await;
        }
        match place(txn, order.clone(), beside.clone()).await {
            Ok(()) => return attempt,
            Err(error) => assert!(is_worth_repeating(&error), "{error:?}"),
        }
    }
    unreachable!("the attempts are not counted to the end");
}

/// On an error the transaction is dropped.
async fn place(
    txn: DatabaseTransaction,
    order: order::ActiveModel,
    beside: Vec<Envelope<ReportRequested>>,
) -> Result<(), DbErr> {
    order.insert(&txn).await?;
    txn.stage_all(beside).await?;
    txn.commit().await
}

/// The rival's order and the repeated one, each with its events.
async fn assert_both_once(shop: &TestDatabase) {
    let mut staged = types(&shop.db).await;
    staged.sort_unstable();
    assert_eq!(staged, ["orders.order_placed", "orders.order_placed", "reports.requested"]);
    assert_eq!(count(&shop.db, "orders").await, 2);
    assert_eq!(count(&shop.db, "orders WHERE total = 1").await, 1);
}

/// Beside a rival that is through, where something else refuses the first attempt.
async fn assert_placed_at_the_second_attempt(shop: &TestDatabase) {
    let plain = TransactionOptions::default();
    let nobody = None::<fn() -> std::future::Ready<()>>;

    let attempts = place_until_taken(&shop.db, plain, nobody).await;

    assert_eq!(attempts, 2);
    assert_both_once(shop).await;
}

fn serializable() -> TransactionOptions {
    TransactionOptions {
        isolation_level: Some(IsolationLevel::Serializable),
        ..TransactionOptions::default()
    }
}

async fn rival(db: &DatabaseConnection, options: TransactionOptions) -> DatabaseTransaction {
    let txn = db.begin_with_options(options).await.unwrap();
    let _seen = rows(&txn, "SELECT total FROM orders").await;
    new_order(50).insert(&txn).await.unwrap();
    txn
}

#[tokio::test]
async fn after_a_serialization_failure_the_events_are_there_once() {
    on_postgres(|shop| async move {
        let meanwhile = async || {
            rival(&shop.db, serializable()).await.commit().await.unwrap();
        };

        let attempts = place_until_taken(&shop.db, serializable(), Some(meanwhile)).await;

        assert_eq!(attempts, 2);
        assert_both_once(&shop).await;
    })
    .await;
}

/// The statements go through, and the commit does not.
#[tokio::test]
async fn after_a_serialization_failure_at_the_commit_the_events_are_there_once() {
    on_postgres(|shop| async move {
        let late = "CREATE SEQUENCE attempt;
            CREATE FUNCTION refuse_first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF nextval('attempt') = 1 THEN RAISE 'late' USING ERRCODE = '40001'; END IF;
                RETURN NULL;
            END $$;
            CREATE CONSTRAINT TRIGGER late AFTER INSERT ON outbox_message
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.topic = 'reports')
            EXECUTE FUNCTION refuse_first()";
        let meanwhile = async || {
            rival(&shop.db, serializable()).await.commit().await.unwrap();
            shop.db.execute_unprepared(late).await.unwrap();
        };

        let plain = TransactionOptions::default();
        let attempts = place_until_taken(&shop.db, plain, Some(meanwhile)).await;

        assert_eq!(attempts, 2);
        assert_both_once(&shop).await;
    })
    .await;
}

/// The hook's own statement is what is refused; its error is still the database's.
#[tokio::test]
async fn after_a_serialization_failure_in_the_hook_the_events_are_there_once() {
    on_postgres(|shop| async move {
        rival(&shop.db, serializable()).await.commit().await.unwrap();
        let refuse = "CREATE SEQUENCE attempt;
            CREATE FUNCTION refuse_first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF nextval('attempt') = 1 THEN RAISE 'busy' USING ERRCODE = '40001'; END IF;
                RETURN new;
            END $$;
            CREATE TRIGGER busy BEFORE INSERT ON outbox_message
            FOR EACH ROW EXECUTE FUNCTION refuse_first()";
        shop.db.execute_unprepared(refuse).await.unwrap();

        assert_placed_at_the_second_attempt(&shop).await;
    })
    .await;
}

/// The lighter of two transactions that wait for each other is undone: the rival has written more.
#[tokio::test]
async fn after_a_deadlock_the_events_are_there_once() {
    on_mariadb(|shop| async move {
        let rival = rival_with_ballast(&shop.db).await;
        let mut rivals = JoinSet::new();
        let meanwhile = async || {
            rivals.spawn(scope(OutboxSettings::new(SOURCE), async move {
                new_order(50).insert(&rival).await.unwrap();
                rival.commit().await.unwrap();
            }));
        };

        let attempts = place_until_taken(&shop.db, serializable(), Some(meanwhile)).await;
        rivals.join_all().await;

        assert_eq!(attempts, 2);
        assert_both_once(&shop).await;
    })
    .await;
}

/// It has read all orders, so that nobody else can insert one, and weighs more than an order.
async fn rival_with_ballast(db: &DatabaseConnection) -> DatabaseTransaction {
    let rival = db.begin_with_options(serializable()).await.unwrap();
    let _seen = rows(&rival, "SELECT total FROM orders").await;
    for number in 0..20 {
        new_stock(&format!("ballast-{number}"), 1).insert(&rival).await.unwrap();
    }
    rival
}

/// A trigger refuses the row of the event as the database does with the victim of a deadlock.
#[tokio::test]
async fn after_a_deadlock_in_the_hook_the_events_are_there_once() {
    on_mariadb(|shop| async move {
        rival(&shop.db, TransactionOptions::default()).await.commit().await.unwrap();
        for statement in [
            "CREATE SEQUENCE attempt",
            "CREATE TRIGGER busy BEFORE INSERT ON outbox_message FOR EACH ROW
                IF NEXT VALUE FOR attempt = 1 THEN
                    SIGNAL SQLSTATE '40001' SET MESSAGE_TEXT = 'busy', MYSQL_ERRNO = 1213;
                END IF",
        ] {
            shop.db.execute_unprepared(statement).await.unwrap();
        }

        assert_placed_at_the_second_attempt(&shop).await;
    })
    .await;
}

/// A file with one connection that waits for no other writer.
async fn impatient(shop: &TestDatabase) -> DatabaseConnection {
    let db = shop.pool(1).await;
    db.execute_unprepared("PRAGMA busy_timeout = 0").await.unwrap();
    db
}

#[tokio::test]
async fn after_a_busy_file_the_events_are_there_once() {
    on_sqlite(|shop| async move {
        let db = impatient(&shop).await;
        let writer = TransactionOptions {
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..TransactionOptions::default()
        };
        let rival = rival(&shop.db, writer).await;
        let order = new_order(1);

        let txn = db.begin().await.unwrap();
        let staged = txn.stage(OrderPlaced { order_id: 1, total: 1 }).await.unwrap_err();
        let saved = order.clone().insert(&txn).await.unwrap_err();
        txn.rollback().await.unwrap();
        rival.commit().await.unwrap();
        let beside = vec![ReportRequested.with_id(EventId::new())];
        place(db.begin().await.unwrap(), order, beside).await.unwrap();

        assert!(is_worth_repeating(&staged), "{staged:?}");
        assert!(is_worth_repeating(&saved), "{saved:?}");
        assert_both_once(&shop).await;
    })
    .await;
}

/// A transaction that read before another one committed can never write, however long it waits.
#[tokio::test]
async fn after_an_outdated_snapshot_the_events_are_there_once() {
    on_sqlite(|shop| async move {
        shop.db.execute_unprepared("PRAGMA journal_mode = WAL").await.unwrap();
        let meanwhile = async || {
            rival(&shop.db, TransactionOptions::default()).await.commit().await.unwrap();
        };

        let db = shop.pool(1).await;
        let plain = TransactionOptions::default();
        let attempts = place_until_taken(&db, plain, Some(meanwhile)).await;

        assert_eq!(attempts, 2);
        assert_both_once(&shop).await;
    })
    .await;
}

/// Two transactions that wait for each other's rows.
#[tokio::test]
async fn a_deadlock_is_recognised_from_a_closure() {
    on_postgres(|shop| async move {
        let rows_of = |first: i32, second: i32, barrier: std::sync::Arc<tokio::sync::Barrier>| {
            let db = shop.db.clone();
            scope(OutboxSettings::new(SOURCE), async move {
                db.transaction(|txn| {
                    Box::pin(async move {
                        numbered(first).insert(txn).await?;
                        barrier.wait().await;
                        numbered(second).insert(txn).await.map(drop)
                    })
                })
                .await
            })
        };
        let barrier = std::sync::Arc::new(tokio::sync::Barrier::new(2));

        let (one, other) =
            tokio::join!(rows_of(1, 2, barrier.clone()), rows_of(2, 1, barrier.clone()));

        let refused = match (one, other) {
            (Ok(()), Err(error)) | (Err(error), Ok(())) => error,
            both => panic!("{both:?}"),
        };
        let TransactionError::Transaction(error) = refused else { panic!("{refused}") };
        assert!(is_worth_repeating(&error), "{error:?}");
        assert_eq!(types(&shop.db).await, ["orders.order_placed"; 2]);
    })
    .await;
}

fn numbered(id: i32) -> order::ActiveModel {
    order::ActiveModel { id: sea_orm::Set(id), ..new_order(1) }
}

/// The aggregate keeps what it raised until somebody takes it.
#[tokio::test]
async fn raised_events_are_staged_again_under_their_ids() {
    on_sqlite(|shop| async move {
        let mut raised = outbox_seaorm::RaisedEvents::new();
        raised.raise(OrderPlaced { order_id: 1, total: 1 });
        raised.raise(ReportRequested);

        let mut ids = Vec::new();
        for _ in 0..2 {
            let txn = shop.db.begin().await.unwrap();
            txn.stage_all(&raised).await.unwrap();
            ids.push(crate::staged::texts(&txn, "hex(id)").await);
            if ids.len() == 1 {
                txn.rollback().await.unwrap();
            } else {
                txn.commit().await.unwrap();
            }
        }

        assert_eq!(ids[0], ids[1]);
        assert_eq!(types(&shop.db).await, ["orders.order_placed", "reports.requested"]);
    })
    .await;
}
