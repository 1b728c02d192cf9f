//! Puts a dispatcher together.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::{
    ExponentialBackoff, Format, OutboxStore, Publisher, RetryPolicy, SettingsError, WakeSource,
    WorkerCard, WorkerId,
};

use super::Dispatcher;
use super::guard::Guards;
use crate::figures::Figures;
use crate::health::Health;
use crate::metrics::OutboxMetrics;
use crate::settings::DispatcherSettings;
use crate::trace::TraceLink;

/// Collects what a [`Dispatcher`] needs; only store and publisher have no default.
#[derive(Debug)]
pub struct DispatcherBuilder {
    store: Arc<dyn OutboxStore>,
    control: Option<Arc<dyn OutboxStore>>,
    publisher: Arc<dyn Publisher>,
    retry: Arc<dyn RetryPolicy>,
    settings: DispatcherSettings,
    metrics: Option<Arc<dyn OutboxMetrics>>,
    traces: Option<Arc<dyn TraceLink>>,
    wakes: Vec<Arc<dyn WakeSource>>,
}

impl DispatcherBuilder {
    pub(super) fn new(store: Arc<dyn OutboxStore>, publisher: Arc<dyn Publisher>) -> Self {
        Self {
            store,
            control: None,
            publisher,
            retry: Arc::new(ExponentialBackoff::default()),
            settings: DispatcherSettings::default(),
            metrics: None,
            traces: None,
            wakes: Vec::new(),
        }
    }

    /// Renews leases through a store with its own connections, so that reads and settlements that
    /// wait for a connection cannot cost the lanes. Default: the one store.
    pub fn control(mut self, store: Arc<dyn OutboxStore>) -> Self {
        self.control = Some(store);
        self
    }

    /// Decides when failed records are tried again. Default: [`ExponentialBackoff`].
    pub fn retry(mut self, policy: Arc<dyn RetryPolicy>) -> Self {
        self.retry = policy;
        self
    }

    /// Times, sizes and limits.
    pub fn settings(mut self, settings: DispatcherSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Tells this of everything that is counted and measured. Default: nobody.
    pub fn metrics(mut self, metrics: Arc<dyn OutboxMetrics>) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Joins the spans of sends with the traces of their messages. Default: they stand alone.
    pub fn traces(mut self, link: Arc<dyn TraceLink>) -> Self {
        self.traces = Some(link);
        self
    }

    /// Looks for records also when this says so, and not only by itself. Default: none.
    pub fn wake(mut self, source: Arc<dyn WakeSource>) -> Self {
        self.wakes.push(source);
        self
    }

    /// The dispatcher, under a fresh worker id.
    ///
    /// # Errors
    /// [`SettingsError`] if the settings would let it send under a lease that has run out.
    pub fn build(self) -> Result<Dispatcher, SettingsError> {
        self.settings.check()?;
        let lease = self.settings.lease_time()?;
        let card = WorkerCard {
            id: WorkerId::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            max_format: Format::CURRENT,
            topics: self.publisher.topics(),
            lacks: Vec::new(),
            wants_lanes: Some(outbox_core::Lane::COUNT),
            alive_for: self.settings.lease.max(Duration::from_secs(1)),
        };
        Ok(Dispatcher {
            control: self.control.unwrap_or_else(|| Arc::clone(&self.store)),
            store: self.store,
            publisher: self.publisher,
            retry: self.retry,
            settings: self.settings,
            lease,
            card,
            figures: Arc::new(Figures::default()),
            health: Arc::new(Health::new()),
            metrics: self.metrics,
            traces: self.traces,
            wakes: self.wakes,
            guards: Guards::new(),
        })
    }
}
