use tokio::sync::watch;

/// How many requests of each kind came in, whatever became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Requests {
    /// `CreateTopic`.
    pub create_topic: usize,
    /// `GetTopicAttributes`.
    pub get_topic_attributes: usize,
    /// Anything else.
    pub other: usize,
    /// `Publish`.
    pub publish: usize,
    /// `PublishBatch`.
    pub publish_batch: usize,
}

impl Requests {
    /// `Publish` and `PublishBatch` together.
    pub fn publishing(&self) -> usize {
        self.publish + self.publish_batch
    }
}

/// The live count behind [`Requests`].
#[derive(Debug, Default)]
pub(crate) struct Counter {
    counts: watch::Sender<Requests>,
}

impl Counter {
    /// Counts a request in and gives the number of publish requests so far.
    pub(crate) fn count(&self, action: &str) -> usize {
        let mut publishing = 0;
        self.counts.send_modify(|counts| {
            match action {
                "CreateTopic" => counts.create_topic += 1,
                "GetTopicAttributes" => counts.get_topic_attributes += 1,
                "Publish" => counts.publish += 1,
                "PublishBatch" => counts.publish_batch += 1,
                _ => counts.other += 1,
            }
            publishing = counts.publishing();
        });
        publishing
    }

    pub(crate) fn snapshot(&self) -> Requests {
        *self.counts.borrow()
    }

    pub(crate) async fn until(&self, mut reached: impl FnMut(&Requests) -> bool) -> Requests {
        let mut counts = self.counts.subscribe();
        match counts.wait_for(|counts| reached(counts)).await {
            Ok(counts) => *counts,
            // Only if the sender were gone, and `self` owns it.
            Err(_) => self.snapshot(),
        }
    }
}
