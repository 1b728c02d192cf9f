//! The real binaries as real processes.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, kill_process};
use tokio::process::{Child, Command};

use crate::output::Output;
pub use crate::worker::{Worker, WorkerSetup};
pub use rustix::process::Signal;

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
    stdout: Output,
    stderr: Output,
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
        let stdout = Output::of(child.stdout.take().expect("piped"));
        let stderr = Output::of(child.stderr.take().expect("piped"));
        Self { child, stdout, stderr }
    }

    /// Waits for a line with this text on standard error.
    pub async fn until_logged(&self, text: &str) -> String {
        self.stderr.until(text, PATIENCE).await
    }

    /// Waits for a line with this text on standard output.
    pub async fn until_printed(&self, text: &str) -> String {
        self.stdout.until(text, PATIENCE).await
    }

    /// Its standard error, which can still be read when the process is gone.
    pub fn log(&self) -> Output {
        self.stderr.clone()
    }

    /// Its standard output, which can still be read when the process is gone.
    pub fn printed(&self) -> Output {
        self.stdout.clone()
    }

    /// Returns once it has ended, whatever it took.
    pub async fn gone(&mut self) {
        self.child.wait().await.expect("a status");
    }

    /// Ends it at once, as a crash does.
    pub async fn kill(mut self) {
        let killed = tokio::time::timeout(PATIENCE, self.child.kill()).await;
        killed.expect("an end in time").expect("a process to kill");
    }

    /// Asks it to end.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let id = self.child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        kill_process(id.expect("a running process"), signal).expect("a signal that is sent");
    }

    /// Suspends it, and waits until every thread of it stands still: the signal alone leaves it a
    /// moment in which it goes on.
    pub async fn suspend(&self) {
        self.signal(Signal::STOP);
        while !self.stands_still() {
            tokio::task::yield_now().await;
        }
    }

    fn stands_still(&self) -> bool {
        let id = self.child.id().expect("a running process");
        let threads = std::fs::read_dir(format!("/proc/{id}/task")).expect("its threads");
        threads.flatten().all(|thread| {
            let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            // The state stands behind the name, which is in brackets.
            stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('T'))
        })
    }

    /// Waits for its end.
    pub async fn ended(mut self) -> (ExitStatus, String) {
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        let said = self.stderr.to_the_end(PATIENCE).await;
        assert!(status.is_ok(), "no end in time of a process that said:\n{said}");
        (status.expect("an end in time").expect("a status"), said)
    }
}
