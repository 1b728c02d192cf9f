use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::accepted::Accepted;
use super::builder::SnsStubBuilder;
use super::control::Control;
use super::fault::Fault;
use super::gate::Hold;
use super::requests::Requests;
use super::server;

/// A running SNS endpoint. It stops when dropped.
///
/// Every method that waits, waits for ever if what it waits for does not happen: bound it with
/// a timeout.
#[derive(Debug)]
pub struct SnsStub {
    address: SocketAddr,
    control: Arc<Control>,
    /// Dropping it stops the server.
    stop: watch::Sender<()>,
    serving: JoinHandle<()>,
}

impl SnsStub {
    /// Starts a stub without topics on a free loopback port.
    ///
    /// # Errors
    /// No port could be had.
    pub async fn start() -> io::Result<Self> {
        Self::builder().start().await
    }

    /// Starts a stub without topics on this address.
    ///
    /// # Errors
    /// The address is not free.
    pub async fn start_on(address: SocketAddr) -> io::Result<Self> {
        Self::builder().address(address).start().await
    }

    /// Settings for a stub of another kind.
    pub fn builder() -> SnsStubBuilder {
        SnsStubBuilder::default()
    }

    pub(crate) async fn listen(address: SocketAddr, control: Control) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let control = Arc::new(control);
        let (stop, stopped) = watch::channel(());
        let serving = tokio::spawn(server::serve(listener, Arc::clone(&control), stopped));
        Ok(Self { address, control, stop, serving })
    }

    /// Stops the stub and waits until its port is free and its connections are closed.
    pub async fn stop(self) {
        drop(self.stop);
        // An error would be the server's panic, and whoever waited for an answer has seen it.
        let _ = self.serving.await;
    }

    /// The URL to give to a client.
    pub fn endpoint_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The ARN that a topic of this name has here, whether it exists or not.
    pub fn topic_arn(&self, name: &str) -> String {
        self.control.topics.arn(name)
    }

    /// Deletes a topic: publishing to it answers `NotFound` until it is created anew.
    pub fn delete_topic(&self, arn: &str) {
        self.control.topics.delete(arn);
    }

    /// Moves the stub's clock, which decides what a FIFO topic still remembers.
    pub fn advance(&self, by: Duration) {
        self.control.clock.advance(by);
    }

    /// Everything accepted so far, in order.
    pub fn journal(&self) -> Vec<Accepted> {
        self.control.journal.snapshot()
    }

    /// Waits until at least this many messages are accepted, then returns the journal.
    pub async fn accepted_at_least(&self, messages: usize) -> Vec<Accepted> {
        self.accepted_until(|journal| journal.len() >= messages).await
    }

    /// Waits until the journal satisfies `reached`, then returns it.
    ///
    /// `reached` sees every change, of the answers too, and must not call the stub.
    pub async fn accepted_until(&self, reached: impl FnMut(&[Accepted]) -> bool) -> Vec<Accepted> {
        self.control.journal.until(reached).await
    }

    /// How many requests came in.
    pub fn requests(&self) -> Requests {
        self.control.requests.snapshot()
    }

    /// Waits until at least this many `Publish` and `PublishBatch` requests came in.
    pub async fn published_at_least(&self, requests: usize) -> Requests {
        self.control.requests.until(|counts| counts.publishing() >= requests).await
    }

    /// Appends to what the coming publish requests meet, one fault each.
    pub fn script(&self, faults: impl IntoIterator<Item = Fault>) {
        self.control.script.add(faults);
    }

    /// The same for one topic, whose requests take from here first.
    pub fn script_for(&self, topic_arn: &str, faults: impl IntoIterator<Item = Fault>) {
        self.control.script.add_for(topic_arn, faults);
    }

    /// What publish requests meet while no script has anything for them.
    pub fn otherwise(&self, fault: Fault) {
        self.control.script.otherwise(fault);
    }

    /// Forgets all scripts: the coming requests are served.
    pub fn clear_faults(&self) {
        self.control.script.clear();
    }

    /// How many scripted faults have not happened yet.
    pub fn faults_left(&self) -> usize {
        self.control.script.left()
    }

    /// Changes how long after a request its answer goes out.
    pub fn set_latency(&self, latency: Duration) {
        self.control.script.set_latency(latency);
    }

    /// Keeps back the answers to what is accepted from now on.
    pub fn hold(&self) -> Hold {
        Hold::new(Arc::clone(&self.control.held))
    }

    /// Waits until at least this many requests hang at one time.
    pub async fn hung_at_least(&self, requests: usize) {
        self.control.hung.waiting_at_least(requests).await;
    }

    /// Lets go the requests that hang now; later ones hang anew.
    pub fn release_hung(&self) {
        self.control.hung.release();
    }
}
