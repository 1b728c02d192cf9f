//! Under which name and into which tables an application stages.

use std::sync::Arc;

use outbox_core::{
    Environment, SettingsError, TableNames, TopicProfile, TopicProfiles, check_topic,
};

use crate::wake::Wake;

const TOPIC: &str = "1 to 256 letters, digits or . _ - : /";
const SOURCE: &str = "a URI reference without spaces, like https://shop.example/orders";

/// The source of an application's events, the tables of its outbox, what its topics take, and who
/// wakes the worker.
///
/// The source becomes the `CloudEvents` attribute of this name: together with the event id it
/// names the event to the world, so it says which application the event comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxSettings {
    source: Result<Arc<str>, SettingsError>,
    tables: TableNames,
    profiles: TopicProfiles,
    wake: Wake,
}

impl OutboxSettings {
    /// Stages under this source, into tables named `outbox_…` in the connection's own schema.
    ///
    /// The source is a URI reference, neither empty nor with spaces or control characters;
    /// [`install`](Self::install) and staging under [`scope`](crate::scope) refuse another.
    pub fn new(source: impl Into<String>) -> Self {
        let source = source.into();
        let illegal = |c: char| c.is_whitespace() || c.is_control();
        let source = if source.is_empty() || source.contains(illegal) {
            Err(SettingsError::new("source", SOURCE))
        } else {
            Ok(source.into())
        };
        Self {
            source,
            tables: TableNames::default(),
            profiles: TopicProfiles::new(),
            wake: Wake::default(),
        }
    }

    /// Uses the tables with this schema and prefix.
    pub fn tables(mut self, tables: TableNames) -> Self {
        self.tables = tables;
        self
    }

    /// Refuses to stage what this topic, by the profile that its worker has too, would not take.
    ///
    /// ```
    /// use outbox_seaorm::{EnvelopeForm, OutboxError, OutboxSettings, TopicProfile};
    ///
    /// let large = TopicProfile::new(EnvelopeForm::Structured).with_limit(1_048_576)?;
    /// OutboxSettings::new("https://shop.example/orders").topic("orders", large).install()?;
    /// # Ok::<(), OutboxError>(())
    /// ```
    ///
    /// An event for a topic without a profile is counted in its largest form against 256 KiB. A
    /// name that no topic can have is refused as a bad source is.
    pub fn topic(mut self, name: impl Into<String>, profile: TopicProfile) -> Self {
        let name = name.into();
        if self.source.is_ok() && check_topic(&name).is_err() {
            self.source = Err(SettingsError::new("topic", TOPIC));
        }
        self.profiles = self.profiles.with_topic(name, profile);
        self
    }

    /// As [`topic`](Self::topic), for all topics that have no profile of their own.
    pub fn default_profile(mut self, profile: TopicProfile) -> Self {
        self.profiles = self.profiles.with_default(profile);
        self
    }

    /// Has the worker woken like this. Default: [`Wake::Gated`].
    pub const fn wake(mut self, wake: Wake) -> Self {
        self.wake = wake;
        self
    }

    /// Reads `{prefix}SOURCE`, `{prefix}SCHEMA`, `{prefix}PREFIX` and `{prefix}WAKE` from the
    /// environment.
    ///
    /// # Errors
    /// [`SettingsError`] if there is no source, or a value cannot be used.
    pub fn from_env(prefix: &str) -> Result<Self, SettingsError> {
        Self::from_environment(&Environment::process(prefix))
    }

    /// As [`from_env`](Self::from_env), with supplied variables.
    ///
    /// # Errors
    /// [`SettingsError`] if there is no source, or a value cannot be used.
    pub fn from_environment(environment: &Environment) -> Result<Self, SettingsError> {
        let settings = Self::new(environment.text("SOURCE").unwrap_or_default());
        settings.source.as_ref().map_err(|_| environment.refuse("SOURCE", SOURCE))?;
        let default = TableNames::default();
        let prefix = environment.text("PREFIX").unwrap_or(default.prefix());
        TableNames::new(None, prefix)
            .map_err(|_| environment.refuse("PREFIX", "at most 39 bytes without NUL"))?;
        let tables = TableNames::new(environment.text("SCHEMA"), prefix)
            .map_err(|_| environment.refuse("SCHEMA", "1 to 63 bytes without NUL"))?;
        let wake = match environment.text("WAKE") {
            None => Wake::default(),
            Some(text) => {
                Wake::parse(text).ok_or_else(|| environment.refuse("WAKE", Wake::WANTED))?
            }
        };
        Ok(settings.tables(tables).wake(wake))
    }

    /// Schema and prefix of the tables.
    pub const fn table_names(&self) -> &TableNames {
        &self.tables
    }

    /// What the topics take.
    pub const fn profiles(&self) -> &TopicProfiles {
        &self.profiles
    }

    /// Who wakes the worker.
    pub const fn wakes(&self) -> Wake {
        self.wake
    }

    pub(crate) fn source(&self) -> Result<&Arc<str>, SettingsError> {
        self.source.as_ref().map_err(Clone::clone)
    }
}
