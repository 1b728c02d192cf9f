//! What the attribute puts around the application's hooks.

use std::fmt;
use std::marker::PhantomData;

use sea_orm::{ActiveModelTrait, ConnectionTrait, DbBackend, DbErr, EntityTrait, Iterable};

use crate::error::{OutboxError, WriteKind, Written};
use crate::events::{Events, insert_beside};
use crate::hook::aggregate::HasOutboxHooks;
use crate::hook::change::{Assigned, Change, ModelOf};
use crate::hook::guard::{guard, is_on_trial};
use crate::hook::row;
use crate::hook::stash::{self, Key, Noted};
use crate::install;
use crate::proof::Proving;
use crate::statement::insert;

/// The calls of the generated hooks, in the order in which they run.
pub struct Hooks<A: HasOutboxHooks>(PhantomData<A>);

/// What the hook before the save of such a model knew.
#[derive(Debug)]
pub enum Saved<M> {
    /// A new row.
    Inserted,
    /// An update that assigned nothing, so that no UPDATE was sent, or an insert that met its row.
    Nothing,
    /// An update: what it assigned, and the row before it if that was asked.
    Updated(Option<Assigned>, Option<M>),
}

/// What the hook before a delete knew.
#[derive(Debug)]
pub enum Gone<M> {
    /// The row, if there was one.
    Known(Option<M>),
    /// Nothing: without the row there is no telling which events there are.
    Unknown,
}

impl<A: HasOutboxHooks + Send + 'static> Hooks<A>
where
    ModelOf<A>: 'static,
{
    /// Refuses a save before anything of it is written.
    pub fn guard_save<C: ConnectionTrait>(db: &C, insert: bool) -> Result<(), DbErr> {
        refuse_early::<A, C>(db, if insert { WriteKind::Insert } else { WriteKind::Update })
    }

    /// Refuses a delete before anything of it is written.
    pub fn guard_delete<C: ConnectionTrait>(db: &C) -> Result<(), DbErr> {
        refuse_early::<A, C>(db, WriteKind::Delete)
    }

    /// Notes what an update assigns, and the old row if that is asked; of an insert, that it may do
    /// nothing.
    pub async fn before_save<C: ConnectionTrait>(
        active: A,
        db: &C,
        insert: bool,
    ) -> Result<A, DbErr> {
        if insert && !may_do_nothing::<A, C>(db) {
            return Ok(active);
        }
        let Some(key) = row::key(&active) else { return Ok(active) };
        let key = Key::new::<A, C>(db, key);
        if insert {
            if row::is_present(&active, db).await? {
                stash::note(key, Noted::Present);
            } else {
                drop(stash::take(&key));
            }
            return Ok(active);
        }
        let assigned = Assigned::of(&active);
        let before = if A::AGGREGATE.reads_before && !assigned.is_empty() {
            row::locked_before(WriteKind::Update, &active, db).await?
        } else {
            None
        };
        let before = before.map(|row| Box::new(row) as stash::Row);
        stash::note(key, Noted::Update(assigned, before));
        Ok(active)
    }

    /// Takes the note, before the application's hook can save the same row once more.
    pub fn saved<C: ConnectionTrait>(
        model: &ModelOf<A>,
        db: &C,
        insert: bool,
    ) -> Saved<ModelOf<A>> {
        if insert && !may_do_nothing::<A, C>(db) {
            return Saved::Inserted;
        }
        let key = Key::new::<A, C>(db, row::saved_key::<A>(model));
        let sole = || if insert { None } else { stash::take_sole_update(&key) };
        match stash::take(&key).or_else(sole) {
            Some(Noted::Present) if insert => Saved::Nothing,
            _ if insert => Saved::Inserted,
            Some(Noted::Update(assigned, _)) if assigned.is_empty() => Saved::Nothing,
            Some(Noted::Update(assigned, before)) => {
                Saved::Updated(Some(assigned), before.and_then(model_of::<A>))
            }
            _ => Saved::Updated(None, None),
        }
    }

    /// Stages the events of a save.
    pub async fn after_save<C: ConnectionTrait>(
        model: ModelOf<A>,
        db: &C,
        saved: Saved<ModelOf<A>>,
    ) -> Result<ModelOf<A>, DbErr> {
        let (write, events) = match &saved {
            Saved::Inserted => (WriteKind::Insert, events::<A>(Change::Inserted(&model))),
            Saved::Nothing => return Ok(model),
            Saved::Updated(_, None) if A::AGGREGATE.reads_before => {
                (WriteKind::Update, Err(OutboxError::BeforeUnknown))
            }
            Saved::Updated(assigned, before) => {
                let (assigned, before) = (assigned.clone(), before.as_ref());
                let change = Change::Updated { after: &model, before, assigned };
                (WriteKind::Update, events::<A>(change))
            }
        };
        stage::<A, C>(write, events, db).await?;
        Ok(model)
    }

    /// Notes the row that is about to go, or that there is none.
    pub async fn before_delete<C: ConnectionTrait>(active: A, db: &C) -> Result<A, DbErr> {
        if let Some(key) = row::key(&active) {
            let row = row::locked_before(WriteKind::Delete, &active, db).await?;
            let row = row.map(|row| Box::new(row) as stash::Row);
            stash::note(Key::new::<A, C>(db, key), Noted::Delete(row));
        }
        Ok(active)
    }

    /// Takes the note of the row that is gone.
    pub fn deleted<C: ConnectionTrait>(active: &A, db: &C) -> Gone<ModelOf<A>> {
        let note = row::key(active).and_then(|key| stash::take(&Key::new::<A, C>(db, key)));
        match note {
            Some(Noted::Delete(row)) => Gone::Known(row.and_then(model_of::<A>)),
            Some(Noted::Present | Noted::Update(..)) | None => Gone::Unknown,
        }
    }

    /// Stages the events of a delete. A row that was not there has none.
    pub async fn after_delete<C: ConnectionTrait>(
        active: A,
        db: &C,
        deleted: Gone<ModelOf<A>>,
    ) -> Result<A, DbErr> {
        let events = match deleted {
            Gone::Known(None) => return Ok(active),
            Gone::Known(Some(row)) => events::<A>(Change::Deleted(&row)),
            Gone::Unknown => Err(OutboxError::BeforeUnknown),
        };
        stage::<A, C>(WriteKind::Delete, events, db).await?;
        Ok(active)
    }
}

