//! The row behind an active model.
//!
//! On SQLite a transaction that reads before it writes can never write once another one has committed
//! in between, however long it may wait. So a read before a write begins with a write that changes
//! nothing: it waits for its turn, and what is read then stays.

use sea_orm::sea_query::{Expr, ExprTrait, Value};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, DbBackend, DbErr, EntityTrait, Iterable,
    ModelTrait, PrimaryKeyToColumn, QueryFilter, QuerySelect, Select,
};

use crate::error::WriteKind;
use crate::hook::change::ModelOf;

/// The row's primary key, if it is set.
pub(super) fn key<A: ActiveModelTrait>(active: &A) -> Option<Vec<Value>> {
    <A::Entity as EntityTrait>::PrimaryKey::iter()
        .map(|part| active.get(part.into_column()).into_value())
        .collect()
}

/// The primary key of a saved row.
pub(super) fn saved_key<A: ActiveModelTrait>(model: &ModelOf<A>) -> Vec<Value> {
    <A::Entity as EntityTrait>::PrimaryKey::iter()
        .map(|part| model.get(part.into_column()))
        .collect()
}

/// Reads the row that is about to be updated or deleted, and keeps it from being changed until the
/// transaction ends.
pub(crate) fn locked_before<'c, A: ActiveModelTrait, C: ConnectionTrait>(
    write: WriteKind,
    active: &A,
    db: &'c C,
) -> impl Future<Output = Result<Option<ModelOf<A>>, DbErr>> + use<'c, A, C> {
    let select = locked(active);
    async move {
        if db.get_database_backend() == DbBackend::Sqlite {
            wait_for_turn::<A, C>(write, db).await?;
        }
        one(select, db).await
    }
}

/// A write of the same kind, so that it needs no other right.
async fn wait_for_turn<A: ActiveModelTrait, C: ConnectionTrait>(
    write: WriteKind,
    db: &C,
) -> Result<(), DbErr> {
    let nowhere = Expr::val(1).eq(0);
    if write == WriteKind::Delete {
        return A::Entity::delete_many().filter(nowhere).exec(db).await.map(drop);
    }
    let key = <A::Entity as EntityTrait>::PrimaryKey::iter().next();
    if let Some(column) = key.map(PrimaryKeyToColumn::into_column) {
        let nothing = A::Entity::update_many().col_expr(column, Expr::col(column));
        nothing.filter(nowhere).exec(db).await?;
    }
    Ok(())
}

/// Whether an insert will meet its row.
///
/// A row that the transaction's snapshot still shows may be gone by now, and the insert then writes
/// it anew. So it is looked at once more, as it is now, and locked: only then, because a lock on a
/// row that is not there would hold up the inserts of others.
pub(super) fn is_present<'c, A: ActiveModelTrait, C: ConnectionTrait>(
    active: &A,
    db: &'c C,
) -> impl Future<Output = Result<bool, DbErr>> + use<'c, A, C> {
    let (seen, current) = (unlocked(active), locked(active));
    async move { Ok(one(seen, db).await?.is_some() && one(current, db).await?.is_some()) }
}

async fn one<E: EntityTrait, C: ConnectionTrait>(
    select: Option<Select<E>>,
    db: &C,
) -> Result<Option<E::Model>, DbErr> {
    match select {
        Some(select) => select.one(db).await,
        None => Ok(None),
    }
}

/// Reads the row and keeps it locked until the transaction ends, where the database has row locks;
/// `None` if the primary key is not set.
fn locked<A: ActiveModelTrait>(active: &A) -> Option<Select<A::Entity>> {
    Some(unlocked(active)?.lock_exclusive())
}

/// Reads the row; `None` if the primary key is not set.
fn unlocked<A: ActiveModelTrait>(active: &A) -> Option<Select<A::Entity>> {
    let parts = <A::Entity as EntityTrait>::PrimaryKey::iter().zip(key(active)?);
    let select = A::Entity::find();
    Some(parts.fold(select, |select, (part, value)| select.filter(part.into_column().eq(value))))
}
