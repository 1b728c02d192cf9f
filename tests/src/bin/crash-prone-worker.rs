//! A worker whose publisher has a defect: it aborts the process when it meets one order.
//!
//! It sends nothing anywhere, and prints the total of each order whose event it would have sent. The
//! variable `ABORTS_AT` is the total of the order that it does not survive. With `REFUSES` every topic
//! is missing.

#![expect(clippy::print_stdout, reason = "a program that prints what it sends")]

use std::error::Error;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use outbox_core::{
    BatchLimit, Failure, FailureKind, OutboxMessage, PublishOutcomes, Publisher, Receipt,
};
use outbox_test_databases::TestDatabase;
use outbox_tests::store::lane_store;
use outbox_worker::{CancellationToken, Dispatcher, DispatcherSettings};
use tokio::signal::unix::{SignalKind, signal};

#[derive(Debug)]
struct Defective {
    aborts_at: Option<i64>,
    refuses: bool,
}

#[async_trait]
impl Publisher for Defective {
    fn batch_limit(&self) -> BatchLimit {
        BatchLimit(NonZeroUsize::MIN)
    }

    async fn publish(&self, messages: &[OutboxMessage]) -> PublishOutcomes {
        messages.iter().map(|message| self.send(message)).collect()
    }
}

impl Defective {
    fn send(&self, message: &OutboxMessage) -> Result<Receipt, Failure> {
        if self.refuses {
            return Err(Failure::new(FailureKind::Destination, "there is no such topic"));
        }
        let total = serde_json::from_slice(&message.payload)
            .ok()
            .and_then(|event: serde_json::Value| event["total"].as_i64());
        if total.is_some() && total == self.aborts_at {
            std::process::abort();
        }
        println!("sent {}", total.unwrap_or_default());
        Ok(Receipt::default())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let database = TestDatabase { url: std::env::var("DATABASE_URL")? };
    let aborts_at = std::env::var("ABORTS_AT").ok();
    let aborts_at = aborts_at.map(|total| total.parse()).transpose()?;
    let publisher = Defective { aborts_at, refuses: std::env::var_os("REFUSES").is_some() };
    // So short that a test need not wait long for the lanes of a process that died.
    let mut settings = DispatcherSettings::default();
    settings.lease = Duration::from_millis(1500);
    settings.publish_timeout = Duration::from_millis(500);
    settings.margin = Duration::from_millis(100);

    let dispatcher = Dispatcher::builder(lane_store(&database).await, Arc::new(publisher))
        .settings(settings)
        .build()?;
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    tokio::spawn(async move {
        terminate.recv().await;
        stop.cancel();
    });
    dispatcher.run(shutdown).await;
    Ok(())
}
