//! How messages travel to a topic, and which of them it would refuse.

mod fifo;
mod fit;
mod form;
mod kind;
mod profiles;
mod topic_profile;
mod wrapped;

pub use form::EnvelopeForm;
pub use kind::TopicKind;
pub use profiles::TopicProfiles;
pub use topic_profile::TopicProfile;
pub use wrapped::WrappedMessage;
