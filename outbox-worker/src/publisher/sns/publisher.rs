//! The publisher.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_sns::Client;
use futures_util::stream::{FuturesUnordered, StreamExt};
use outbox_core::{BatchLimit, OutboxMessage, PublishOutcomes, Publisher};

use super::entry::SnsEntry;
use super::pack::{self, pack};
use super::request::{Answer, Request};
use super::topics::{SnsTopic, SnsTopics};
use super::verdicts::Verdicts;

const BATCH: NonZeroUsize = NonZeroUsize::MIN.saturating_add(pack::MOST - 1);
const CONCURRENCY: NonZeroUsize = NonZeroUsize::MIN.saturating_add(3);

/// Sends messages to topics of AWS SNS.
///
/// One attempt per call: whoever calls decides about another. Used alone, outside of a dispatcher,
/// it sends now and promises nothing: staging an event is what survives a crash.
///
/// The client must not retry by itself, or a lost answer becomes a duplicate that nobody counted.
/// Feature `aws` has a function that builds such a client.
///
/// ```no_run
/// # #[cfg(feature = "aws")]
/// # async fn example() -> Result<(), outbox_worker::publisher::sns::SnsConfigError> {
/// use outbox_worker::publisher::sns::{ClientTimeouts, SnsPublisher, SnsTopics, client_from_env};
///
/// let client = client_from_env(ClientTimeouts::default()).await?;
/// let topics = SnsTopics::new().under("arn:aws:sns:eu-west-1:123456789012:")?;
/// let publisher = SnsPublisher::new(client, topics);
/// # let _ = publisher;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SnsPublisher {
    client: Client,
    topics: Arc<SnsTopics>,
    concurrency: NonZeroUsize,
}

impl SnsPublisher {
    /// Sends to these topics with this client.
    pub fn new(client: Client, topics: SnsTopics) -> Self {
        Self { client, topics: Arc::new(topics), concurrency: CONCURRENCY }
    }

    /// How many requests of one call are under way at a time.
    ///
    /// A call needs more than one when its messages are too large for one request, or when SNS
    /// refuses a request whole and the message to blame is searched for. Default: 4.
    pub fn with_concurrency(mut self, requests: NonZeroUsize) -> Self {
        self.concurrency = requests;
        self
    }

    /// The topics it knows.
    pub fn topics(&self) -> &SnsTopics {
        &self.topics
    }

    /// Wraps and packs the messages; those that cannot be sent have their verdict at once.
    fn requests(&self, messages: &[OutboxMessage], verdicts: &mut Verdicts) -> VecDeque<Request> {
        let mut topics: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, message) in messages.iter().enumerate() {
            topics.entry(&message.topic).or_default().push(place);
        }
        let mut requests = VecDeque::new();
        for (name, places) in topics {
            match self.topics.resolve(name) {
                Ok(topic) => requests.extend(packed(&topic, messages, &places, verdicts)),
                Err(failure) => {
                    verdicts.put_all(places.iter().map(|&place| (place, Err(failure.clone()))));
                }
            }
        }
        requests
    }
}

/// The messages at these places, all for one topic, in as few requests as may be.
fn packed(
    topic: &Arc<SnsTopic>,
    messages: &[OutboxMessage],
    places: &[usize],
    verdicts: &mut Verdicts,
) -> Vec<Request> {
    let mut entries = Vec::with_capacity(places.len());
    for &place in places {
        match SnsEntry::new(&messages[place], topic) {
            Ok(entry) => entries.push(Some((place, entry))),
            Err(failure) => verdicts.put(place, Err(failure)),
        }
    }
    let sizes: Vec<usize> = entries.iter().flatten().map(|(_, entry)| entry.size()).collect();
    pack(&sizes, topic.profile().limit())
        .into_iter()
        .map(|together| together.into_iter().filter_map(|index| entries[index].take()).collect())
        .map(|entries| Request::new(Arc::clone(topic), entries))
        .collect()
}

#[async_trait]
impl Publisher for SnsPublisher {
    fn batch_limit(&self) -> BatchLimit {
        BatchLimit(BATCH)
    }

    async fn publish(&self, messages: &[OutboxMessage]) -> PublishOutcomes {
        let mut verdicts = Verdicts::new(messages.len());
        let mut waiting = self.requests(messages, &mut verdicts);
        let mut under_way = FuturesUnordered::new();
        loop {
            while under_way.len() < self.concurrency.get()
                && let Some(request) = waiting.pop_front()
            {
                under_way.push(request.send(&self.client));
            }
            match under_way.next().await {
                Some(Answer::Complete(answers)) => verdicts.put_all(answers),
                Some(Answer::Split(smaller)) => waiting.extend(smaller),
                None => return verdicts.finish(),
            }
        }
    }
}

/// Without the client, whose configuration nobody has to see in a log.
impl fmt::Debug for SnsPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnsPublisher")
            .field("topics", &self.topics)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}
