//! The worker binary: sends the staged records of an outbox to AWS SNS.

mod cli;
mod config;
mod database;
mod exit_reason;
mod known;
mod migrate;
mod run;
mod settings;
mod sns;
mod stats;
mod telemetry;

use std::process::ExitCode;

use clap::Parser;
use cli::{Arguments, Command};
use exit_reason::ExitReason;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(dispatch(arguments)),
        Err(error) => Err(ExitReason::new("the runtime does not start", error)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("outbox-worker: {reason}");
            ExitCode::FAILURE
        }
    }
}

async fn dispatch(arguments: Arguments) -> Result<(), ExitReason> {
    let settings = config::load(arguments.config.as_deref())?;
    telemetry::start(&settings.log)?;
    match arguments.command {
        Command::Migrate => migrate::migrate(&settings).await,
        Command::Run(options) => run::run(&settings, options.until_idle).await,
        Command::Stats(options) => stats::stats(&settings, options.json).await,
    }
}
