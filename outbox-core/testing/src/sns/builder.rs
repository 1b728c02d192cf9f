use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::control::Control;
use super::stub::SnsStub;
use super::topics::{Topics, implied_attributes};

/// Settings of a stub that is not running yet.
#[derive(Debug, Clone)]
pub struct SnsStubBuilder {
    address: SocketAddr,
    auto_create_topics: bool,
    latency: Duration,
    region: String,
    topics: Vec<String>,
}

impl Default for SnsStubBuilder {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            auto_create_topics: false,
            latency: Duration::ZERO,
            region: "us-east-1".to_owned(),
            topics: Vec::new(),
        }
    }
}

impl SnsStubBuilder {
    /// Where to listen. Default: 127.0.0.1, a free port.
    pub fn address(mut self, address: SocketAddr) -> Self {
        self.address = address;
        self
    }

    /// Creates a topic when it is first published to. Default: false, as SNS.
    pub fn auto_create_topics(mut self, auto_create: bool) -> Self {
        self.auto_create_topics = auto_create;
        self
    }

    /// How long after a request its answer goes out. Default: 0 s.
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// The region of all topics; ARNs of others are refused. Default: `us-east-1`.
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = region.into();
        self
    }

    /// Adds a topic that exists from the start; a name that ends in `.fifo` makes it FIFO.
    pub fn topic(mut self, name: impl Into<String>) -> Self {
        self.topics.push(name.into());
        self
    }

    /// Starts the stub.
    ///
    /// # Errors
    /// The address is not free, or a topic has a name that SNS does not allow.
    pub async fn start(self) -> io::Result<SnsStub> {
        let topics = Topics::new(self.region, self.auto_create_topics);
        for name in &self.topics {
            topics.create(name, implied_attributes(name)).map_err(|refusal| {
                io::Error::new(io::ErrorKind::InvalidInput, refusal.message.into_owned())
            })?;
        }
        SnsStub::listen(self.address, Control::new(topics, self.latency)).await
    }
}
