//! The worker binary as a process.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::process::Command;

use crate::output::Output;
use crate::process::{Process, Signal, binary};

/// How a worker process reaches its database and its SNS.
#[derive(Clone, Debug)]
pub struct WorkerSetup {
    /// The database.
    pub database_url: String,
    /// Where SNS answers.
    pub sns_endpoint: String,
    /// More settings, as variables.
    pub settings: Vec<(&'static str, &'static str)>,
    /// More settings, as a file.
    pub settings_file: Option<PathBuf>,
}

impl WorkerSetup {
    /// A worker with the settings that it has by itself.
    pub fn new(database_url: &str, sns_endpoint: &str) -> Self {
        Self {
            database_url: database_url.to_owned(),
            sns_endpoint: sns_endpoint.to_owned(),
            settings: Vec::new(),
            settings_file: None,
        }
    }

    /// Short leases, so that a test need not wait long for the lanes of a worker that was killed.
    pub fn with_short_leases(mut self) -> Self {
        self.settings.extend([
            ("OUTBOX_DISPATCHER__LEASE", "3s"),
            ("OUTBOX_DISPATCHER__PUBLISH_TIMEOUT", "1500ms"),
            ("OUTBOX_DISPATCHER__MARGIN", "200ms"),
        ]);
        self
    }

    /// A send may take longer than a third of the lease, after which leases are renewed.
    pub fn with_sends_beyond_a_renewal(mut self) -> Self {
        self.settings.extend([
            ("OUTBOX_DISPATCHER__LEASE", "9s"),
            ("OUTBOX_DISPATCHER__PUBLISH_TIMEOUT", "5700ms"),
            ("OUTBOX_DISPATCHER__MARGIN", "200ms"),
        ]);
        self
    }

    /// A command of the worker binary.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary("outbox-worker"));
        command
            .args(arguments)
            .env_clear()
            .env("DATABASE_URL", &self.database_url)
            .env("AWS_ENDPOINT_URL_SNS", &self.sns_endpoint)
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_REGION", "us-east-1")
            .env("OUTBOX_SNS__TOPIC_ARN_PREFIX", "arn:aws:sns:us-east-1:000000000000:")
            .envs(self.settings.iter().copied())
            .envs(self.settings_file.iter().map(|file| ("OUTBOX_CONFIG", file)));
        command
    }

    /// A process that sends, with credentials of its own. It may not have leased anything yet.
    pub fn start(&self) -> Worker {
        self.start_command(&["run"])
    }

    /// A process that sends until nothing is left that can be sent now.
    pub fn start_until_idle(&self) -> Worker {
        self.start_command(&["run", "--until-idle"])
    }

    fn start_command(&self, arguments: &[&str]) -> Worker {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let access_key_id = format!("WORKER{}", STARTED.fetch_add(1, Ordering::Relaxed) + 1);
        let mut command = self.command(arguments);
        command.env("AWS_ACCESS_KEY_ID", &access_key_id);
        Worker { process: Process::start(command), access_key_id }
    }
}

/// A worker process that sends.
#[derive(Debug)]
pub struct Worker {
    process: Process,
    access_key_id: String,
}

impl Worker {
    /// What it signs its requests with: no other process has the same.
    pub fn access_key_id(&self) -> &str {
        &self.access_key_id
    }

    /// What it says.
    pub fn log(&self) -> Output {
        self.process.log()
    }

    /// Returns once it has leased its lanes or is about to.
    pub async fn until_running(&self) {
        self.until_logged("worker runs").await;
    }

    /// Ends it at once, as a crash does.
    pub async fn kill(self) {
        self.process.kill().await;
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Suspends it, and waits until it stands still.
    pub async fn suspend(&self) {
        self.process.suspend().await;
    }

    /// Asks it to end and waits until it has.
    pub async fn stop(self) -> (ExitStatus, String) {
        self.process.terminate();
        self.ended().await
    }

    /// Waits for its end, and returns all that it said.
    pub async fn ended(self) -> (ExitStatus, String) {
        self.process.ended().await
    }

    /// Waits for a line with this text in its log.
    pub async fn until_logged(&self, text: &str) -> String {
        self.process.until_logged(text).await
    }
}
