//! The publisher.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_sns::Client;
use outbox_core::{BatchLimit, OutboxMessage, PublishOutcomes, Publisher};

use super::call::{Call, TimeLeft};
use super::entry::SnsEntry;
use super::pack::{self, pack};
use super::request::Request;
use super::topics::{SnsTopic, SnsTopics};
use super::verdicts::Verdicts;

const BATCH: NonZeroUsize = NonZeroUsize::MIN.saturating_add(pack::MOST - 1);
const CONCURRENCY: NonZeroUsize = NonZeroUsize::MIN.saturating_add(3);
/// Below the publish timeout of a dispatcher with default settings.
const TIME_LIMIT: Duration = Duration::from_millis(7500);

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
    time_limit: Duration,
}

impl SnsPublisher {
    /// Sends to these topics with this client.
    pub fn new(client: Client, topics: SnsTopics) -> Self {
        Self { client, topics: Arc::new(topics), concurrency: CONCURRENCY, time_limit: TIME_LIMIT }
    }

    /// How many requests of one call are under way at a time.
    ///
    /// A call needs more than one when its messages are too large for one request, or when SNS
    /// refuses a request whole and the message to blame is searched for. Default: 4.
    pub fn with_concurrency(mut self, requests: NonZeroUsize) -> Self {
        self.concurrency = requests;
        self
    }

    /// How long one call may take, however many requests it needs.
    ///
    /// A request that would not end in time is not begun: its messages fail with
    /// [`Transient`](outbox_core::FailureKind::Transient), because nothing of them was sent. What
    /// is under way at the end fails with [`Ambiguous`](outbox_core::FailureKind::Ambiguous), and
    /// what was answered stands. So it belongs a little below the time after which the caller
    /// drops the call, which loses all of that: in a dispatcher, the publish timeout.
    /// Default: 7.5 s.
    pub fn with_time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// The topics it knows.
    pub fn topics(&self) -> &SnsTopics {
        &self.topics
    }

    /// Wraps and packs the messages; those that cannot be sent have their verdict at once.
    fn requests<'a>(
        &self,
        messages: &'a [OutboxMessage],
        verdicts: &mut Verdicts,
    ) -> VecDeque<Request<'a>> {
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
fn packed<'a>(
    topic: &Arc<SnsTopic>,
    messages: &'a [OutboxMessage],
    places: &[usize],
    verdicts: &mut Verdicts,
) -> Vec<Request<'a>> {
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
        .map(|entries| Request::new(Arc::clone(topic), messages, entries))
        .collect()
}

#[async_trait]
impl Publisher for SnsPublisher {
    fn system(&self) -> &'static str {
        "aws.sns"
    }

    fn topics(&self) -> Vec<String> {
        self.topics.names()
    }

    fn batch_limit(&self) -> BatchLimit {
        BatchLimit(BATCH)
    }

    async fn publish(&self, messages: &[OutboxMessage]) -> PublishOutcomes {
        let time = TimeLeft::starting(self.time_limit);
        let mut verdicts = Verdicts::new(messages.len());
        let waiting = self.requests(messages, &mut verdicts);
        let (client, concurrency) = (&self.client, self.concurrency);
        Call { client, concurrency, time, waiting, verdicts }.finish().await
    }
}

/// Without the client, whose configuration nobody has to see in a log.
impl fmt::Debug for SnsPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnsPublisher")
            .field("topics", &self.topics)
            .field("concurrency", &self.concurrency)
            .field("time_limit", &self.time_limit)
            .finish_non_exhaustive()
    }
}
