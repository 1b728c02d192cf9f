//! What holds on PostgreSQL alone.

use outbox_migration::{TableNames, drop_all_with, migrate, migrate_with, status, status_with};
use sea_orm_migration::sea_orm::{ConnectionTrait, DatabaseConnection, TransactionTrait};

use outbox_test_databases::{TestDatabase, number, on_postgres, texts};

use crate::{
    catalogue::{describe, tables},
    promises::{self, message},
};

const XID: &str = "coalesce(pg_current_xact_id_if_assigned()::text, 'none')";

#[tokio::test]
async fn a_failed_migration_leaves_nothing() {
    on_postgres(promises::a_failed_migration_leaves_nothing).await;
}

#[tokio::test]
async fn the_first_migration_is_frozen() {
    on_postgres(async |database| {
        let db = database.connect().await;

        migrate(&db).await.unwrap();

        assert_eq!(describe(&db).await, include_str!("golden/postgres.txt"));
    })
    .await;
}

#[tokio::test]
async fn no_session_keeps_positions_in_stock() {
    on_postgres(async |database| {
        let (one, other) = (database.connect().await, database.connect().await);
        migrate(&one).await.unwrap();
        let cache = "SELECT seqcache FROM pg_sequence WHERE seqrelid = 'outbox_position'::regclass";
        assert_eq!(number(&one, cache).await, 1);

        for db in [&one, &other, &one, &other] {
            db.execute_unprepared(&message(1)).await.unwrap();
        }

        let positions = "SELECT position::text FROM outbox_message ORDER BY created_at";
        assert_eq!(texts(&one, positions).await, ["1", "2", "3", "4"]);
    })
    .await;
}

#[tokio::test]
async fn a_plain_insert_has_its_transaction_id_before_the_row_exists() {
    on_postgres(async |database| {
        let db = database.connect().await;
        migrate(&db).await.unwrap();
        record_the_transaction_id(&db).await;

        // More than one: a sequence draws an id by itself at every 32nd number, the first included.
        for _ in 0..3 {
            db.execute_unprepared(&message(1)).await.unwrap();
            let txn = db.begin().await.unwrap();
            txn.execute_unprepared(&message(1)).await.unwrap();
            txn.commit().await.unwrap();
        }

        let without = "SELECT count(*) FROM outbox_message WHERE last_error = 'none'";
        assert_eq!(number(&db, without).await, 0);
        assert_eq!(number(&db, "SELECT count(*) FROM outbox_message").await, 6);
    })
    .await;
}

#[tokio::test]
async fn the_transaction_id_is_drawn_before_the_position() {
    on_postgres(async |database| {
        let db = database.connect().await;
        migrate(&db).await.unwrap();
        // A sequence at its end fails before it draws an id of its own.
        db.execute_unprepared("ALTER SEQUENCE outbox_position MAXVALUE 2").await.unwrap();
        db.execute_unprepared("SELECT setval('outbox_position', 2)").await.unwrap();
        let txn = db.begin().await.unwrap();
        let savepoint = txn.begin().await.unwrap();
        assert_eq!(texts(&savepoint, &format!("SELECT {XID}")).await, ["none"]);

        let error = savepoint.execute_unprepared(&message(1)).await.unwrap_err();

        assert!(error.to_string().contains("reached maximum value"), "{error}");
        savepoint.rollback().await.unwrap();
        assert_ne!(texts(&txn, &format!("SELECT {XID}")).await, ["none"]);
    })
    .await;
}

#[tokio::test]
async fn a_replay_can_insert_the_position_it_had() {
    on_postgres(async |database| {
        let db = database.connect().await;
        migrate(&db).await.unwrap();
        db.execute_unprepared(&message(1)).await.unwrap();
        let moved = "WITH gone AS (DELETE FROM outbox_message RETURNING *)
                     INSERT INTO outbox_dead_letter SELECT gone.*, 'test' FROM gone";
        db.execute_unprepared(moved).await.unwrap();
        db.execute_unprepared(&message(1)).await.unwrap();

        let replay = "INSERT INTO outbox_message
                      SELECT (jsonb_populate_record(null::outbox_message, to_jsonb(d))).*
                      FROM outbox_dead_letter d";
        db.execute_unprepared(replay).await.unwrap();

        let positions = "SELECT position::text FROM outbox_message ORDER BY position";
        assert_eq!(texts(&db, positions).await, ["1", "2"]);
    })
    .await;
}

#[tokio::test]
async fn a_stricter_default_isolation_does_not_break_migrating_at_once() {
    on_postgres(async |database| {
        let level = "ALTER DATABASE %name% SET default_transaction_isolation = 'repeatable read'";
        let db = database.connect().await;
        let name = texts(&db, "SELECT current_database()::text").await.remove(0);
        db.execute_unprepared(&level.replace("%name%", &name)).await.unwrap();

        promises::eight_processes_can_migrate_at_once(database).await;
    })
    .await;
}

