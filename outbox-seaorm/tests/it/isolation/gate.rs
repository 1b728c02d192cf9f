//! Where a session stops before each of its statements.

use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};

use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;

/// What a session tells the schedule.
#[derive(Debug)]
pub(crate) enum Event {
    /// It is about to run this statement.
    Arrived(usize, String),
    /// The database let another one go first: it repeats its call when that has ended.
    Refused(usize),
    /// Its script has ended, or panicked with this text.
    Ended(usize, Result<(), String>),
}

/// Lets one statement of a session through at a time.
#[derive(Debug)]
pub(crate) struct Gate {
    session: usize,
    events: UnboundedSender<Event>,
    permits: Semaphore,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Which statements stop here. None: the session is being set up and runs freely.
    stops: Option<Stops>,
    parked: Option<Thread>,
    connections: Vec<u64>,
}

/// Which statements are steps of their own. The others run on with the one before.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stops {
    /// All but those that neither lock nor see anything.
    All,
    /// Those about the lanes and the migrations. Statements on other tables than those that the
    /// other session touches may be in any order with it, and all orders are the same.
    Lanes,
}

impl Stops {
    fn at(self, sql: &str) -> bool {
        match self {
            Self::All => !["BEGIN", "SET ", "ROLLBACK TO"].iter().any(|free| sql.starts_with(free)),
            Self::Lanes => {
                let names = ["outbox_lane", "outbox_migrations", "COMMIT"];
                names.iter().any(|name| sql.contains(name))
            }
        }
    }
}

impl Gate {
    pub(crate) fn new(session: usize, events: UnboundedSender<Event>) -> Arc<Self> {
        let (permits, inner) = (Semaphore::new(0), Mutex::default());
        Arc::new(Self { session, events, permits, inner })
    }

    /// From now on statements stop here.
    pub(crate) fn close(&self, stops: Stops) {
        self.inner.lock().unwrap().stops = Some(stops);
    }

    /// The server's numbers of the session's connections.
    pub(crate) fn connections(&self) -> Vec<u64> {
        self.inner.lock().unwrap().connections.clone()
    }

    pub(crate) fn connected(&self, number: u64) {
        self.inner.lock().unwrap().connections.push(number);
    }

    pub(crate) fn disconnected(&self, number: u64) {
        self.inner.lock().unwrap().connections.retain(|other| *other != number);
    }

    /// Lets one statement through.
    pub(crate) fn release(&self) {
        self.permits.add_permits(1);
        if let Some(thread) = self.inner.lock().unwrap().parked.take() {
            thread.unpark();
        }
    }

    /// Waits for its turn, if the statement is one that stops.
    pub(crate) async fn pass(&self, sql: &str) {
        if self.arrives(sql) {
            self.permits.acquire().await.unwrap().forget();
        }
    }

    /// As [`Gate::pass`], on the session's own thread.
    pub(crate) fn pass_blocking(&self, sql: &str) {
        if self.arrives(sql) {
            self.wait();
        }
    }

    /// Waits until the call can be repeated.
    pub(crate) fn refuse(&self) {
        self.tell(Event::Refused(self.session));
        self.wait();
    }

    pub(crate) fn end(&self, ended: Result<(), String>) {
        self.tell(Event::Ended(self.session, ended));
    }

    fn tell(&self, event: Event) {
        // Nobody listens any longer once the test has failed.
        let _ = self.events.send(event);
    }

    fn arrives(&self, sql: &str) -> bool {
        let stops = self.inner.lock().unwrap().stops;
        let stop = stops.is_some_and(|stops| stops.at(sql));
        if stop {
            self.tell(Event::Arrived(self.session, sql.to_owned()));
        }
        stop
    }

    fn wait(&self) {
        loop {
            self.inner.lock().unwrap().parked = Some(thread::current());
            if let Ok(permit) = self.permits.try_acquire() {
                return permit.forget();
            }
            thread::park();
        }
    }
}
