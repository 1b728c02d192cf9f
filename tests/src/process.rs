//! The real binaries as real processes.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

/// How long a process may take for what a test waits for.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// A built binary of the workspace.
///
/// Cargo builds it beside the tests; `tests/run` sees to it also for a single package.
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let folder = test.ancestors().nth(2).expect("the folder of binaries");
    let path = folder.join(name);
    assert!(path.exists(), "{name} is not built: run `cargo build --workspace --bins` first");
    path
}

/// A running process that dies with the test.
#[derive(Debug)]
pub struct Process {
    child: Child,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: Lines<BufReader<ChildStderr>>,
}

impl Process {
    /// Starts a program with nothing of this process's environment but what it needs to run.
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("a program that starts");
        let stdout = child.stdout.take().expect("piped");
        let stderr = child.stderr.take().expect("piped");
        Self {
            child,
            stdout: BufReader::new(stdout).lines(),
            stderr: BufReader::new(stderr).lines(),
        }
    }

    /// Reads standard error up to a line with this text.
    pub async fn until_logged(&mut self, text: &str) -> String {
        await_line(&mut self.stderr, text).await
    }

    /// Reads standard output up to a line with this text.
    pub async fn until_printed(&mut self, text: &str) -> String {
        await_line(&mut self.stdout, text).await
    }

    /// Ends it at once, as a crash does.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("a process to kill");
    }

    /// Asks it to end.
    pub async fn terminate(&self) {
        let id = self.child.id().expect("a running process").to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().await.expect("kill");
        assert!(sent.success(), "the signal was not sent");
    }

    /// Waits for its end.
    pub async fn ended(mut self) -> (ExitStatus, String) {
        let mut said = String::new();
        while let Ok(Some(line)) = self.stderr.next_line().await {
            said.push_str(&line);
            said.push('\n');
        }
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        (status.expect("an end in time").expect("a status"), said)
    }
}

async fn await_line<R>(lines: &mut Lines<BufReader<R>>, text: &str) -> String
where
    R: tokio::io::AsyncRead + Unpin,
{
    let mut seen = String::new();
    let search = async {
        while let Ok(Some(line)) = lines.next_line().await {
            if line.contains(text) {
                return Some(line);
            }
            seen.push_str(&line);
            seen.push('\n');
        }
        None
    };
    let found = tokio::time::timeout(PATIENCE, search).await.ok().flatten();
    assert!(found.is_some(), "no line with `{text}` in:\n{seen}");
    found.unwrap_or_default()
}

/// How a worker process reaches its database and its SNS.
#[derive(Clone, Debug)]
pub struct WorkerSetup {
    /// The database.
    pub database_url: String,
    /// Where SNS answers.
    pub sns_endpoint: String,
    /// More settings, as variables.
    pub settings: Vec<(&'static str, &'static str)>,
}

impl WorkerSetup {
    /// A worker with the settings that it has by itself.
    pub fn new(database_url: &str, sns_endpoint: &str) -> Self {
        Self {
            database_url: database_url.to_owned(),
            sns_endpoint: sns_endpoint.to_owned(),
            settings: Vec::new(),
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
            .envs(self.settings.iter().copied());
        command
    }

    /// A running worker that has leased its lanes or is about to.
    pub async fn run(&self) -> Process {
        let mut process = Process::start(self.command(&["run"]));
        process.until_logged("worker runs").await;
        process
    }
}
