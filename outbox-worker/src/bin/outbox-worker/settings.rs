//! The settings of the worker binary.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use outbox_core::ExponentialBackoff;
use outbox_worker::DispatcherSettings;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use crate::exit_reason::ExitReason;
use crate::sns::Sns;

/// Everything that file and environment can say.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) database_url: Option<SecretString>,
    pub(crate) tables: Tables,
    /// Outboxes that one worker serves; none is the one of `database_url` and `tables`.
    pub(crate) outboxes: BTreeMap<String, Place>,
    pub(crate) pool: Pool,
    pub(crate) dispatcher: DispatcherSettings,
    pub(crate) retry: Retry,
    pub(crate) publisher: PublisherKind,
    pub(crate) sns: Sns,
    pub(crate) log: Log,
}

impl Settings {
    /// The settings of each outbox, with its name if there are several.
    pub(crate) fn outboxes(&self) -> Result<Vec<(Option<String>, Self)>, ExitReason> {
        if self.outboxes.is_empty() {
            return Ok(vec![(None, self.clone())]);
        }
        let mut places: Vec<(Option<String>, Self)> = Vec::new();
        for (name, place) in &self.outboxes {
            let settings = self.at(place);
            if let Some((Some(other), _)) = places.iter().find(|(_, other)| settings.is(other)) {
                let sentence = format!("settings: outboxes.{other} and outboxes.{name} are one");
                return Err(ExitReason::plain(format!(
                    "{sentence}: give one of them another database_url, schema or prefix"
                )));
            }
            places.push((Some(name.clone()), settings));
        }
        Ok(places)
    }

    fn at(&self, place: &Place) -> Self {
        let Place { database_url, schema, prefix } = place.clone();
        let tables = Tables {
            schema: schema.or_else(|| self.tables.schema.clone()),
            prefix: prefix.unwrap_or_else(|| self.tables.prefix.clone()),
        };
        let database_url = database_url.or_else(|| self.database_url.clone());
        Self { database_url, tables, outboxes: BTreeMap::new(), ..self.clone() }
    }

    /// Whether both are about the same tables, as far as the settings tell.
    fn is(&self, other: &Self) -> bool {
        let url = |settings: &Self| {
            settings.database_url.as_ref().map(|url| url.expose_secret().to_owned())
        };
        url(self) == url(other) && self.tables == other.tables
    }
}

/// Which tables are the outbox's.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
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

/// Where one of several outboxes is; what it does not say is said at the top level.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Place {
    database_url: Option<SecretString>,
    schema: Option<String>,
    prefix: Option<String>,
}

/// Connections to the database.
#[derive(Clone, Debug, Deserialize)]
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
#[derive(Clone, Debug, Default, Deserialize)]
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
#[derive(Clone, Debug, Deserialize)]
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
