//! Refuses a connection on which a row and its events could part.
//!
//! The hook's signature takes any `ConnectionTrait`, and a bound cannot be added to it. What is left
//! is the type's identity: a list of types that always are a transaction, one of types whose staging
//! carries a proof, everything else refused.

use std::any::{TypeId, type_name};
use std::sync::{PoisonError, RwLock};

use sea_orm::{
    ActiveModelTrait, ConnectionTrait, DatabaseConnection, DatabaseExecutor, DatabaseTransaction,
    DbBackend, EntityName, TransactionSession,
};

use crate::error::{OutboxError, Refusal, WriteKind};
use crate::proof;

static TRUSTED: RwLock<Vec<TypeId>> = RwLock::new(Vec::new());

/// Lets hooks stage on a foreign connection type that always is an open transaction.
///
/// A `DatabaseTransaction` needs no word. This is for a wrapper around one that a framework hands
/// out; once at start. The explicit forms take any `TransactionSession` without it.
pub fn trust_transaction_type<T: ConnectionTrait + TransactionSession + 'static>() {
    let mut trusted = TRUSTED.write().unwrap_or_else(PoisonError::into_inner);
    let connection = TypeId::of::<T>();
    if !trusted.contains(&connection) {
        trusted.push(connection);
    }
}

/// Refuses the write unless `C` is a transaction, or its staging will prove that it is.
pub(super) fn guard<A: ActiveModelTrait, C: ConnectionTrait>(
    db: &C,
    write: WriteKind,
) -> Result<(), OutboxError> {
    let Some(refusal) = refusal(typeid::of::<C>(), db.get_database_backend()) else {
        return Ok(());
    };
    let table = A::Entity::default().table_name();
    Err(OutboxError::Refused { write, table, connection: type_name::<C>(), refusal })
}

/// A type without lifetimes is named by its id alone, so no other type passes for a transaction.
fn refusal(connection: TypeId, backend: DbBackend) -> Option<Refusal> {
    if is_transaction(connection) {
        None
    } else if connection == TypeId::of::<DatabaseConnection>() || is_restricted(connection) {
        Some(Refusal::Autocommit)
    } else if connection == typeid::of::<DatabaseExecutor<'_>>() {
        Some(Refusal::Executor)
    } else if proof::is_registered(connection) {
        if proof::is_possible(backend) { None } else { Some(Refusal::Unprovable) }
    } else {
        Some(Refusal::Unknown)
    }
}

/// Whether staging on this connection must carry a proof.
pub(super) fn is_on_trial<C>() -> bool {
    let connection = typeid::of::<C>();
    !is_transaction(connection) && proof::is_registered(connection)
}

fn is_transaction(connection: TypeId) -> bool {
    #[cfg(feature = "rbac")]
    if connection == TypeId::of::<sea_orm::RestrictedTransaction>() {
        return true;
    }
    connection == TypeId::of::<DatabaseTransaction>()
        || TRUSTED.read().unwrap_or_else(PoisonError::into_inner).contains(&connection)
}

#[cfg(feature = "rbac")]
fn is_restricted(connection: TypeId) -> bool {
    connection == TypeId::of::<sea_orm::RestrictedConnection>()
}

#[cfg(not(feature = "rbac"))]
const fn is_restricted(_: TypeId) -> bool {
    false
}
