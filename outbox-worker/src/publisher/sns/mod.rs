//! Sends to AWS SNS.
//!
//! # Requests
//!
//! Everything goes out as `PublishBatch`, a single message too, so that there is one way to be
//! right or wrong. A request carries up to ten messages and as many bytes as the topic takes.
//! A request that SNS refuses whole because of one message is sent again in parts until that
//! message stands alone: the others are published and only it fails with
//! [`Message`](outbox_core::FailureKind::Message).
//!
//! A call can so take three times as long as one request. [`SnsPublisher::with_time_limit`] bounds
//! it without forgetting what SNS has answered by then.
//!
//! # Failures
//!
//! The error code decides who is at fault. What no code explains is
//! [`Ambiguous`](outbox_core::FailureKind::Ambiguous) if the message may be out: a lost or
//! unreadable answer, or one that does not mention the message. An answer without a code that is
//! not a server's error, a wrongly built request and a defect of this crate count as
//! [`Destination`](outbox_core::FailureKind::Destination): the topic pauses loudly, and no message
//! is dead-lettered for what it did not do.
//!
//! # The structured envelope (default)
//!
//! The body is a `CloudEvents` 1.0 JSON document. It arrives whole over raw and enveloped delivery,
//! HTTP, Firehose and Lambda, and subscriptions can filter on its members.
//!
//! | member | from |
//! |---|---|
//! | `specversion` | `1.0` |
//! | `id` | event id, the same in every retry and replay: what consumers suppress duplicates by |
//! | `source`, `type`, `subject`, `datacontenttype` | the record |
//! | `time` | when it happened, RFC 3339 with microseconds, UTC |
//! | `eventversion` | version of the event, a number |
//! | `partitionkey` | the event's key |
//! | `correlationid`, `causationid`, `tenant`, `traceparent`, `tracestate` | the context |
//! | `headers` | text of a JSON array of `[name, value]` pairs |
//! | `data` | the payload, byte for byte, if its media type is JSON and it is JSON |
//! | `data_base64` | the payload in base64 otherwise |
//!
//! Absent and empty values are left out. White space around the payload is not part of `data`.
//!
//! Headers travel as one text because an extension attribute of `CloudEvents` has a simple type and
//! a name of lower case letters and digits, while headers have an order, letter case and repeated
//! names; and because message attributes do not reach every subscriber.
//!
//! Message attributes, all of type String: `content-type` (`application/cloudevents+json`),
//! `ce_id`, `ce_source`, `ce_type`, `traceparent` if there is one.
//!
//! # The binary envelope
//!
//! The body is the payload, which must be text that a queue can carry. The attributes are those
//! above, with the payload's media type as `content-type`, and `ce_specversion`, `ce_time`,
//! `ce_subject` if there is one, and `ce_extensions`: a JSON object with `eventversion`,
//! `partitionkey`, `correlationid`, `causationid`, `tenant`, `tracestate` and `headers` as they are
//! named above.
//!
//! # Headers to filter by
//!
//! A queue with raw delivery discards a message with more than ten attributes, so no header becomes
//! one by itself. [`TopicProfile::with_filter_headers`] chooses those that do, beside the complete
//! headers: up to five in the structured envelope, one in the binary one. A chosen header that is
//! missing or empty has no attribute; one that holds a control character is a fault of the message,
//! because SNS would ignore it in filters.
//!
//! # What the application refuses
//!
//! The application wraps with the same code when it stages: given the profile of a topic, it
//! refuses there and then what would be a fault of the message here.
//!
//! # FIFO topics
//!
//! A topic whose name ends in `.fifo` gets the ordering key as message group, or else the partition
//! key, or else the event id. A key that SNS does not allow as a group is replaced by its 128-bit
//! XXH3 hash in hexadecimal. The deduplication id is the event id, with `-r1`, `-r2` and so on
//! behind it after an operator's replay, which is meant to be delivered again.

mod call;
mod classify;
#[cfg(feature = "aws")]
mod client;
mod entry;
mod error;
mod pack;
mod publisher;
mod refusal;
mod request;
mod topics;
mod verdicts;

pub use classify::{AnswerClass, classify_entry, classify_request, classify_status};
#[cfg(feature = "aws")]
pub use client::{ClientTimeouts, client, client_from_env};
pub use entry::SnsEntry;
pub use error::SnsConfigError;
pub use outbox_core::{EnvelopeForm, TopicKind, TopicProfile};
pub use pack::pack;
pub use publisher::SnsPublisher;
pub use topics::{SnsTopic, SnsTopics};
