//! An SNS endpoint in the test's own process.
//!
//! [`SnsStub`] listens on a loopback port and speaks the SNS wire protocol, so the unmodified
//! SDK client, in this process or another, reaches it over TCP. It refuses what SNS refuses,
//! journals what it accepts, and fails exactly when its script says so.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! use outbox_testing::sns::{Fault, SnsStub};
//!
//! let stub = SnsStub::builder().topic("orders").start().await?;
//! stub.script([Fault::Throttle, Fault::DropAfterAccept]);
//!
//! // Point a client or a worker process at these two, then read what arrived.
//! let (endpoint, topic) = (stub.endpoint_url(), stub.topic_arn("orders"));
//! # let _ = (endpoint, topic);
//! assert!(stub.journal().is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! The stub keeps no subscriptions, checks no signatures and knows no quotas. It notes who signed
//! a request, so that publishers with different access key ids can be told apart in the journal.

mod accepted;
mod answer;
mod builder;
mod clock;
mod control;
mod dedup;
mod fault;
mod form;
mod gate;
mod journal;
mod publish;
mod refusal;
mod reply;
mod request;
mod requests;
mod rules;
mod script;
mod server;
mod signer;
mod stub;
mod topics;
mod xml;

pub use accepted::{Accepted, Answer, Attribute};
pub use builder::SnsStubBuilder;
pub use fault::{Entries, EntryFailure, Fault};
pub use gate::Hold;
pub use requests::Requests;
pub use stub::SnsStub;
