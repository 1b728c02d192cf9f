//! What can be asked of the binary.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

const AFTER: &str = "\
Settings come from the file of --config and from the environment, which wins:
  DATABASE_URL                       the application's database
  OUTBOX_SNS__TOPIC_ARN_PREFIX       arn:aws:sns:eu-west-1:123456789012:
  OUTBOX_DISPATCHER__LEASE           15s
and so on, OUTBOX_ and the key of the file in capitals, with __ for the dot.
AWS credentials and region come from the usual AWS variables, files and roles.

Exit codes: 0 done or drained, 1 refused with one line on standard error, 2 wrong usage.";

/// Sends the staged records of an outbox to AWS SNS.
#[derive(Debug, Parser)]
#[command(name = "outbox-worker", version, about, after_help = AFTER)]
pub(crate) struct Arguments {
    /// A TOML file with settings.
    #[arg(long, global = true, env = "OUTBOX_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Makes or updates the outbox tables.
    Migrate,
    /// Sends records until SIGTERM or SIGINT, then drains; a second signal ends at once.
    Run,
    /// Shows what waits.
    Stats(StatsOptions),
}

#[derive(Args, Debug)]
pub(crate) struct StatsOptions {
    /// Prints one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}
