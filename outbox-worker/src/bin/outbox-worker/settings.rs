//! The settings of the worker binary.

use std::num::NonZeroU32;
use std::time::Duration;

use outbox_core::ExponentialBackoff;
use outbox_worker::DispatcherSettings;
use secrecy::SecretString;
use serde::Deserialize;

use crate::sns::Sns;

/// Everything that file and environment can say.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) database_url: Option<SecretString>,
    pub(crate) tables: Tables,
    pub(crate) pool: Pool,
    pub(crate) dispatcher: DispatcherSettings,
    pub(crate) retry: Retry,
    pub(crate) publisher: PublisherKind,
    pub(crate) sns: Sns,
    pub(crate) log: Log,
}

/// Which tables are the outbox's.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Tables {
    pub(crate) schema: Option<String>,
    pub(crate) prefix: String,
}

impl Default for Tables {
    fn default() -> Self {
        Self { schema: None, prefix: "outbox_".to_owned() }
    }
}

/// Connections to the database.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Pool {
    /// For reads and settlements; leases have one more of their own.
    pub(crate) connections: NonZeroU32,
    /// Whether writers on PostgreSQL wake the worker, over one more.
    pub(crate) listen: bool,
}

impl Default for Pool {
    fn default() -> Self {
        const CONNECTIONS: NonZeroU32 = NonZeroU32::new(4).unwrap();
        Self { connections: CONNECTIONS, listen: true }
    }
}

/// When failed records are tried again.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Retry {
    #[serde(with = "humantime_serde")]
    base: Option<Duration>,
    #[serde(with = "humantime_serde")]
    cap: Option<Duration>,
    max_attempts: Option<NonZeroU32>,
    #[serde(with = "humantime_serde")]
    max_age: Option<Duration>,
}

impl Retry {
    pub(crate) fn policy(&self) -> ExponentialBackoff {
        let mut policy = ExponentialBackoff::default();
        policy.base = self.base.unwrap_or(policy.base);
        policy.cap = self.cap.unwrap_or(policy.cap);
        policy.max_attempts = self.max_attempts.or(policy.max_attempts);
        policy.max_age = self.max_age.or(policy.max_age);
        policy
    }
}

/// Where records go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PublisherKind {
    /// To the log: nothing leaves the process.
    Log,
    /// To AWS SNS.
    #[default]
    Sns,
}

/// What is logged, and how.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Log {
    /// As `tracing` filters are written: `info`, `outbox_worker=debug`.
    pub(crate) filter: String,
    pub(crate) format: LogFormat,
}

impl Default for Log {
    fn default() -> Self {
        Self { filter: "info".to_owned(), format: LogFormat::Text }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    Json,
    Text,
}
