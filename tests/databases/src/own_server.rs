//! A server of a test's own, which can be killed.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::TestDatabase;

/// How long the server may take to start, after a crash too.
const PATIENCE: Duration = Duration::from_mins(2);

/// A PostgreSQL for one test alone. It ends with whoever holds this, and so does its data.
///
/// It needs the programs of a PostgreSQL on this machine, whichever server the other tests use.
#[derive(Debug)]
pub struct OwnPostgres {
    /// Its one database, also after it was started again.
    pub database: TestDatabase,
    /// Ends the server when `requests` closes.
    _keeper: Child,
    requests: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl OwnPostgres {
    /// Starts a server.
    pub async fn start() -> Self {
        let keeper = Path::new(env!("CARGO_MANIFEST_DIR")).join("../services/postgres");
        let mut keeper = Command::new(keeper)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // What kills the tests and their process group spares it: it sees its input end, then
            // ends the server.
            .process_group(0)
            .spawn()
            .expect("a keeper that starts");
        let requests = keeper.stdin.take().expect("piped");
        let answers = BufReader::new(keeper.stdout.take().expect("piped")).lines();
        let database = TestDatabase { url: String::new() };
        let mut server = Self { database, _keeper: keeper, requests, answers };
        server.database.url = server.answer().await;
        assert_ne!(server.database.url, "", "the keeper has said why");
        server
    }

    /// Kills the server as a crash does. What was committed stays.
    pub async fn kill(&mut self) {
        self.ask("kill").await;
    }

    /// Starts the server that was killed, with its data and at its place.
    pub async fn start_again(&mut self) {
        self.ask("restart").await;
    }

    async fn ask(&mut self, request: &str) {
        let line = format!("{request}\n");
        self.requests.write_all(line.as_bytes()).await.expect("a keeper that reads");
        assert_eq!(self.answer().await, request, "the keeper has said why");
    }

    async fn answer(&mut self) -> String {
        let line = tokio::time::timeout(PATIENCE, self.answers.next_line()).await;
        line.expect("an answer in time").expect("a line").unwrap_or_default()
    }
}
