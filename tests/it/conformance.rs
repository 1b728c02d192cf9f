//! The suite of the store contract on the real databases.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use outbox_core::{
    EventId, Lane, OutboxStore, Position, RecordClaims, RecordRef, StagedMessage, TopicProfile,
};
use outbox_seaorm::{OutboxSettings, SeaOrmStore, Stage, scope};
use outbox_test_databases::{Lent, lend_mariadb, lend_postgres, lend_sqlite, number, run};
use outbox_testing::ManualClock;
use outbox_testing::conformance::{ClaimsFixture, OpenWriter, StoreFixture, StoredDeadLetter};
use outbox_tests::store::{lane_store, lane_store_by};
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, Statement, TransactionTrait,
};
use uuid::Uuid;

mod mariadb {
    use super::{SqlFixture, lend_mariadb};

    outbox_testing::store_conformance!(SqlFixture::open(lend_mariadb().await).await);
    outbox_testing::record_claims_conformance!(SqlFixture::open(lend_mariadb().await).await);
    outbox_testing::clock_conformance!(SqlFixture::by_a_clock(lend_mariadb().await).await);
    outbox_testing::claims_clock_conformance!(SqlFixture::by_a_clock(lend_mariadb().await).await);
}

mod postgres {
    use super::{SqlFixture, lend_postgres};

    outbox_testing::store_conformance!(SqlFixture::open(lend_postgres().await).await);
    outbox_testing::record_claims_conformance!(SqlFixture::open(lend_postgres().await).await);
    outbox_testing::clock_conformance!(SqlFixture::by_a_clock(lend_postgres().await).await);
    outbox_testing::claims_clock_conformance!(SqlFixture::by_a_clock(lend_postgres().await).await);
}

mod sqlite {
    use super::{SqlFixture, lend_sqlite};

    outbox_testing::store_conformance!(SqlFixture::open(lend_sqlite()).await);
    outbox_testing::record_claims_conformance!(SqlFixture::open(lend_sqlite()).await);
    outbox_testing::clock_conformance!(SqlFixture::by_a_clock(lend_sqlite()).await);
    outbox_testing::claims_clock_conformance!(SqlFixture::by_a_clock(lend_sqlite()).await);
}

/// An outbox on a database of its own.
struct SqlFixture {
    database: Lent,
    application: DatabaseConnection,
    store: Arc<SeaOrmStore>,
    /// Where the store goes by another clock than the database's.
    clock: Option<ManualClock>,
}

impl SqlFixture {
    async fn open(database: Lent) -> Self {
        let application = database.connect_with(4).await;
        outbox_migration::migrate(&application).await.unwrap();
        let store = lane_store(&database).await;
        Self { database, application, store, clock: None }
    }

    /// The clock lies far behind the database's, by which every lease would be over and every record
    /// due.
    async fn by_a_clock(database: Lent) -> Self {
        let clock = ManualClock::new();
        let fixture = Self::open(database).await;
        let store = lane_store_by(Arc::new(clock.clone()), &fixture.database).await;
        Self { store, clock: Some(clock), ..fixture }
    }
}

#[async_trait]
impl StoreFixture for SqlFixture {
    fn store(&self) -> Arc<dyn OutboxStore> {
        self.store.clone()
    }

    async fn reopen(&self) -> Arc<dyn OutboxStore> {
        match &self.clock {
            Some(clock) => lane_store_by(Arc::new(clock.clone()), &self.database).await,
            None => lane_store(&self.database).await,
        }
    }

    async fn begin(&self) -> Box<dyn OpenWriter> {
        Box::new(Writer(self.application.begin().await.unwrap()))
    }

    fn one_writer(&self) -> bool {
        !self.database.is_mariadb() && !self.database.is_postgres()
    }

    async fn now(&self) -> DateTime<Utc> {
        if let Some(clock) = &self.clock {
            return clock.now();
        }
        let micros = if self.database.is_postgres() {
            "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        } else if self.database.is_mariadb() {
            "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
        } else {
            "SELECT CAST(strftime('%s', 'now') AS INTEGER) * 1000000 \
             + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000"
        };
        DateTime::from_timestamp_micros(number(&self.application, micros).await).unwrap()
    }

    async fn pass(&self, time: Duration) {
        if let Some(clock) = &self.clock {
            return clock.advance(time);
        }
        if self.database.is_postgres() {
            let sql = format!("SELECT pg_sleep({})", time.as_secs_f64());
            return run(&self.application, &sql).await;
        }
        if self.database.is_mariadb() {
            return run(&self.application, &format!("DO SLEEP({})", time.as_secs_f64())).await;
        }
        // SQLite cannot be asked to wait.
        let end = self.now().await + TimeDelta::from_std(time).unwrap();
        while self.now().await < end {
            tokio::task::yield_now().await;
        }
    }

    async fn damage(&self, record: RecordRef) {
        let (lane, position) = (record.lane.number(), record.position.0);
        let place = format!("lane = {lane} AND position = {position}");
        run(&self.application, &format!("UPDATE outbox_message SET headers = '{{' WHERE {place}"))
            .await;
    }

    async fn dead_letters(&self) -> Vec<StoredDeadLetter> {
        let sql = "SELECT id, lane, position, attempts, reason, last_error, payload \
            FROM outbox_dead_letter ORDER BY position";
        let backend = self.application.get_database_backend();
        let rows = self.application.query_all_raw(Statement::from_string(backend, sql)).await;
        rows.unwrap().iter().map(dead_letter).collect()
    }
}

impl ClaimsFixture for SqlFixture {
    fn claims(&self) -> Arc<dyn RecordClaims> {
        self.store.clone()
    }
}

fn dead_letter(row: &sea_orm::QueryResult) -> StoredDeadLetter {
    let lane = Lane::try_from(row.try_get_by_index::<i16>(1).unwrap()).unwrap();
    StoredDeadLetter {
        record: RecordRef {
            id: EventId::from_uuid(row.try_get_by_index::<Uuid>(0).unwrap()).unwrap(),
            lane,
            position: Position(row.try_get_by_index(2).unwrap()),
        },
        attempts: u32::try_from(row.try_get_by_index::<i32>(3).unwrap()).unwrap(),
        reason: row.try_get_by_index(4).unwrap(),
        error: row.try_get_by_index(5).unwrap(),
        payload: Bytes::from(row.try_get_by_index::<Vec<u8>>(6).unwrap()),
    }
}

struct Writer(DatabaseTransaction);

#[async_trait]
impl OpenWriter for Writer {
    async fn stage(&mut self, message: StagedMessage) {
        let profile = TopicProfile::default().with_limit(TopicProfile::LARGEST_LIMIT).unwrap();
        let settings = OutboxSettings::new("https://shop.example").default_profile(profile);
        scope(settings, self.0.stage_encoded([message])).await.unwrap();
    }

    async fn commit(self: Box<Self>) {
        self.0.commit().await.unwrap();
    }

    async fn rollback(self: Box<Self>) {
        self.0.rollback().await.unwrap();
    }
}