/// In the hook after the write it would be too late: on a plain connection the row is committed.
fn refuse_early<A: HasOutboxHooks, C: ConnectionTrait>(
    db: &C,
    write: WriteKind,
) -> Result<(), DbErr> {
    guard::<A, C>(db, write)?;
    install::current()?;
    insert::supported(db.get_database_backend())
}

/// Whether an insert may meet its row, do nothing, and have a hook after it all the same.
///
/// SeaORM inserts junction rows so, whose key is made of two. MariaDB and MySQL then count the row
/// that was there as one that was written; the others tell.
fn may_do_nothing<A: ActiveModelTrait, C: ConnectionTrait>(db: &C) -> bool {
    let keys = || <A::Entity as EntityTrait>::PrimaryKey::iter().count();
    db.get_database_backend() == DbBackend::MySql && keys() > 1
}

fn events<A: HasOutboxHooks>(change: Change<'_, A>) -> Result<Events, OutboxError> {
    let mut events = Events::open()?;
    (A::AGGREGATE.events)(change, &mut events)?;
    Ok(events)
}

/// Stages beside the write, with the proof if the type of the connection was registered for it.
async fn stage<A: HasOutboxHooks, C: ConnectionTrait>(
    write: WriteKind,
    events: Result<Events, OutboxError>,
    db: &C,
) -> Result<(), DbErr> {
    let written = Written::of::<A>(write);
    if is_on_trial::<C>() {
        insert_beside(written, events, &Proving(db)).await
    } else {
        insert_beside(written, events, db).await
    }
}

fn model_of<A: HasOutboxHooks>(row: stash::Row) -> Option<ModelOf<A>>
where
    ModelOf<A>: 'static,
{
    row.downcast().ok().map(|row| *row)
}

impl<A: HasOutboxHooks> fmt::Debug for Hooks<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooks")
    }
}
