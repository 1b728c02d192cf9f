//! Where the crates meet.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod architecture;
mod bad_input;
mod busy_pool;
mod changing_fleet;
mod conformance;
mod crash;
mod crash_loop;
mod deliveries;
mod drain;
mod frozen_way;
mod function_length;
mod key_order;
mod late_answer;
mod late_commits;
mod listening;
mod named_outboxes;
mod paused_topic;
mod publishing_alone;
mod random;
mod read_only;
mod scene;
mod seeds;
mod server_crash;
mod several_outboxes;
mod slow_store;
mod stopped_worker;
mod topic_settings;
mod warnings;
mod worker_commands;
