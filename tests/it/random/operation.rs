//! What can happen to an outbox.

/// Records are in the first lanes only, so that leases meet.
pub(super) const LANES: u8 = 4;
pub(super) const WORKERS: u8 = 3;
pub(super) const WRITERS: u8 = 3;

/// One thing that happens.
///
/// It names leases, records and earlier calls by numbers that are taken modulo what there is. So it
/// can be done in any state, and a run stays one when operations are left out.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Acquired {
        leases: Latest,
    },
    Advance {
        hours: u8,
    },
    Begin {
        writer: u8,
    },
    Commit {
        writer: u8,
    },
    CompleteClaim {
        claim: Named,
    },
    Damage {
        record: u8,
    },
    FailClaim {
        claim: Named,
        hours: u8,
        text: u8,
    },
    Heartbeat {
        worker: u8,
        wants_lanes: Option<u8>,
        /// A bit for each topic that it has.
        topics: u8,
        /// A bit for each topic that it lacks.
        lacks: u8,
    },
    Lease {
        worker: u8,
        lanes: u8,
        hours: u8,
        /// Hours for which a lane must have been free.
        orphans: Option<u8>,
        /// A bit for each of the first lanes that it gave up.
        except: u8,
    },
    Read {
        lanes: u8,
        floor: Option<u8>,
        known: Latest,
        /// A bit for each of what can be withheld.
        without: u8,
        records: u8,
        bytes: Option<u16>,
    },
    Release {
        leases: Latest,
    },
    ReleaseSavepoint {
        writer: u8,
    },
    Renew {
        leases: Latest,
        hours: u8,
    },
    RenewClaim {
        claim: Named,
        hours: u8,
    },
    /// An earlier call of the store is made again, with the tokens that it had.
    Repeat {
        call: u8,
    },
    RollBackToSavepoint {
        writer: u8,
    },
    Rollback {
        writer: u8,
    },
    Savepoint {
        writer: u8,
    },
    Settle {
        outcomes: Vec<End>,
    },
    Stage {
        writer: u8,
        message: Draft,
    },
    Stats,
    TryClaim {
        /// One of all that were ever found in the database, sent or not.
        record: u8,
        /// Under the id of another record.
        strange: bool,
        worker: u8,
        hours: u8,
    },
}

/// Some of the latest: those whose bits are set, the latest one being the lowest bit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Latest(pub(super) u16);

impl Latest {
    /// In the order in which they came.
    pub(super) fn of<T: Copy>(self, all: &[T]) -> Vec<T> {
        let latest = all.iter().rev().take(16).enumerate();
        let mut chosen: Vec<T> =
            latest.filter(|(bit, _)| self.0 >> bit & 1 == 1).map(|(_, item)| *item).collect();
        chosen.reverse();
        chosen
    }
}

/// A message that is staged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draft {
    /// One of the ordering keys, if any.
    pub(super) key: Option<u8>,
    /// Hours until it is due; zero is at once.
    pub(super) delay: u8,
    pub(super) padding: u16,
    /// Whether every field is set.
    pub(super) complete: bool,
    /// Of a form that this version does not know.
    pub(super) newer: bool,
    /// What an id is made of: few values, so that some ids stand in several records.
    pub(super) id: u8,
}

/// How the attempt of a record ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) record: u8,
    pub(super) under: Under,
    pub(super) kind: Kind,
}

/// One of the claims, with a token of its record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    pub(super) claim: u8,
    pub(super) under: Under,
}

/// The lease or claim whose token is named.
#[derive(Clone, Copy, Debug)]
pub(super) enum Under {
    Earlier,
    Foreign,
    Latest,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Dead { reason: u8, text: u8, parks_key: bool },
    Failed { hours: u8, text: u8 },
    Parked,
    Published,
}
