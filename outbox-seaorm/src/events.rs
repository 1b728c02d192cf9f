//! Events on their way into one insert.

use std::sync::Arc;

use outbox_core::{Context, Envelope, IntoEnvelope, OutboxEvent, StagedMessage};
use sea_orm::{ConnectionTrait, DbErr};

use crate::context::current_context;
use crate::error::{OutboxError, Written, explained};
use crate::install;
use crate::settings::OutboxSettings;
use crate::statement::insert::insert;

/// The events of one change, encoded as they are pushed and inserted together.
///
/// [`OutboxAggregate::outbox_events`](crate::OutboxAggregate::outbox_events) fills it.
#[derive(Debug)]
pub struct Events {
    settings: Arc<OutboxSettings>,
    context: Context,
    staged: Vec<StagedMessage>,
}

impl Events {
    /// None yet, under the settings and the context in force here.
    pub(crate) fn open() -> Result<Self, OutboxError> {
        Ok(Self { settings: install::current()?, context: current_context(), staged: Vec::new() })
    }

    /// Adds an event, or an envelope with an event in it.
    ///
    /// # Errors
    /// [`OutboxError::Encode`] if it cannot be turned into a message, or its topic would not take
    /// that.
    pub fn push<E: IntoEnvelope>(&mut self, event: E) -> Result<(), OutboxError> {
        let message = self.encode(event)?;
        self.push_encoded(message);
        Ok(())
    }

    /// Adds an event that may be added again.
    pub(crate) fn push_envelope<E: OutboxEvent>(
        &mut self,
        envelope: &Envelope<E>,
    ) -> Result<(), OutboxError> {
        let message = self.encode_envelope(envelope)?;
        self.push_encoded(message);
        Ok(())
    }

    /// The message of an event, which is not added yet.
    pub(crate) fn encode<E: IntoEnvelope>(&self, event: E) -> Result<StagedMessage, OutboxError> {
        self.encode_envelope(&event.into_envelope())
    }

    fn encode_envelope<E: OutboxEvent>(
        &self,
        envelope: &Envelope<E>,
    ) -> Result<StagedMessage, OutboxError> {
        let source = self.settings.source()?;
        let staged = envelope.encode(source, &self.context)?;
        self.settings.profiles().check(&staged.message)?;
        Ok(staged)
    }

    /// Adds a message of [`encode`](Self::encode).
    pub(crate) fn push_encoded(&mut self, message: StagedMessage) {
        self.staged.push(message);
    }

    /// Adds a message that was put together elsewhere, if it would have been encoded so.
    pub(crate) fn push_foreign(&mut self, message: StagedMessage) -> Result<(), OutboxError> {
        let staged = message.normalized()?;
        self.settings.profiles().check(&staged.message)?;
        self.staged.push(staged);
        Ok(())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.staged.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.staged.is_empty()
    }

    /// Stages all of them; without any, nothing is sent to the database.
    pub(crate) async fn insert<C: ConnectionTrait>(self, db: &C) -> Result<(), DbErr> {
        let tables = self.settings.table_names();
        insert(db, &self.settings, &self.staged).await.map_err(|error| explained(error, tables))
    }
}

/// Stages the events of a row that is written already, which an error then says.
pub(crate) async fn insert_beside<C: ConnectionTrait>(
    written: Written,
    events: Result<Events, OutboxError>,
    db: &C,
) -> Result<(), DbErr> {
    let staged = match events {
        Ok(events) => events.insert(db).await,
        Err(error) => Err(error.into()),
    };
    staged.map_err(|error| written.without_events(error))
}

/// What [`Stage::stage_all`](crate::Stage::stage_all) takes: any number of events of one type, or
/// [`RaisedEvents`](crate::RaisedEvents) of several.
pub trait IntoEvents {
    /// Pushes all of them.
    ///
    /// # Errors
    /// [`OutboxError::Encode`] for the first that cannot be turned into a message.
    fn push_into(self, events: &mut Events) -> Result<(), OutboxError>;
}

impl<I> IntoEvents for I
where
    I: IntoIterator,
    I::Item: IntoEnvelope,
{
    fn push_into(self, events: &mut Events) -> Result<(), OutboxError> {
        self.into_iter().try_for_each(|event| events.push(event))
    }
}
