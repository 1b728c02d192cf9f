//! Ways to a broker.
//!
//! [`LogPublisher`] only says what it would send, [`Router`] chooses among several publishers, and
//! the `sns` module (feature `sns`) sends to AWS SNS.

mod log;
mod router;
#[cfg(feature = "sns")]
pub mod sns;

pub use log::LogPublisher;
pub use router::Router;
