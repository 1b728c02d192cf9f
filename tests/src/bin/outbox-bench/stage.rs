//! What one event adds to the transaction that stages it.

use std::time::Instant;

use outbox_seaorm::{OutboxSettings, Wake, scope};
use sea_orm::DatabaseConnection;

use crate::figure::Figure;
use crate::{Done, StageOptions, place, session};

const SOURCE: &str = "https://shop.example.com/orders";

/// One way to run the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// One event through the hook, which wakes the worker.
    Hook,
    /// One event by raw sqlx, which wakes nobody.
    Sqlx,
    /// Ten events of one call.
    Ten,
    /// One event through the hook, which wakes nobody.
    Unwoken,
    /// No event.
    Without,
}

impl Way {
    const ALL: [Self; 5] = [Self::Without, Self::Hook, Self::Sqlx, Self::Unwoken, Self::Ten];

    const fn name(self) -> &'static str {
        match self {
            Self::Hook => "stage",
            Self::Sqlx => "sqlx",
            Self::Ten => "stage_ten",
            Self::Unwoken => "stage_unwoken",
            Self::Without => "without_event",
        }
    }
}

/// Runs all ways in turn.
pub(crate) async fn measure(url: &str, options: StageOptions) -> Done<Vec<Figure>> {
    let db = session::application(url, options.writers).await?;
    outbox_migration::migrate(&db).await?;
    let pool = db.get_postgres_connection_pool();
    let make = "CREATE TABLE bench_order (id bigserial PRIMARY KEY, total bigint NOT NULL)";
    session::run(pool, &["DROP TABLE IF EXISTS bench_order", make]).await?;
    let mut rates = Way::ALL.map(|_| Vec::new());
    for round in 0..=options.rounds {
        for (way, rates) in Way::ALL.into_iter().zip(&mut rates) {
            session::run(pool, &["TRUNCATE outbox_message, bench_order", "CHECKPOINT"]).await?;
            let rate = rate(&db, way, options).await?;
            // The first round warms up.
            if round > 0 {
                rates.push(rate);
            }
        }
    }
    let figure = |(way, rates): (Way, Vec<f64>)| Figure::new(way.name(), "tx/s", rates);
    let figures: Vec<Figure> = Way::ALL.into_iter().zip(rates).map(figure).collect();
    let [without, hook, sqlx, unwoken, ten] = &figures[..] else { return Ok(figures) };
    let ratios = [
        Figure::ratio("stage_ratio", hook, without),
        Figure::ratio("stage_vs_sqlx", unwoken, sqlx),
        Figure::ratio("stage_ten_ratio", ten, hook),
    ];
    Ok(figures.into_iter().chain(ratios).collect())
}

/// Transactions per second of all writers together.
async fn rate(db: &DatabaseConnection, way: Way, options: StageOptions) -> Done<f64> {
    let begun = Instant::now();
    let writers: Vec<_> = (0..options.writers)
        .map(|_| {
            let wake = if way == Way::Unwoken { Wake::Off } else { Wake::default() };
            let writing = write(db.clone(), way, options.transactions);
            tokio::spawn(scope(OutboxSettings::new(SOURCE).wake(wake), writing))
        })
        .collect();
    for writer in writers {
        writer.await??;
    }
    let all = f64::from(options.writers) * f64::from(options.transactions);
    Ok(all / begun.elapsed().as_secs_f64())
}

async fn write(db: DatabaseConnection, way: Way, transactions: u32) -> Done<()> {
    for _ in 0..transactions {
        match way {
            Way::Hook | Way::Unwoken => place::with_hook(&db).await?,
            Way::Sqlx => place::with_sqlx(db.get_postgres_connection_pool()).await?,
            Way::Ten => place::with_ten(&db).await?,
            Way::Without => place::without_event(&db).await?,
        }
    }
    Ok(())
}
