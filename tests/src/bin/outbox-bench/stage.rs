//! What one event adds to the transaction that stages it.

use std::time::Instant;

use outbox_seaorm::OutboxSettings;
use sea_orm::DatabaseConnection;

use crate::figure::Figure;
use crate::{Done, StageOptions, place, session};

/// One way to run the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Hook,
    Sqlx,
    Without,
}

/// Runs the three ways in turn.
pub(crate) async fn measure(url: &str, options: StageOptions) -> Done<Vec<Figure>> {
    let db = session::application(url, options.writers).await?;
    outbox_migration::migrate(&db).await?;
    OutboxSettings::new("https://shop.example.com/orders").install()?;
    let pool = db.get_postgres_connection_pool();
    let make = "CREATE TABLE bench_order (id bigserial PRIMARY KEY, total bigint NOT NULL)";
    session::run(pool, &["DROP TABLE IF EXISTS bench_order", make]).await?;
    let (mut hook, mut without, mut sqlx) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=options.rounds {
        for way in [Way::Without, Way::Hook, Way::Sqlx] {
            session::run(pool, &["TRUNCATE outbox_message, bench_order", "CHECKPOINT"]).await?;
            let rate = rate(&db, way, options).await?;
            // The first round warms up.
            match way {
                _ if round == 0 => {}
                Way::Hook => hook.push(rate),
                Way::Sqlx => sqlx.push(rate),
                Way::Without => without.push(rate),
            }
        }
    }
    let hook = Figure::new("stage", "tx/s", hook);
    let without = Figure::new("without_event", "tx/s", without);
    let sqlx = Figure::new("sqlx", "tx/s", sqlx);
    let ratios = [
        Figure::ratio("stage_ratio", &hook, &without),
        Figure::ratio("stage_vs_sqlx", &hook, &sqlx),
    ];
    Ok([hook, without, sqlx].into_iter().chain(ratios).collect())
}

/// Transactions per second of all writers together.
async fn rate(db: &DatabaseConnection, way: Way, options: StageOptions) -> Done<f64> {
    let begun = Instant::now();
    let writers: Vec<_> = (0..options.writers)
        .map(|_| tokio::spawn(write(db.clone(), way, options.transactions)))
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
            Way::Hook => place::with_hook(&db).await?,
            Way::Sqlx => place::with_sqlx(db.get_postgres_connection_pool()).await?,
            Way::Without => place::without_event(&db).await?,
        }
    }
    Ok(())
}
