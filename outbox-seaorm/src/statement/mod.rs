//! SQL, one statement per function.

pub(crate) mod clock;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod fleet;
pub(crate) mod insert;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod lane;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod read;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod settle;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod stats;
#[cfg(feature = "postgres")]
pub(crate) mod unnest;