#[tokio::test]
async fn a_schema_holds_all_of_an_outbox() {
    on_postgres(async |database| {
        let db = database.connect().await;
        let billing = TableNames::new(Some("billing"), "outbox_").unwrap();

        migrate_with(&db, &billing).await.unwrap();

        assert!(tables(&db).await.is_empty());
        assert_eq!(relations(&database, "public").await, Vec::<String>::new());
        let held = relations(&database, "billing").await;
        for name in promises::TABLES {
            assert!(held.contains(&name.to_owned()), "{name}");
        }
        for name in ["outbox_position", "outbox_message_due", "outbox_parked_key_lane"] {
            assert!(held.contains(&name.to_owned()), "{name}");
        }
    })
    .await;
}

#[tokio::test]
async fn outboxes_in_two_schemas_do_not_share_a_history() {
    on_postgres(async |database| {
        let db = database.connect().await;
        let (one, two) = (names_in("Tenant1"), names_in("tenant2"));

        migrate_with(&db, &one).await.unwrap();
        assert!(status_with(&db, &two).await.unwrap().applied.is_empty());
        migrate_with(&db, &two).await.unwrap();
        drop_all_with(&db, &one).await.unwrap();

        assert!(relations(&database, "Tenant1").await.is_empty());
        assert_eq!(number(&db, "SELECT count(*) FROM tenant2.outbox_lane").await, 64);
        assert_eq!(status_with(&db, &two).await.unwrap().applied.len(), 1);
        // The search path was changed for a transaction, not for the pooled connection.
        assert_eq!(texts(&db, "SELECT current_schema()::text").await, ["public"]);
    })
    .await;
}

#[tokio::test]
async fn a_role_that_cannot_create_schemas_migrates_into_an_existing_one() {
    on_postgres(async |database| {
        let db = database.connect().await;
        db.execute_unprepared("CREATE SCHEMA billing").await.unwrap();
        let role = Role::create(&database, "ALL ON SCHEMA billing").await;

        let existing = migrate_with(&role.db, &names_in("billing")).await;
        let missing = migrate_with(&role.db, &names_in("other")).await;

        role.drop(&db).await;
        existing.unwrap();
        assert!(missing.unwrap_err().to_string().contains("permission denied"));
    })
    .await;
}

#[tokio::test]
async fn a_role_that_may_only_read_can_ask_for_the_status() {
    on_postgres(async |database| {
        let db = database.connect().await;
        migrate(&db).await.unwrap();
        let role = Role::create(&database, "SELECT ON outbox_migrations").await;

        let status = status(&role.db).await;
        let migrated = migrate(&role.db).await;

        role.drop(&db).await;
        assert_eq!(status.unwrap().applied, [promises::CREATE]);
        assert!(migrated.unwrap_err().to_string().contains("permission denied"));
    })
    .await;
}

/// A role named like the test's database, and a connection that has become it.
struct Role {
    name: String,
    db: DatabaseConnection,
}

impl Role {
    async fn create(database: &TestDatabase, grant: &str) -> Self {
        let owner = database.connect().await;
        let name = texts(&owner, "SELECT current_database()::text").await.remove(0);
        let sql = format!("CREATE ROLE {name}; GRANT {grant} TO {name}");
        owner.execute_unprepared(&sql).await.unwrap();

        let separator = if database.url.ends_with('?') { "" } else { "&" };
        let url = format!("{}{separator}options=-c%20role%3D{name}", database.url);
        let db = TestDatabase { url }.connect().await;
        assert_eq!(texts(&db, "SELECT current_user::text").await, [name.as_str()]);
        Self { name, db }
    }

    /// Roles outlive the database, so this comes before the assertions.
    async fn drop(self, owner: &DatabaseConnection) {
        self.db.close().await.unwrap();
        let sql = format!("DROP OWNED BY {0}; DROP ROLE {0}", self.name);
        owner.execute_unprepared(&sql).await.unwrap();
    }
}

fn names_in(schema: &str) -> TableNames {
    TableNames::new(Some(schema), "outbox_").unwrap()
}

/// Tables, indexes and sequences of a schema.
async fn relations(database: &TestDatabase, schema: &str) -> Vec<String> {
    let db = database.connect().await;
    let of = format!(
        "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = '{schema}'"
    );
    texts(&db, &of).await
}

/// Runs after the defaults and before the row is written, which would draw an id in any case.
async fn record_the_transaction_id(db: &impl ConnectionTrait) {
    db.execute_unprepared(&format!(
        "CREATE FUNCTION note_xid() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN NEW.last_error := {XID}; RETURN NEW; END $$;
         CREATE TRIGGER note_xid BEFORE INSERT ON outbox_message
         FOR EACH ROW EXECUTE FUNCTION note_xid()"
    ))
    .await
    .unwrap();
}
