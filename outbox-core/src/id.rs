//! Identities that are never nil and never reused.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::{StoreError, StoreErrorKind};

macro_rules! identity {
    ($(#[$doc:meta])* $name:ident, $what:literal, $fresh:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "Uuid", into = "Uuid")]
        pub struct $name(Uuid);

        impl $name {
            /// Makes a fresh identity.
            #[expect(clippy::new_without_default, reason = "each call makes another value")]
            pub fn new() -> Self {
                Self($fresh)
            }

            /// Takes an identity that was made elsewhere.
            ///
            /// # Errors
            /// [`StoreErrorKind::InvalidArgument`] for the nil UUID.
            pub fn from_uuid(id: Uuid) -> Result<Self, StoreError> {
                if id.is_nil() {
                    return Err(StoreError::new(
                        StoreErrorKind::InvalidArgument,
                        concat!($what, " must not be the nil UUID"),
                    ));
                }
                Ok(Self(id))
            }

            /// The plain UUID.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl TryFrom<Uuid> for $name {
            type Error = StoreError;

            fn try_from(id: Uuid) -> Result<Self, StoreError> {
                Self::from_uuid(id)
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    };
}

identity!(
    /// Identity of an event: `CloudEvents` id and deduplication id at the broker.
    ///
    /// It never changes across retry and replay, so that a consumer can suppress a duplicate. A
    /// fresh one is a `UUIDv7`. It is not an order: two processes draw ids of one millisecond in any
    /// order.
    EventId,
    "an event id",
    Uuid::now_v7()
);

identity!(
    /// Fencing token of one lease, fresh for each lease and never reused.
    LeaseToken,
    "a lease token",
    Uuid::new_v4()
);

identity!(
    /// Fencing token of one claim of a record, fresh for each claim and never reused.
    ClaimToken,
    "a claim token",
    Uuid::new_v4()
);

identity!(
    /// Identity of one worker process, fresh at each start.
    WorkerId,
    "a worker id",
    Uuid::now_v7()
);
