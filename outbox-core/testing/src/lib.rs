//! Test support for users of the outbox and for authors of stores.

#[expect(
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case fails by panicking, and its sentence says when"
)]
pub mod conformance;
pub mod protocol;
pub mod sns;

mod clock;
mod gate;
mod memory;
mod publisher;

pub use clock::ManualClock;
pub use gate::Gate;
pub use memory::{
    CommitOrder, DeadLetter, HeldLane, HeldRecord, MemorySavepoint, MemoryStore, MemoryTransaction,
    StoreCall,
};
pub use publisher::{ScriptedPublisher, SendVerdict, SentMessage, Times};
