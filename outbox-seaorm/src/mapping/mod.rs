//! Between rows and the words of the core.

mod cells;
pub(crate) mod columns;
mod decode;
mod error;
mod fields;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;
mod time;
mod words;

pub(crate) use decode::Decoder;
#[cfg(feature = "mysql")]
pub(crate) use error::is_deadlock;
pub(crate) use error::{Cause, failed, from_sqlx, unreadable};
pub(crate) use time::duration;
