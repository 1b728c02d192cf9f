//! The workers that share one outbox.

use std::time::Duration;

use crate::id::WorkerId;
use crate::message::Format;

/// What a worker tells the others about itself.
#[derive(Clone, Debug)]
pub struct WorkerCard {
    /// The worker.
    pub id: WorkerId,
    /// Version of its binary.
    pub version: String,
    /// Newest record format that it can send.
    pub max_format: Format,
    /// Topics that it can send to; empty means every topic.
    pub topics: Vec<String>,
    /// Topics of records in its lanes that it cannot send to.
    pub lacks: Vec<String>,
    /// How many lanes it lacks; `None` if it takes no part in sharing.
    pub wants_lanes: Option<u8>,
    /// After how long without a heartbeat it counts as gone.
    pub alive_for: Duration,
}

impl WorkerCard {
    /// Whether it can send to this topic.
    pub fn routes(&self, topic: &str) -> bool {
        self.topics.is_empty() || self.topics.iter().any(|own| own == topic)
    }
}

/// Who else is there, at the instant of a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fleet {
    /// Live workers that take part in sharing, this one included.
    pub sharing: u32,
    /// Lanes that the other live workers lack.
    pub wanted: u32,
    /// Lanes that nobody holds: there is nothing to be leased while there is none.
    pub free: u8,
    /// Which of the topics that this worker lacks another live worker that shares can send to.
    pub routed: Vec<String>,
    /// As [`Settled::stamp`](crate::Settled::stamp), for a worker that has nothing to settle.
    pub stamp: Option<u64>,
}

impl Fleet {
    /// Most lanes of a worker when all are shared out evenly.
    pub fn share(&self) -> u8 {
        let workers = self.sharing.max(1);
        u8::try_from(u32::from(crate::Lane::COUNT).div_ceil(workers)).unwrap_or(u8::MAX)
    }

    /// Fewest lanes of a worker when all are shared out evenly; a worker below it lacks some.
    pub fn least(&self) -> u8 {
        let workers = self.sharing.max(1);
        u8::try_from(u32::from(crate::Lane::COUNT) / workers).unwrap_or(u8::MAX)
    }
}
