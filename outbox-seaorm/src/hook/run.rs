//! What the attribute puts around the application's hooks.

use std::fmt;
use std::marker::PhantomData;

use sea_orm::{ConnectionTrait, DbErr};

use crate::error::{OutboxError, WriteKind, Written};
use crate::events::{Events, insert_beside};
use crate::hook::aggregate::HasOutboxHooks;
use crate::hook::change::{Assigned, Change, ModelOf};
use crate::hook::guard::guard;
use crate::hook::row;
use crate::hook::stash::{self, Key, Noted};
use crate::install;
use crate::statement::insert;

/// The calls of the generated hooks, in the order in which they run.
pub struct Hooks<A: HasOutboxHooks>(PhantomData<A>);

/// What the hook before a save knew.
#[derive(Debug)]
pub enum Saved {
    /// A new row.
    Inserted,
    /// An update that assigned nothing: no UPDATE was sent.
    Nothing,
    /// An update.
    Updated(Option<Assigned>),
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

    /// Notes what an update assigns. An insert needs no note.
    pub fn before_save<C: ConnectionTrait>(active: A, db: &C, insert: bool) -> A {
        if !insert && let Some(key) = row::key(&active) {
            let assigned = Assigned::of(&active);
            stash::note(Key::new::<A, C>(db, key), Noted::Assigned(assigned));
        }
        active
    }

    /// Takes the note, before the application's hook can save the same row once more.
    pub fn saved<C: ConnectionTrait>(model: &ModelOf<A>, db: &C, insert: bool) -> Saved {
        if insert {
            return Saved::Inserted;
        }
        match stash::take(&Key::new::<A, C>(db, row::saved_key::<A>(model))) {
            Some(Noted::Assigned(assigned)) if assigned.is_empty() => Saved::Nothing,
            Some(Noted::Assigned(assigned)) => Saved::Updated(Some(assigned)),
            _ => Saved::Updated(None),
        }
    }

    /// Stages the events of a save.
    pub async fn after_save<C: ConnectionTrait>(
        model: ModelOf<A>,
        db: &C,
        saved: Saved,
    ) -> Result<ModelOf<A>, DbErr> {
        let (write, change) = match saved {
            Saved::Inserted => (WriteKind::Insert, Change::Inserted(&model)),
            Saved::Nothing => return Ok(model),
            Saved::Updated(assigned) => {
                (WriteKind::Update, Change::Updated { after: &model, assigned })
            }
        };
        let events = events::<A>(change);
        insert_beside(Written::of::<A>(write), events, db).await?;
        Ok(model)
    }

    /// Notes the row that is about to go, and takes back a note of a delete that failed.
    pub async fn before_delete<C: ConnectionTrait>(active: A, db: &C) -> Result<A, DbErr> {
        let (Some(key), Some(select)) = (row::key(&active), row::locked(&active)) else {
            return Ok(active);
        };
        let row = select.one(db).await?;
        let key = Key::new::<A, C>(db, key);
        match row {
            Some(row) => stash::note(key, Noted::Row(Box::new(row))),
            None => drop(stash::take(&key)),
        }
        Ok(active)
    }

    /// Takes the note of the row that is gone.
    pub fn deleted<C: ConnectionTrait>(active: &A, db: &C) -> Option<ModelOf<A>> {
        match stash::take(&Key::new::<A, C>(db, row::key(active)?))? {
            Noted::Row(row) => row.downcast().ok().map(|row| *row),
            Noted::Assigned(_) => None,
        }
    }

    /// Stages the events of a delete. A row that was not there has none.
    pub async fn after_delete<C: ConnectionTrait>(
        active: A,
        db: &C,
        deleted: Option<ModelOf<A>>,
    ) -> Result<A, DbErr> {
        if let Some(row) = deleted {
            let events = events::<A>(Change::Deleted(&row));
            insert_beside(Written::of::<A>(WriteKind::Delete), events, db).await?;
        }
        Ok(active)
    }
}

/// In the hook after the write it would be too late: on a plain connection the row is committed.
fn refuse_early<A: HasOutboxHooks, C: ConnectionTrait>(
    db: &C,
    write: WriteKind,
) -> Result<(), DbErr> {
    guard::<A, C>(write)?;
    install::current()?;
    insert::supported(db.get_database_backend())
}

fn events<A: HasOutboxHooks>(change: Change<'_, A>) -> Result<Events, OutboxError> {
    let mut events = Events::open()?;
    A::events_of(change, &mut events)?;
    Ok(events)
}

impl<A: HasOutboxHooks> fmt::Debug for Hooks<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooks")
    }
}
