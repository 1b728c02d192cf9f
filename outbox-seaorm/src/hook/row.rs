//! The row behind an active model.

use sea_orm::sea_query::Value;
use sea_orm::{
    ActiveModelTrait, ColumnTrait, EntityTrait, Iterable, ModelTrait, PrimaryKeyToColumn,
    QueryFilter, QuerySelect, Select,
};

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

/// Reads the row and keeps it locked until the transaction ends, where the database has row locks;
/// `None` if the primary key is not set.
pub(crate) fn locked<A: ActiveModelTrait>(active: &A) -> Option<Select<A::Entity>> {
    Some(unlocked(active)?.lock_exclusive())
}

/// Reads the row; `None` if the primary key is not set.
pub(super) fn unlocked<A: ActiveModelTrait>(active: &A) -> Option<Select<A::Entity>> {
    let parts = <A::Entity as EntityTrait>::PrimaryKey::iter().zip(key(active)?);
    let select = A::Entity::find();
    Some(parts.fold(select, |select, (part, value)| select.filter(part.into_column().eq(value))))
}
