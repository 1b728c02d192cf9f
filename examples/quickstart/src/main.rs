//! An order API, its outbox and the worker, in one program.
//!
//! Read `events`, `order` and `web` first: they are what an application has to write. `migrator`
//! brings the tables, `server` the correlation id, `worker` is what runs beside. The rest drives
//! and watches.

mod arrivals;
mod console;
mod database;
mod drive;
mod events;
mod guide;
mod migrator;
mod order;
mod receipts;
mod server;
mod signals;
mod sns;
mod stock;
mod tally;
mod watch;
mod web;
mod worker;

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Parser;
use console::say;
use database::Home;
use drive::Requests;
use migrator::AppMigrator;
use outbox_seaorm::OutboxSettings;
use sea_orm::DatabaseConnection;
use sea_orm_migration::MigratorTrait;
use server::Server;
use signals::Signals;
use sns::Sns;
use tally::Tally;
use tokio::time::timeout;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;
use watch::Watch;
use worker::Worker;

/// How long the last event may take to arrive.
const PATIENCE: Duration = Duration::from_mins(1);

/// Places orders over HTTP and shows how each committed one reaches SNS.
#[derive(Parser)]
struct Arguments {
    /// Keep running and say what to try.
    #[arg(long)]
    serve: bool,
    /// Port of the web API; 0 is any free one.
    #[arg(long, default_value_t = 8080, requires = "serve")]
    port: u16,
    /// Leave the worker out and say how to start its binary beside.
    #[arg(long, requires = "serve")]
    no_worker: bool,
    /// `sqlite:…` or `postgres:…`; otherwise a SQLite file in a temporary folder.
    #[arg(long, env, hide_env_values = true, value_name = "URL")]
    database_url: Option<String>,
    /// A topic that exists, reached as the AWS environment says.
    #[arg(long, env = "QUICKSTART_TOPIC_ARN", value_name = "ARN")]
    topic_arn: Option<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let warnings = EnvFilter::builder().with_default_directive(LevelFilter::WARN.into());
    tracing_subscriber::fmt()
        .with_env_filter(warnings.from_env_lossy())
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
    match run(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::trouble(&error);
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let home = Home::choose(arguments.database_url)?;
    let db = home.connect().await?;
    AppMigrator::up(&db, None).await.context("the tables cannot be created")?;
    OutboxSettings::new("https://shop.example/orders").install()?;
    let sns = Arc::new(Sns::choose(arguments.topic_arn).await?);
    let server =
        Server::start(db.clone(), if arguments.serve { arguments.port } else { 0 }).await?;

    say!("listening on {}", server.url());
    say!();
    say!("  database  {}", home.shown());
    say!("  SNS       {}", sns.shown());
    say!("  topic     {}", sns.topic_arn());
    say!();
    if arguments.no_worker {
        guide::worker(&home, &sns);
        return serve(None, server, &sns, &mut signals).await;
    }
    let worker = Worker::start(home.url(), sns.publisher()).await?;
    if arguments.serve {
        return serve(Some(worker), server, &sns, &mut signals).await;
    }
    tokio::select! {
        shown = demonstrate(&db, worker, server, &sns) => shown,
        () = signals.next() => bail!("interrupted"),
    }
}

/// Keeps running until a signal comes, then ends what it started.
async fn serve(
    worker: Option<Worker>,
    server: Server,
    sns: &Arc<Sns>,
    signals: &mut Signals,
) -> anyhow::Result<()> {
    guide::curl(server.url());
    let watch = Watch::start(sns);
    signals.next().await;
    server.stop().await?;
    let has_worker = worker.is_some();
    if let Some(worker) = worker {
        worker.drain().await?;
    }
    watch.stop().await?;

    let accepted = sns.accepted();
    // A worker of its own may have sent to a topic that nobody here can look into.
    if has_worker || !accepted.is_empty() {
        let messages = accepted.iter().filter(|arrival| !arrival.id.is_empty());
        let events: BTreeSet<_> = messages.clone().map(|arrival| &arrival.id).collect();
        let duplicates = messages.count() - events.len();
        say!();
        say!("delivered {} events, {duplicates} duplicates", events.len());
    }
    Ok(())
}

/// Drives the API, waits for all that it committed, and counts.
async fn demonstrate(
    db: &DatabaseConnection,
    worker: Worker,
    server: Server,
    sns: &Arc<Sns>,
) -> anyhow::Result<()> {
    say!("Orders are placed, repriced and cancelled over HTTP. What reaches SNS:");
    say!();
    let watch = Watch::start(sns);
    let requests = drive::drive(server.url()).await?;
    let in_time = timeout(PATIENCE, all_arrived(sns, &requests)).await.is_ok();
    server.stop().await?;
    worker.drain().await?;
    watch.stop().await?;

    // Counted only now: what a worker that has ended did not send can no longer arrive.
    let tally = Tally::of(&sns.accepted(), &requests);
    let waiting = database::waiting(db, &requests.rolled_back).await?;
    say!();
    say!("{requests}");
    say!("{tally}");
    if !in_time {
        bail!("not every committed event arrived within {PATIENCE:?}");
    }
    if !tally.is_right() {
        bail!("what arrived is not what was committed");
    }
    if waiting > 0 {
        bail!("{waiting} events of requests that were rolled back wait in the outbox");
    }
    Ok(())
}

/// Waits until every committed request has been heard of.
async fn all_arrived(sns: &Sns, requests: &Requests) {
    let mut seen = 0;
    loop {
        let arrivals = sns.accepted_at_least(seen).await;
        if Tally::of(&arrivals, requests).is_complete() {
            return;
        }
        seen = arrivals.len() + 1;
    }
}
