//! SQL, one statement per function.

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(crate) mod claim;
pub(crate) mod clock;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(crate) mod fleet;
pub(crate) mod insert;
#[cfg(any(feature = "mysql", feature = "sqlite"))]
pub(crate) mod json;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(crate) mod lane;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(crate) mod read;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(crate) mod settle;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(crate) mod stats;
#[cfg(feature = "postgres")]
pub(crate) mod unnest;
