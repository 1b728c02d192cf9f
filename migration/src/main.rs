//! `outbox-migration`: brings the outbox's tables into a database.

use std::{process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};
use outbox_migration::{TableNames, drop_all_with, migrate_with, status_with};
use sea_orm_migration::sea_orm::{
    ConnectOptions, Database, DatabaseConnection, DbErr, RuntimeErr, SqlxError,
};

/// Brings the outbox's tables into a database.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    target: Target,
    #[command(subcommand)]
    command: Command,
}

#[derive(Args)]
struct Target {
    /// `postgres://…`, `mysql://…`, or `sqlite://…` (with `?mode=rwc` to create the file).
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, global = true)]
    database_url: Option<String>,
    /// Schema of the tables, on MySQL and MariaDB their database; created if it is missing.
    #[arg(long, global = true)]
    schema: Option<String>,
    /// What each table's name begins with.
    #[arg(long, default_value = "outbox_", global = true)]
    prefix: String,
    /// Seconds to wait for a connection, and on MySQL and MariaDB for another process that migrates.
    #[arg(long, default_value_t = 10, global = true)]
    connect_timeout: u64,
}

#[derive(Subcommand)]
enum Command {
    /// Drops all tables of the outbox with every event that was not sent.
    Down {
        /// Without it nothing is dropped.
        #[arg(long)]
        yes_drop_all_outbox_data: bool,
    },
    /// Tells which migrations were applied, without writing anything.
    Status,
    /// Applies all pending migrations. Safe to run twice and from many places at once.
    Up,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // A database may answer in several lines; log collectors take one per error.
            let line: Vec<&str> = message.lines().map(str::trim).collect();
            eprintln!("error: {}", line.join(" "));
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: Cli) -> Result<(), String> {
    if matches!(cli.command, Command::Down { yes_drop_all_outbox_data: false }) {
        return Err("down drops every event of the outbox, sent or not: \
                    pass --yes-drop-all-outbox-data to do it"
            .to_owned());
    }
    let target = &cli.target;
    let names = TableNames::new(target.schema.as_deref(), &target.prefix)
        .map_err(|error| error.to_string())?;
    let db = connect(target).await?;
    let done = match cli.command {
        Command::Down { .. } => drop_all_with(&db, &names).await,
        Command::Status => Ok(()),
        Command::Up => migrate_with(&db, &names).await,
    };
    let shown = match done {
        Ok(()) => show_status(&db, &names).await,
        Err(error) => Err(error),
    };
    shown.map_err(|error| error.to_string())
}

async fn show_status(db: &DatabaseConnection, names: &TableNames) -> Result<(), DbErr> {
    let status = status_with(db, names).await?;
    for name in status.applied {
        println!("applied  {name}");
    }
    for name in status.pending {
        println!("pending  {name}");
    }
    for name in status.unknown {
        println!("unknown  {name} (applied by a newer version)");
    }
    Ok(())
}

/// Connects. No message repeats the URL, which may hold a password.
async fn connect(target: &Target) -> Result<DatabaseConnection, String> {
    let url = target.database_url.as_deref().unwrap_or_default();
    match url.split_once(':').map(|(scheme, _)| scheme) {
        None if url.is_empty() => {
            return Err("no database: pass --database-url or set DATABASE_URL".to_owned());
        }
        Some("mariadb" | "mysql" | "postgres" | "postgresql" | "sqlite") => {}
        // sea-orm would answer with the whole URL.
        _ => {
            return Err(
                "the database URL must begin with postgres://, mysql:// or sqlite://".to_owned()
            );
        }
    }
    // The one name that sea-orm knows for both.
    let url = match url.strip_prefix("mariadb:") {
        Some(rest) => format!("mysql:{rest}"),
        None => url.to_owned(),
    };
    let timeout = Duration::from_secs(target.connect_timeout);
    let mut options = ConnectOptions::new(url);
    options.max_connections(1).connect_timeout(timeout).acquire_timeout(timeout);
    Database::connect(options).await.map_err(|error| refusal(&error, timeout))
}

fn refusal(error: &DbErr, waited: Duration) -> String {
    match error {
        // The pool tries again while the port is closed, so this is also what no server looks like.
        DbErr::Conn(RuntimeErr::SqlxError(cause)) if matches!(**cause, SqlxError::PoolTimedOut) => {
            format!("the database accepted no connection within {} s", waited.as_secs())
        }
        // What sea-orm finds wrong by itself is a URL that it cannot read, and it repeats it.
        DbErr::Conn(RuntimeErr::Internal(_)) => "the database URL cannot be read: \
            percent-encode special characters in the user's name and password"
            .to_owned(),
        other => other.to_string(),
    }
}
