//! The surroundings of a test with processes, and what they show when it fails.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use outbox_test_databases::{OwnPostgres, TestDatabase};
use outbox_testing::sns::{Accepted, SnsStub};
use outbox_tests::Output;
use outbox_tests::process::{PATIENCE, Process, Worker, WorkerSetup};

/// How long a whole case may take. Each of its waits has a limit of its own; this one is for what
/// no case thinks of, such as a database that does not answer.
const LONGEST: Duration = Duration::from_mins(4);

/// Tests with processes run one at a time: a machine that is overloaded loses leases, and then what
/// is repeated is no longer explained by the kills.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A database, an SNS and what the processes of a test have logged.
pub(crate) struct Scene {
    pub(crate) database: TestDatabase,
    pub(crate) stub: SnsStub,
    logs: Mutex<Vec<(String, Output)>>,
}

pub(crate) async fn on_mariadb(case: impl AsyncFnOnce(&Scene)) {
    let _alone = ALONE.lock().await;
    outbox_test_databases::on_mariadb(|database| play(database, case)).await;
}

pub(crate) async fn on_postgres(case: impl AsyncFnOnce(&Scene)) {
    let _alone = ALONE.lock().await;
    outbox_test_databases::on_postgres(|database| play(database, case)).await;
}

/// On a server of its own, which the case may kill.
pub(crate) async fn on_own_postgres(case: impl AsyncFnOnce(&Scene, &mut OwnPostgres)) {
    let _alone = ALONE.lock().await;
    let mut server = OwnPostgres::start().await;
    let database = server.database.clone();
    play(database, async |scene: &Scene| case(scene, &mut server).await).await;
}

pub(crate) async fn on_sqlite(case: impl AsyncFnOnce(&Scene)) {
    let _alone = ALONE.lock().await;
    outbox_test_databases::on_sqlite(|database| play(database, case)).await;
}

async fn play(database: TestDatabase, case: impl AsyncFnOnce(&Scene)) {
    let stub = SnsStub::builder().auto_create_topics(true).start().await.unwrap();
    let scene = Scene { database, stub, logs: Mutex::default() };
    let ended = tokio::time::timeout(LONGEST, case(&scene)).await;
    assert!(ended.is_ok(), "no end within {LONGEST:?}");
}

impl Scene {
    /// How workers reach this database and this SNS.
    pub(crate) fn setup(&self) -> WorkerSetup {
        WorkerSetup::new(&self.database.url, &self.stub.endpoint_url())
    }

    /// A worker that runs.
    pub(crate) async fn worker(&self, setup: &WorkerSetup) -> Worker {
        let worker = setup.start();
        self.keep(worker.access_key_id(), worker.log());
        worker.until_running().await;
        worker
    }

    /// A worker that ends by itself.
    pub(crate) fn worker_until_idle(&self, setup: &WorkerSetup) -> Worker {
        let worker = setup.start_until_idle();
        self.keep(worker.access_key_id(), worker.log());
        worker
    }

    /// Shows the log of this process too, should the test fail.
    pub(crate) fn watch(&self, name: &str, process: &Process) {
        self.keep(name, process.log());
    }

    /// Waits for something that may never come.
    pub(crate) async fn within<T>(&self, what: &str, wait: impl Future<Output = T>) -> T {
        tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| {
            // The end of the scene shows why.
            panic!("no {what} within {PATIENCE:?}")
        })
    }

    /// Waits until something is the case that the database answers.
    pub(crate) async fn until(&self, what: &str, mut reached: impl AsyncFnMut() -> bool) {
        let wait = async {
            while !reached().await {
                tokio::task::yield_now().await;
            }
        };
        self.within(what, wait).await;
    }

    fn keep(&self, name: &str, log: Output) {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs.push((name.to_owned(), log));
    }

    fn show(&self) {
        let journal = self.stub.journal();
        eprintln!("journal, of {} messages the repeated and the last ones:", journal.len());
        telling(&journal).for_each(|accepted| eprintln!("  {}", line(accepted)));
        for (name, log) in self.logs.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            eprintln!("log of {name}:\n{}", log.text());
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.show();
        }
    }
}

/// What was accepted more than once, and what was accepted last.
fn telling(journal: &[Accepted]) -> impl Iterator<Item = &Accepted> {
    let mut times: HashMap<Option<&str>, usize> = HashMap::new();
    for accepted in journal {
        *times.entry(event_id(accepted)).or_default() += 1;
    }
    let last = journal.len().saturating_sub(50);
    journal.iter().filter(move |accepted| accepted.number > last || times[&event_id(accepted)] > 1)
}

fn event_id(accepted: &Accepted) -> Option<&str> {
    accepted.attribute("ce_id")
}

fn line(accepted: &Accepted) -> String {
    let Accepted { number, request, received_at, answer, .. } = accepted;
    let id = event_id(accepted).unwrap_or("?");
    let publisher = accepted.access_key_id.as_deref().unwrap_or("?");
    format!("{number} request {request} of {publisher} at {received_at}: {id}, answer {answer:?}")
}
