//! Integration tests of the worker library.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that goes wrong must stop at once")]

mod chain;
mod deadly;
mod dispatcher_calm;
mod dispatcher_claims;
mod dispatcher_crash_loop;
mod dispatcher_delivery;
mod dispatcher_due;
mod dispatcher_flow;
mod dispatcher_idle;
mod dispatcher_large;
mod dispatcher_lease;
mod dispatcher_logs;
mod dispatcher_measures;
mod dispatcher_memory;
mod dispatcher_order;
mod dispatcher_outage;
mod dispatcher_panics;
mod dispatcher_routing;
mod dispatcher_spans;
mod logs;
#[cfg(feature = "sns")]
mod publisher_binary;
#[cfg(feature = "sns")]
mod publisher_classify;
#[cfg(feature = "aws")]
mod publisher_client;
#[cfg(feature = "aws")]
mod publisher_credentials;
#[cfg(feature = "aws")]
mod publisher_endpoint;
#[cfg(feature = "sns")]
mod publisher_fifo;
mod publisher_fixture;
mod publisher_log;
#[cfg(feature = "sns")]
mod publisher_pack;
mod publisher_router;
#[cfg(feature = "aws")]
mod publisher_sns;
#[cfg(feature = "aws")]
mod publisher_sns_faults;
#[cfg(feature = "sns")]
mod publisher_structured;
#[cfg(feature = "aws")]
mod publisher_time_limit;
#[cfg(feature = "sns")]
mod publisher_topics;
mod rig;
mod settings;
mod simulation;
mod stamps;
