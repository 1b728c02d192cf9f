//! A worker that empties a backlog, with a broker that answers at once.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use outbox_core::{
    BatchLimit, OutboxMessage, OutboxStore, PublishOutcomes, Publisher, Receipt, TableNames,
};
use outbox_seaorm::SeaOrmStore;
use outbox_worker::{CancellationToken, Dispatcher, Drained, Figures};
use sea_orm::sqlx::PgPool;
use tokio::task::JoinHandle;

use crate::backlog::{self, Events, Lanes};
use crate::figure::Figure;
use crate::{Done, DrainOptions, floors, session};

/// Drains the same backlog in three ways, in turn.
pub(crate) async fn measure(url: &str, options: DrainOptions) -> Done<Vec<Figure>> {
    let db = session::application(url, 2).await?;
    outbox_migration::migrate(&db).await?;
    let pool = db.get_postgres_connection_pool();
    backlog::make_floor_table(pool).await?;
    let (mut ours, mut cursor, mut row) = (Vec::new(), Vec::new(), Vec::new());
    let events = Events::small(options.events);
    for round in 0..=options.rounds {
        backlog::fill(pool, "outbox_message", events, Lanes::One).await?;
        let cursor_rate = timed(options.events, floors::cursor(pool)).await?;
        backlog::fill(pool, "bench_row", events, Lanes::One).await?;
        let row_rate = timed(options.events, floors::row_claim(pool)).await?;
        backlog::fill(pool, "outbox_message", events, Lanes::All).await?;
        let our_rate = timed(options.events, dispatcher(url, pool, options.events)).await?;
        // The first round warms up.
        if round > 0 {
            cursor.push(cursor_rate);
            row.push(row_rate);
            ours.push(our_rate);
        }
    }
    let ours = Figure::new("drain", "ev/s", ours);
    let cursor = Figure::new("cursor_floor", "ev/s", cursor);
    let row = Figure::new("row_floor", "ev/s", row);
    let ratios = [
        Figure::ratio("drain_vs_row_floor", &ours, &row),
        Figure::ratio("drain_vs_cursor_floor", &ours, &cursor),
    ];
    Ok([ours, cursor, row].into_iter().chain(ratios).collect())
}

/// Events per second of one drain.
async fn timed(events: u32, drain: impl Future<Output = Done<u64>>) -> Done<f64> {
    let begun = Instant::now();
    let drained = drain.await?;
    if drained != u64::from(events) {
        return Err(format!("{drained} of {events} events were drained").into());
    }
    Ok(f64::from(events) / begun.elapsed().as_secs_f64())
}

async fn dispatcher(url: &str, pool: &PgPool, events: u32) -> Done<u64> {
    let worker = Worker::start(url, Arc::new(AtOnce)).await?;
    while worker.figures.published() < u64::from(events) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let published = worker.stop().await?;
    let left: i64 =
        sea_orm::sqlx::query_scalar("SELECT count(*) FROM outbox_message").fetch_one(pool).await?;
    Ok(published - u64::try_from(left)?)
}

/// A dispatcher that runs, with connections as the worker binary has them.
pub(crate) struct Worker {
    figures: Arc<Figures>,
    shutdown: CancellationToken,
    running: JoinHandle<Drained>,
}

impl Worker {
    pub(crate) async fn start(url: &str, publisher: Arc<dyn Publisher>) -> Done<Self> {
        let work: Arc<dyn OutboxStore> = Arc::new(SeaOrmStore::new(
            session::worker(url, CONNECTIONS).await?,
            TableNames::default(),
        )?);
        let control: Arc<dyn OutboxStore> = Arc::new(SeaOrmStore::new(
            session::worker(url, NonZeroU32::MIN).await?,
            TableNames::default(),
        )?);
        let dispatcher = Dispatcher::builder(work, publisher).control(control).build()?;
        let figures = dispatcher.figures();
        let shutdown = CancellationToken::new();
        let running = tokio::spawn(dispatcher.run(shutdown.clone()));
        Ok(Self { figures, shutdown, running })
    }

    /// Ends it, and says how many records it has published and settled.
    pub(crate) async fn stop(self) -> Done<u64> {
        self.shutdown.cancel();
        self.running.await?;
        Ok(self.figures.published())
    }
}

/// A broker that takes everything at once, ten messages in a call as SNS does.
#[derive(Debug)]
struct AtOnce;

/// As many as the worker binary takes by default.
const CONNECTIONS: NonZeroU32 = NonZeroU32::new(4).unwrap();
const BATCH: NonZeroUsize = NonZeroUsize::new(10).unwrap();

#[async_trait]
impl Publisher for AtOnce {
    fn batch_limit(&self) -> BatchLimit {
        BatchLimit(BATCH)
    }

    async fn publish(&self, messages: &[OutboxMessage]) -> PublishOutcomes {
        messages.iter().map(|_| Ok(Receipt::default())).collect()
    }
}
