//! What happened in runs, so that they are known to have been about something.

use std::collections::{BTreeMap, BTreeSet};

/// In how many of a full set of runs each sight is seen at least.
const MANY: usize = 10;

/// Something that a run may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sight {
    Applied,
    Claim(Claiming),
    Cut,
    Dead,
    Lost,
    Parked,
    /// How far a read looked was told.
    Reached,
    Read,
    Refused,
    Undecodable,
    Withheld,
}

/// What became of a claim, or of the wish for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Claiming {
    Absent,
    /// By another.
    Claimed,
    /// One that was over was deleted when its lane was acquired.
    Cleared,
    Completed,
    Failed,
    Granted,
    LaneLeased,
    NotDue,
    Parked,
    RanOut,
    Renewed,
    /// One that was over stood in the way of none.
    TakenOver,
    /// The owner of the lane was told of it.
    Told,
    /// The owner of the lane settled its record in vain.
    Untouched,
    /// It was named in vain.
    Void,
}

const ALL: [Sight; 25] = [
    Sight::Applied,
    Sight::Claim(Claiming::Absent),
    Sight::Claim(Claiming::Claimed),
    Sight::Claim(Claiming::Cleared),
    Sight::Claim(Claiming::Completed),
    Sight::Claim(Claiming::Failed),
    Sight::Claim(Claiming::Granted),
    Sight::Claim(Claiming::LaneLeased),
    Sight::Claim(Claiming::NotDue),
    Sight::Claim(Claiming::Parked),
    Sight::Claim(Claiming::RanOut),
    Sight::Claim(Claiming::Renewed),
    Sight::Claim(Claiming::TakenOver),
    Sight::Claim(Claiming::Told),
    Sight::Claim(Claiming::Untouched),
    Sight::Claim(Claiming::Void),
    Sight::Cut,
    Sight::Dead,
    Sight::Lost,
    Sight::Parked,
    Sight::Reached,
    Sight::Read,
    Sight::Refused,
    Sight::Undecodable,
    Sight::Withheld,
];

/// What one run has seen.
#[derive(Debug, Default)]
pub(super) struct Sights(BTreeSet<Sight>);

impl Sights {
    /// Notes it, if it happened.
    pub(super) fn note(&mut self, sight: Sight, happened: bool) {
        if happened {
            self.0.insert(sight);
        }
    }
}

/// How many runs have seen what.
#[derive(Debug)]
pub(super) struct Seen(BTreeMap<Sight, usize>);

impl Seen {
    /// By no run yet.
    pub(super) fn nothing() -> Self {
        Self(ALL.into_iter().map(|sight| (sight, 0)).collect())
    }

    pub(super) fn add(&mut self, run: &Sights) {
        for sight in &run.0 {
            *self.0.entry(*sight).or_default() += 1;
        }
    }

    /// Whether a full set of runs has seen enough of each.
    pub(super) fn is_enough(&self) -> bool {
        self.0.values().all(|runs| *runs > MANY)
    }
}
