//! The running part of the outbox: dispatcher and publishers.
//!
//! The library knows only the contracts of `outbox-core`; the binary of the same name joins it with
//! the SeaORM store and AWS SNS.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use outbox_core::{OutboxStore, Publisher};
//! # async fn run(store: Arc<dyn OutboxStore>, publisher: Arc<dyn Publisher>)
//! #     -> Result<(), outbox_core::SettingsError> {
//! use outbox_worker::{CancellationToken, Dispatcher};
//!
//! let shutdown = CancellationToken::new();
//! let dispatcher = Dispatcher::builder(store, publisher).build()?;
//! dispatcher.run(shutdown).await;
//! # Ok(())
//! # }
//! ```

mod chain;
mod dispatcher;
mod figures;
mod gate;
mod health;
mod metrics;
pub mod publisher;
mod settings;
mod trace;
mod wake;

pub use chain::Chain;
pub use dispatcher::{Dispatcher, DispatcherBuilder, Drained};
pub use figures::Figures;
pub use health::{Breaker, Health, HealthReport};
pub use metrics::{BreakerState, Measurement, OutboxMetrics};
pub use settings::DispatcherSettings;
pub use tokio_util::sync::CancellationToken;
pub use trace::{TraceLink, TraceOrigin};
pub use wake::WakeSignal;
