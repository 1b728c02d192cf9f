//! What one troubled topic costs the others.

use std::fmt::Debug;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use outbox_core::{
    BatchLimit, Failure, FailureKind, OutboxMessage, PublishOutcomes, Publisher, Receipt,
};
use sea_orm::sqlx::PgPool;
use tokio::sync::Notify;

use crate::backlog::{self, Events};
use crate::figure::Figure;
use crate::{Done, FairnessOptions, drain, session};

/// Drains the same healthy backlog alone and behind each kind of trouble, in turn.
pub(crate) async fn measure(url: &str, options: FairnessOptions) -> Done<Vec<Figure>> {
    let db = session::application(url, 2).await?;
    outbox_migration::migrate(&db).await?;
    let pool = db.get_postgres_connection_pool();
    let mut rates = vec![Vec::new(); TROUBLES.len()];
    for _ in 0..options.rounds {
        for (trouble, rates) in TROUBLES.iter().zip(&mut rates) {
            rates.push(drained(url, pool, *trouble, options).await?);
        }
    }
    let named = TROUBLES.iter().zip(rates);
    let mut figures: Vec<_> =
        named.map(|(trouble, rates)| Figure::new(trouble.figure, "ev/s", rates)).collect();
    let slower =
        |(rate, trouble): (&Figure, &Trouble)| Figure::ratio(trouble.slower, &figures[0], rate);
    let slower: Vec<_> = figures.iter().zip(&TROUBLES).skip(1).map(slower).collect();
    figures.extend(slower);
    Ok(figures)
}

/// What stands before the healthy records.
#[derive(Clone, Copy, Debug)]
struct Trouble {
    figure: &'static str,
    /// By which factor the healthy records are slower.
    slower: &'static str,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    None,
    Failure(FailureKind),
    HotKey,
}

const fn trouble(figure: &'static str, slower: &'static str, what: What) -> Trouble {
    Trouble { figure, slower, what }
}

const TROUBLES: [Trouble; 6] = [
    trouble("alone", "alone_slower", What::None),
    trouble("beside_poisoned", "poisoned_slower", What::Failure(FailureKind::Message)),
    trouble("beside_failing", "failing_slower", What::Failure(FailureKind::Transient)),
    trouble("beside_throttled", "throttled_slower", What::Failure(FailureKind::Throttled)),
    trouble("beside_paused", "paused_slower", What::Failure(FailureKind::Destination)),
    trouble("beside_hot_key", "hot_key_slower", What::HotKey),
];

/// Healthy records per second.
async fn drained(url: &str, pool: &PgPool, of: Trouble, options: FairnessOptions) -> Done<f64> {
    backlog::empty(pool).await?;
    match of.what {
        What::None => {}
        What::Failure(_) => backlog::add(pool, TROUBLED, Events::small(options.troubled)).await?,
        What::HotKey => {
            backlog::add(pool, TROUBLED, Events::small(options.troubled)).await?;
            // One key: its records go one after another.
            let one_key = "UPDATE outbox_message SET ordering_key = 'hot', lane = 7";
            session::run(pool, &[one_key]).await?;
        }
    }
    backlog::add(pool, "orders", Events::small(options.events)).await?;
    backlog::settle_down(pool, "outbox_message").await?;
    let broker = Arc::new(Broker::new(of.what, options.events));
    let worker = drain::Worker::start(url, Arc::clone(&broker) as Arc<dyn Publisher>).await?;
    let begun = Instant::now();
    broker.done.notified().await;
    let seconds = begun.elapsed().as_secs_f64();
    worker.stop().await?;
    Ok(f64::from(options.events) / seconds)
}

const TROUBLED: &str = "troubled";
const CALL: Duration = Duration::from_millis(20);
const BATCH: NonZeroUsize = NonZeroUsize::new(10).unwrap();

/// Takes as long for a call as SNS does, and has its trouble with one topic.
#[derive(Debug)]
struct Broker {
    trouble: What,
    left: AtomicU32,
    done: Notify,
}

impl Broker {
    fn new(trouble: What, healthy: u32) -> Self {
        Self { trouble, left: AtomicU32::new(healthy), done: Notify::new() }
    }

    fn verdict(&self, message: &OutboxMessage) -> Result<Receipt, Failure> {
        if &*message.topic == TROUBLED {
            return match self.trouble {
                What::Failure(kind) => Err(Failure::new(kind, "as the bench wants it")),
                What::None | What::HotKey => Ok(Receipt::default()),
            };
        }
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.done.notify_one();
        }
        Ok(Receipt::default())
    }
}

#[async_trait]
impl Publisher for Broker {
    fn batch_limit(&self) -> BatchLimit {
        BatchLimit(BATCH)
    }

    async fn publish(&self, messages: &[OutboxMessage]) -> PublishOutcomes {
        tokio::time::sleep(CALL).await;
        messages.iter().map(|message| self.verdict(message)).collect()
    }
}
