//! The tables as the statements know them.
//!
//! The schema is made by the migrations, which never look in here; a test holds the one against the
//! other.

pub(crate) mod record;
mod table;
mod tables;

pub use table::Table;
pub use tables::{
    AUDIT, CLAIM, DEAD_LETTER, INBOX, LANE, MESSAGE, META, PARKED, PARKED_KEY, PUBLISHED, TABLES,
    WORKER,
};
