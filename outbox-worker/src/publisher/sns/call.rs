//! One call of the publisher: its requests, until all are answered or its time is up.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::time::Duration;

use aws_sdk_sns::Client;
use futures_util::stream::{FuturesUnordered, StreamExt};
use outbox_core::{Failure, FailureKind, PublishOutcomes};
use tokio::time::{Instant, timeout_at};

use super::request::{Answer, Request};
use super::verdicts::Verdicts;

/// Beyond it a limit is none, and instants could overflow.
const LONGEST: Duration = Duration::from_hours(24);

/// What is left to do of one call.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) client: &'a Client,
    pub(crate) concurrency: NonZeroUsize,
    pub(crate) time: TimeLeft,
    pub(crate) waiting: VecDeque<Request<'a>>,
    pub(crate) verdicts: Verdicts,
}

impl Call<'_> {
    /// Sends what waits and gathers the answers, within the time.
    pub(crate) async fn finish(mut self) -> PublishOutcomes {
        let mut under_way = FuturesUnordered::new();
        loop {
            while under_way.len() < self.concurrency.get()
                && self.time.suffices()
                && let Some(request) = self.waiting.pop_front()
            {
                under_way.push(timed(request, self.client));
            }
            // An answer that is there wins over the end of the time.
            let Ok(Some((answer, took))) = timeout_at(self.time.end, under_way.next()).await else {
                break;
            };
            self.time.slowest = self.time.slowest.max(took);
            match answer {
                Answer::Complete(answers) => self.verdicts.put_all(answers),
                Answer::Split(smaller) => self.waiting.extend(smaller),
            }
        }
        let unsent = Failure::new(FailureKind::Transient, "not sent: no time was left for it");
        for request in self.waiting {
            self.verdicts.put_all(request.all_fail(&unsent));
        }
        self.verdicts.finish()
    }
}

/// The time that a call has.
#[derive(Debug)]
pub(crate) struct TimeLeft {
    end: Instant,
    /// How long the slowest request of the call took.
    slowest: Duration,
}

impl TimeLeft {
    /// All of it, from now on.
    pub(crate) fn starting(limit: Duration) -> Self {
        Self { end: Instant::now() + limit.min(LONGEST), slowest: Duration::ZERO }
    }

    /// Whether another request may begin.
    ///
    /// One that the end of the time cuts off may be out, so its messages would be sent twice; not
    /// sending them costs less. It is taken to be as slow as the slowest one before it.
    fn suffices(&self) -> bool {
        self.end.saturating_duration_since(Instant::now()) > self.slowest
    }
}

async fn timed<'a>(request: Request<'a>, client: &Client) -> (Answer<'a>, Duration) {
    let begun = Instant::now();
    let answer = request.send(client).await;
    (answer, begun.elapsed())
}
