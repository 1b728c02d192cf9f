//! The fixed slots that records belong to.

use std::fmt;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::error::{StoreError, StoreErrorKind};
use crate::id::EventId;

/// One of the 64 slots that records are spread over.
///
/// A record's lane is fixed when it is staged: the XXH3 64-bit hash with seed
/// [`Lane::SEED`], modulo 64, of
/// - the topic's length as four little-endian bytes, the topic and the ordering key, if ordered,
/// - the sixteen bytes of the event id otherwise.
///
/// Number, hash and seed are part of the stored format: another choice would put one key into two
/// lanes, with two owners.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane(u8);

impl Lane {
    /// How many lanes there are.
    pub const COUNT: u8 = 64;
    /// Seed of the hash.
    pub const SEED: u64 = 0x6f75_7462_6f78_0001;

    /// The lane with this number.
    ///
    /// # Errors
    /// [`StoreErrorKind::InvalidArgument`] from 64 on.
    pub fn new(number: u8) -> Result<Self, StoreError> {
        if number >= Self::COUNT {
            return Err(StoreError::new(
                StoreErrorKind::InvalidArgument,
                "a lane is a number from 0 to 63",
            ));
        }
        Ok(Self(number))
    }

    /// Lane of an ordered event.
    pub fn of_key(topic: &str, ordering_key: &str) -> Self {
        let length = u32::try_from(topic.len()).unwrap_or(u32::MAX).to_le_bytes();
        let mut input = Vec::with_capacity(length.len() + topic.len() + ordering_key.len());
        input.extend_from_slice(&length);
        input.extend_from_slice(topic.as_bytes());
        input.extend_from_slice(ordering_key.as_bytes());
        Self::of_bytes(&input)
    }

    /// Lane of an unordered event.
    pub fn of_id(id: EventId) -> Self {
        Self::of_bytes(id.uuid().as_bytes())
    }

    /// All lanes in order.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT).map(Self)
    }

    /// The lane's number, 0 to 63.
    pub const fn number(self) -> u8 {
        self.0
    }

    fn of_bytes(input: &[u8]) -> Self {
        let slot = xxh3_64_with_seed(input, Self::SEED) % u64::from(Self::COUNT);
        // The remainder is below 64.
        Self(u8::try_from(slot).unwrap_or(0))
    }
}

impl TryFrom<i16> for Lane {
    type Error = StoreError;

    fn try_from(number: i16) -> Result<Self, StoreError> {
        Self::new(u8::try_from(number).unwrap_or(u8::MAX))
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lane({})", self.0)
    }
}
