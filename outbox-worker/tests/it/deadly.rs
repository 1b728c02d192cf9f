//! A publisher that kills the worker when it meets one kind of message.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use outbox_core::{BatchLimit, EventId, OutboxMessage, PublishOutcomes, Publisher, Receipt};
use outbox_testing::MemoryStore;
use tokio::sync::watch;

use crate::rig::{Rig, Worker, within};

/// The wire name of what kills.
pub(crate) const POISON: &str = "orders.poison";

/// How long a harmless call takes.
const CALL: Duration = Duration::from_millis(500);

/// One call, as it began.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// How many workers had died before the one that made it.
    pub(crate) life: usize,
    pub(crate) ids: Vec<EventId>,
    /// Calls under way, this one included.
    pub(crate) at_once: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Deadly {
    deaths: watch::Sender<usize>,
    calls: Mutex<Vec<Call>>,
    under_way: Arc<AtomicUsize>,
}

/// More deaths than it takes. A record takes three alone, after three of whoever was beside it, and as
/// many again where a lane began to count anew, because a healthy record of it was settled between.
const MANY: usize = 40;

impl Deadly {
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// What the next worker sends through.
    pub(crate) fn of_next_life(self: &Arc<Self>) -> Arc<dyn Publisher> {
        Arc::new(Life { number: self.deaths(), deadly: Arc::clone(self) })
    }

    pub(crate) fn deaths(&self) -> usize {
        *self.deaths.borrow()
    }

    /// How often this message was sent.
    pub(crate) fn sends_of(&self, id: EventId) -> usize {
        self.calls().iter().filter(|call| call.ids.contains(&id)).count()
    }

    /// Starts worker after worker, each of which dies of the poison, until the condition holds.
    pub(crate) async fn until(
        self: &Arc<Self>,
        rig: &Rig,
        what: &str,
        condition: impl Fn(&MemoryStore) -> bool,
    ) -> Worker {
        loop {
            let dead = self.deaths();
            assert!(dead < MANY, "{what}: the workers die for ever");
            let worker = rig.start_with(self.of_next_life());
            let mut deaths = self.deaths.subscribe();
            let death = within(what, deaths.wait_for(|deaths| *deaths > dead));
            tokio::select! {
                biased;
                ended = death => drop(ended.unwrap()),
                () = rig.until(what, &condition) => return worker,
            }
            worker.kill();
        }
    }
}

#[derive(Debug)]
struct Life {
    number: usize,
    deadly: Arc<Deadly>,
}

#[async_trait]
impl Publisher for Life {
    fn batch_limit(&self) -> BatchLimit {
        BatchLimit(NonZeroUsize::MIN)
    }

    async fn publish(&self, messages: &[OutboxMessage]) -> PublishOutcomes {
        let under_way = UnderWay::new(&self.deadly.under_way);
        self.deadly.calls.lock().unwrap().push(Call {
            life: self.number,
            ids: messages.iter().map(|message| message.id).collect(),
            at_once: under_way.count(),
        });
        if messages.iter().any(|message| *message.event_type == *POISON) {
            self.deadly.deaths.send_modify(|deaths| *deaths += 1);
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(CALL).await;
        messages.iter().map(|_| Ok(Receipt::default())).collect()
    }
}

/// A call ends with its worker too.
struct UnderWay(Arc<AtomicUsize>);

impl UnderWay {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
