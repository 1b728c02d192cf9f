//! Events on their way into one insert.

use std::sync::Arc;

use outbox_core::{Context, IntoEnvelope, StagedMessage};
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
    /// [`OutboxError::Encode`] if it cannot be turned into a message.
    pub fn push<E: IntoEnvelope>(&mut self, event: E) -> Result<(), OutboxError> {
        let message = self.encode(event)?;
        self.push_encoded(message);
        Ok(())
    }

    /// The message of an event, which is not added yet.
    pub(crate) fn encode<E: IntoEnvelope>(&self, event: E) -> Result<StagedMessage, OutboxError> {
        let source = self.settings.source()?;
        Ok(event.into_envelope().encode(source, &self.context)?)
    }

    /// Adds a message that is encoded already.
    pub(crate) fn push_encoded(&mut self, message: StagedMessage) {
        self.staged.push(message);
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
