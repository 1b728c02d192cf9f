//! What can be asked of the binary.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

const AFTER: &str = "\
Settings come from the file of --config and from the environment, which wins:
  DATABASE_URL                       the application's database
  OUTBOX_SNS__TOPIC_ARN_PREFIX       arn:aws:sns:eu-west-1:123456789012:
  OUTBOX_DISPATCHER__LEASE           15s
and so on, OUTBOX_ and the key of the file in capitals, with __ for the dot.
One worker serves several outboxes if the file names them, each with what differs from the rest:
  [outboxes.billing]
  schema = \"billing\"
AWS credentials and region come from the usual AWS variables, files and roles.

Example:
  DATABASE_URL=postgres://worker:secret@localhost/shop outbox-worker stats

Exit codes: 0 done or drained, 1 refused with one line on standard error, 2 wrong usage.";

const MIGRATE: &str = "\
The role needs the right to create tables. What is there already stays as it is.

Example:
  DATABASE_URL=postgres://owner:secret@localhost/shop outbox-worker migrate";

const RUN: &str = "\
Records go to AWS SNS. Credentials and region come from the standard AWS chain: variables
(AWS_ACCESS_KEY_ID, AWS_REGION, AWS_PROFILE), the files of ~/.aws, the role of the container or machine.
They are no settings of this program.

With OUTBOX_PUBLISHER=log (publisher = \"log\" in the file) records are logged and sent nowhere. They
count as published all the same and leave the outbox: not for data that must arrive.

The database role must be allowed to read and to write; what it lacks is named at the start.

With --until-idle it ends by itself. What failed and is due again later, and what goes to a topic that
is missing or refused, is left for the next run.

Examples:
  DATABASE_URL=postgres://worker:secret@localhost/shop AWS_REGION=eu-west-1 \\
  OUTBOX_SNS__TOPIC_ARN_PREFIX=arn:aws:sns:eu-west-1:123456789012: outbox-worker run

  DATABASE_URL=sqlite:///srv/shop.db OUTBOX_PUBLISHER=log outbox-worker run";

const STATS: &str = "\
How many records are
  ready         due, sent as soon as a worker comes to it
  scheduled     not due yet, never failed
  retrying      failed, waits for its next attempt
  parked        waits behind a dead record of its key
  dead          not tried again by itself
The right to read the tables suffices.

Example:
  DATABASE_URL=postgres://watcher:secret@localhost/shop outbox-worker stats --json";

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
    #[command(after_help = MIGRATE)]
    Migrate,
    /// Sends records until SIGTERM or SIGINT, then drains; a second signal ends at once.
    #[command(after_help = RUN)]
    Run(RunOptions),
    /// Shows what waits.
    #[command(after_help = STATS)]
    Stats(StatsOptions),
}

#[derive(Args, Debug)]
pub(crate) struct RunOptions {
    /// Ends once nothing is left that can be sent now, for a schedule such as cron.
    #[arg(long)]
    pub(crate) until_idle: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StatsOptions {
    /// Prints one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}
