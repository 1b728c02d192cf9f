//! SQL, one statement per function.

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
