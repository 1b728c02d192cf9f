//! Mistakes that a check of the protocol must find.

/// One mistake in the protocol, to prove that a check would see it.
///
/// Only a [`State`](super::State) that was made with it has it; no store and no dispatcher does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// A failure counts whether or not its record changed since the attempt began.
    CountTwice,
    /// Reads begin at the last position that was read, and nothing looks behind it.
    CursorWithoutFloor,
    /// A lane is leased although its lease is live.
    ExpiryIgnored,
    /// A success settles its record whatever became of it since the attempt began.
    LateSuccessAccepted,
    /// A settlement does not ask who holds the lane.
    NoFence,
    /// A dead head leaves its key alone.
    NoPark,
    /// A send begins without a look at the remaining lease.
    NoSendCheck,
    /// A read shows what its worker has in hand.
    NoTombstone,
    /// A record is settled as published before it is sent.
    SettleBeforeSend,
    /// Every lease of a lane has the same token.
    TokenReused,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::CountTwice,
        Self::CursorWithoutFloor,
        Self::ExpiryIgnored,
        Self::LateSuccessAccepted,
        Self::NoFence,
        Self::NoPark,
        Self::NoSendCheck,
        Self::NoTombstone,
        Self::SettleBeforeSend,
        Self::TokenReused,
    ];
}
