//! Proves with the insert itself that hooks stage in the transaction of the write.
//!
//! A hook after a write runs on the connection of that write. In a transaction the write has given
//! it an id; where each statement commits by itself, the insert begins without one.

use std::any::TypeId;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, ExecResult, QueryResult, Statement};

static PROVEN: RwLock<Vec<Proven>> = RwLock::new(Vec::new());

/// A registered type, and the type under which its hooks stage.
#[derive(Clone, Copy)]
struct Proven {
    connection: TypeId,
    #[cfg(feature = "postgres")]
    staging: TypeId,
    #[cfg(feature = "postgres")]
    name: &'static str,
}

/// Lets hooks stage on a foreign connection type that is a transaction only sometimes.
///
/// For PostgreSQL, once at start, and for what no type can tell: a pool's handle that a middleware
/// turns into a transaction. A type that always is a transaction needs no proof, see
/// [`trust_transaction_type`](crate::trust_transaction_type), which wins where both were called;
/// SeaORM's own connections stay refused.
///
/// Hooks then stage with an insert that takes no row unless the transaction has written before, as
/// it has when a hook runs after a save or a delete. Where it takes none the save ends with
/// [`OutboxError::Committed`](crate::OutboxError::Committed): the database has then committed the
/// row **without its events**. It is a net under a program that passes transactions, and no
/// substitute for passing them.
///
/// - A write of which the database's own transaction knows nothing is refused wrongly: a row of a
///   foreign table, or of a view whose trigger writes elsewhere.
/// - The insert is sent as text. Role-based access control refuses it, so a wrapper around a
///   restricted transaction is trusted or refused.
/// - On another database, or without the feature `postgres`, nothing proves a transaction, and
///   hooks refuse the type before anything is written.
/// - The explicit forms carry no proof: staging may be the first statement of a transaction.
///
/// ```
/// # fn at_start<RequestConnection: sea_orm::ConnectionTrait + 'static>() {
/// outbox_seaorm::prove_transaction_type::<RequestConnection>(); // once, at start
/// # }
/// ```
pub fn prove_transaction_type<T: ConnectionTrait + 'static>() {
    if is_registered(TypeId::of::<T>()) {
        return;
    }
    PROVEN.write().unwrap_or_else(PoisonError::into_inner).push(Proven {
        connection: TypeId::of::<T>(),
        #[cfg(feature = "postgres")]
        staging: TypeId::of::<Proving<'static, T>>(),
        #[cfg(feature = "postgres")]
        name: std::any::type_name::<T>(),
    });
}

/// Whether staging on this type carries the proof.
pub(crate) fn is_registered(connection: TypeId) -> bool {
    find(|proven| proven.connection == connection).is_some()
}

/// Whether this database can give the proof.
pub(crate) const fn is_possible(backend: DbBackend) -> bool {
    cfg!(feature = "postgres") && matches!(backend, DbBackend::Postgres)
}

/// Name of the registered type, if `C` is what its hooks stage on.
#[cfg(feature = "postgres")]
pub(crate) fn asked_by<C>() -> Option<&'static str> {
    let staging = typeid::of::<C>();
    find(|proven| proven.staging == staging).map(|proven| proven.name)
}

fn find(wanted: impl Fn(&Proven) -> bool) -> Option<Proven> {
    let proven = PROVEN.read().unwrap_or_else(PoisonError::into_inner);
    proven.iter().copied().find(|proven| wanted(proven))
}

/// The connection of a hook that was accepted for the proof's sake.
pub(crate) struct Proving<'c, C>(pub(crate) &'c C);

#[async_trait]
impl<C: ConnectionTrait> ConnectionTrait for Proving<'_, C> {
    fn get_database_backend(&self) -> DbBackend {
        self.0.get_database_backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        self.0.execute_raw(statement).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.0.execute_unprepared(sql).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.0.query_one_raw(statement).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.0.query_all_raw(statement).await
    }
}

/// The insert took no event: the write before it is committed.
#[derive(Debug)]
pub(crate) struct Unproven {
    /// Type of the connection.
    pub(crate) connection: &'static str,
}

impl fmt::Display for Unproven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not in a transaction", self.connection)
    }
}

impl std::error::Error for Unproven {}

impl From<Unproven> for DbErr {
    fn from(error: Unproven) -> Self {
        DbErr::TryIntoErr { from: "event", into: "outbox record", source: Arc::new(error) }
    }
}
