//! What the outbox costs and what it reaches, beside raw SQL in the same run.
//!
//! `outbox-bench stage` measures transactions that stage one event, `outbox-bench drain` a worker that
//! empties a backlog, `outbox-bench fairness` what one troubled topic costs the others, and
//! `outbox-bench memory` how much memory the worker takes. Each rate is the median of interleaved
//! rounds and stands beside a floor of the same run, since machines are shared and noisy: quote the
//! ratios.

#![expect(clippy::print_stdout, reason = "a program that prints its figures")]

mod backlog;
mod drain;
mod fairness;
mod figure;
mod floors;
mod memory;
mod order;
mod place;
mod session;
mod stage;

use std::error::Error;

use clap::{Args, Parser, Subcommand};

type Done<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Measures the outbox beside raw SQL floors.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    /// A PostgreSQL database that may be emptied: its outbox and bench tables are made anew.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    database_url: String,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// A worker that empties a backlog, over two floors.
    Drain(DrainOptions),
    /// A worker whose healthy topic stands behind a troubled one, over the healthy one alone.
    Fairness(FairnessOptions),
    /// The worker binary beside this one, sending a backlog to SNS: the most memory it takes.
    Memory(MemoryOptions),
    /// Transactions with one event, over the same without and over raw sqlx.
    Stage(StageOptions),
}

#[derive(Args, Clone, Copy, Debug)]
struct DrainOptions {
    /// Records in the backlog.
    #[arg(long, default_value_t = 200_000)]
    events: u32,
    /// Rounds of each variant, after one that warms up.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

#[derive(Args, Clone, Copy, Debug)]
struct FairnessOptions {
    /// Healthy records.
    #[arg(long, default_value_t = 40_000)]
    events: u32,
    /// Records of the troubled topic, all of them staged before.
    #[arg(long, default_value_t = 200_000)]
    troubled: u32,
    /// Rounds of each kind of trouble.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

#[derive(Args, Clone, Copy, Debug)]
struct MemoryOptions {
    /// Records in the backlog.
    #[arg(long, default_value_t = 100_000)]
    events: u32,
    /// Bytes of each payload.
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(100..1_040_000))]
    bytes: u32,
}

#[derive(Args, Clone, Copy, Debug)]
struct StageOptions {
    /// Writers at once.
    #[arg(long, default_value_t = 8)]
    writers: u32,
    /// Transactions of each writer in a round.
    #[arg(long, default_value_t = 500)]
    transactions: u32,
    /// Rounds of each variant, after one that warms up.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

#[tokio::main]
async fn main() -> Done<()> {
    let arguments = Arguments::parse();
    let figures = match arguments.what {
        What::Drain(options) => drain::measure(&arguments.database_url, options).await?,
        What::Fairness(options) => fairness::measure(&arguments.database_url, options).await?,
        What::Memory(options) => memory::measure(&arguments.database_url, options).await?,
        What::Stage(options) => stage::measure(&arguments.database_url, options).await?,
    };
    if arguments.json {
        println!("{}", figure::object(&figures));
    } else {
        for figure in &figures {
            println!("{figure}");
        }
    }
    Ok(())
}
