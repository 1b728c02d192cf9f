//! Mistakes that a check of the protocol must find.

/// One mistake in the protocol, to prove that a check would see it.
///
/// Only a [`State`](super::State) that was made with it has it; no store and no dispatcher does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// A record is claimed although its lane is leased.
    ClaimBesideLease,
    /// The owner of a lane knows of no claim, and its outcomes change claimed records.
    ClaimedSettled,
    /// The owner of a lane knows of no claim.
    ClaimsUntold,
    /// A failure counts whether or not its record changed since the attempt began.
    CountTwice,
    /// Reads begin at the last position that was read, and nothing looks behind it.
    CursorWithoutFloor,
    /// A lane is leased although its lease is live.
    ExpiryIgnored,
    /// An owner that sees a key leave the parked ones reads on from where it is.
    FloorKept,
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
    /// An owner that sees a key leave the parked ones takes the answer of an earlier read.
    OldAnswerTaken,
    /// Records that come back when their key is freed are as they were.
    RevisionKept,
    /// A record is settled as published before it is sent.
    SettleBeforeSend,
    /// A claimant's call does not ask whether its claim is live.
    StaleClaimTaken,
    /// Every lease of a lane has the same token.
    TokenReused,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::ClaimBesideLease,
        Self::ClaimedSettled,
        Self::ClaimsUntold,
        Self::CountTwice,
        Self::CursorWithoutFloor,
        Self::ExpiryIgnored,
        Self::FloorKept,
        Self::LateSuccessAccepted,
        Self::NoFence,
        Self::NoPark,
        Self::NoSendCheck,
        Self::NoTombstone,
        Self::OldAnswerTaken,
        Self::RevisionKept,
        Self::SettleBeforeSend,
        Self::StaleClaimTaken,
        Self::TokenReused,
    ];
}
