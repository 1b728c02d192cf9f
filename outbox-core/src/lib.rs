//! Words and contracts of a transactional outbox.
//!
//! This crate knows no database, no runtime and no broker. An application derives
//! [`OutboxEvent`] on its events; a store implements [`OutboxStore`]; a broker client implements
//! [`Publisher`]; a dispatcher joins the two.
//!
//! | word | meaning |
//! |---|---|
//! | event | the application's typed fact, [`OutboxEvent`] |
//! | envelope | event and metadata, still typed, [`Envelope`] |
//! | message | encoded, ready for transport, [`OutboxMessage`] |
//! | record | message and bookkeeping, one row, [`OutboxRecord`] |
//! | lane | one of 64 slots that a record belongs to, [`Lane`] |
//! | lease | a worker's exclusive, time-limited right to send the records of a lane, [`LaneLease`] |
//! | record claim | the right to settle one record outside of a lane's lease (rare), [`RecordClaim`] |
//!
//! The promise is durable at-least-once delivery: a committed event is sent or kept as a dead
//! letter with its reason, and an event of a rolled-back transaction is never sent. Without
//! `ordered` nothing is promised about order, not per topic nor per aggregate.

// The derive macro names this crate by its public name, also in the crate's own tests.
extern crate self as outbox_core;

mod claim;
mod clock;
mod cloudevents;
mod codec;
mod context;
mod envelope;
mod error;
mod event;
mod failure;
mod fleet;
mod headers;
mod id;
mod lane;
mod lease;
mod message;
mod name;
mod outcome;
mod profile;
mod publisher;
mod read;
mod record;
mod retry;
mod settings;
mod stats;
mod storable;
mod store;
mod tables;
mod unsendable;
mod wake;

pub use claim::{ClaimRefused, RecordClaim, RecordClaims};
pub use clock::Clock;
pub use codec::{BoxError, Codec, Json, Payload, PayloadError};
pub use context::Context;
pub use envelope::{Envelope, EventExt, IntoEnvelope, Schedule, StagedMessage};
pub use error::{EncodeError, StoreError, StoreErrorKind, TextFault};
pub use event::OutboxEvent;
pub use failure::{Failure, FailureKind};
pub use fleet::{Fleet, WorkerCard};
pub use headers::Headers;
pub use id::{ClaimToken, EventId, LeaseToken, WorkerId};
pub use lane::Lane;
pub use lease::{
    ClaimedRecord, LaneLease, LaneState, LeaseRequest, LeaseTime, Suspect, WaitingKey,
};
pub use message::{Format, OutboxMessage};
pub use name::check_topic;
#[cfg(feature = "derive")]
pub use outbox_derive::OutboxEvent;
pub use outcome::{DeadReason, LostLane, Outcome, OutcomeKind, Settled};
pub use profile::{EnvelopeForm, TopicKind, TopicProfile, TopicProfiles, WrappedMessage};
pub use publisher::{BatchLimit, PublishOutcomes, Publisher, Receipt};
pub use read::{Batch, DuePlace, LaneRead, ReadMark, ReadRequest, UndecodableRow, Withheld};
pub use record::{KeyRef, OutboxRecord, Position, RecordRef};
pub use retry::{ExponentialBackoff, FailedAttempt, RetryPolicy, Verdict};
pub use settings::{Environment, SettingsError};
pub use stats::{Count, OutboxStats};
pub use store::OutboxStore;
pub use tables::TableNames;
pub use unsendable::Unsendable;
pub use wake::WakeSource;
