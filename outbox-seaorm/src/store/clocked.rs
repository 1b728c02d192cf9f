//! Statements by the database's clock or by a supplied one.

use std::fmt::Debug;
use std::sync::Arc;

use chrono::SubsecRound;
use outbox_core::{Clock, TableNames};

use crate::statement::clock::Now;
use crate::statement::read::Turns;

/// The statements of one outbox in the words of one database.
pub(super) trait Statements: Debug {
    fn new(names: &TableNames, clock: Now, turns: Arc<Turns>) -> Self;
}

/// Statements that ask some clock for the time.
#[derive(Debug)]
pub(super) enum Clocked<S> {
    /// They ask the database's, and are written once.
    Database(Arc<S>),
    /// They hold the instant, and are written for each call.
    Supplied { clock: Arc<dyn Clock>, names: TableNames, turns: Arc<Turns> },
}

impl<S: Statements> Clocked<S> {
    pub(super) fn new(names: &TableNames, clock: Option<Arc<dyn Clock>>) -> Self {
        let turns = Arc::default();
        match clock {
            None => Self::Database(Arc::new(S::new(names, Now::Database, turns))),
            Some(clock) => Self::Supplied { clock, names: names.clone(), turns },
        }
    }

    /// Statements for one call that begins now.
    pub(super) fn now(&self) -> Arc<S> {
        match self {
            Self::Database(statements) => Arc::clone(statements),
            Self::Supplied { clock, names, turns } => {
                let instant = Now::At(clock.now().trunc_subsecs(6));
                Arc::new(S::new(names, instant, Arc::clone(turns)))
            }
        }
    }
}
