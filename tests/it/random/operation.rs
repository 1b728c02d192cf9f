//! What can happen to an outbox, drawn at random.

use fastrand::Rng;

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
    Damage {
        record: u8,
    },
    Heartbeat {
        worker: u8,
        wants_lanes: Option<u8>,
    },
    Lease {
        worker: u8,
        lanes: u8,
        hours: u8,
        orphans: bool,
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

/// The lease that an outcome names.
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

/// The operations of one run.
///
/// They come in short series of what belongs together, so that records get far; between the series
/// of one writer or worker come those of the others.
pub(super) fn run(seed: u64, operations: usize) -> Vec<Operation> {
    let mut random = Rng::with_seed(seed);
    let mut run = vec![lease(&mut random)];
    while run.len() < operations {
        match random.u8(..10) {
            0..4 => write(&mut random, &mut run),
            4..8 => work(&mut random, &mut run),
            _ => run.push(of_a_worker(&mut random)),
        }
    }
    run.truncate(operations);
    run
}

/// What the application does in one of its transactions, which may stay open.
fn write(random: &mut Rng, run: &mut Vec<Operation>) {
    let writer = random.u8(..WRITERS);
    for _ in 0..random.u8(2..=6) {
        run.push(match random.u8(..20) {
            0 => Operation::Begin { writer },
            1..3 => Operation::Savepoint { writer },
            3 => Operation::ReleaseSavepoint { writer },
            4..6 => Operation::RollBackToSavepoint { writer },
            _ => Operation::Stage { writer, message: draft(random) },
        });
    }
    match random.u8(..10) {
        0..7 => run.push(Operation::Commit { writer }),
        7 => run.push(Operation::Rollback { writer }),
        _ => {}
    }
}

/// What a dispatcher does.
fn work(random: &mut Rng, run: &mut Vec<Operation>) {
    if random.bool() {
        run.push(lease(random));
    }
    run.push(read(random));
    for _ in 0..random.u8(..=2) {
        let outcomes = (0..random.u8(1..=12)).map(|_| end(random)).collect();
        run.push(Operation::Settle { outcomes });
    }
}

fn of_a_worker(random: &mut Rng) -> Operation {
    let leases = Latest(random.u16(..) & random.u16(..));
    match random.u8(..20) {
        0..2 => lease(random),
        2..7 => Operation::Advance { hours: random.u8(1..=2) },
        7..9 => Operation::Acquired { leases },
        9..11 => Operation::Renew { leases, hours: random.u8(1..=3) },
        11 => Operation::Release { leases },
        12..15 => Operation::Repeat { call: random.u8(..) },
        15..17 => Operation::Damage { record: random.u8(..16).min(random.u8(..16)) },
        17 => Operation::Stats,
        _ => Operation::Heartbeat {
            worker: random.u8(..WORKERS),
            wants_lanes: random.bool().then(|| random.u8(..9)),
        },
    }
}

fn lease(random: &mut Rng) -> Operation {
    let worker = random.u8(..WORKERS);
    if random.u8(..4) > 0 {
        let (lanes, hours) = (LANES.min(random.u8(0..=LANES * 2)), random.u8(1..=6));
        return Operation::Lease { worker, lanes, hours, orphans: false };
    }
    // Short, so that lanes were free for just as long now and then.
    Operation::Lease { worker, lanes: random.u8(..2), hours: random.u8(1..=2), orphans: true }
}

fn read(random: &mut Rng) -> Operation {
    let roomy = random.u8(..3) > 0;
    Operation::Read {
        lanes: if random.u8(..4) > 0 { u8::MAX } else { random.u8(..) },
        floor: (random.u8(..6) == 0).then(|| random.u8(..)),
        known: Latest(random.u16(..) & random.u16(..) & random.u16(..)),
        without: if random.u8(..4) == 0 { random.u8(..) & random.u8(..) } else { 0 },
        records: if roomy { 200 } else { random.u8(1..=8) },
        bytes: (!roomy && random.bool()).then(|| random.u16(..4000)),
    }
}

fn draft(random: &mut Rng) -> Draft {
    Draft {
        // Every other one has the same key.
        key: (random.u8(..6) > 0).then(|| random.u8(..) & random.u8(..)),
        delay: if random.u8(..5) == 0 { random.u8(1..=3) } else { 0 },
        padding: random.u16(..800),
        complete: random.u8(..6) == 0,
        newer: random.u8(..25) == 0,
        id: random.u8(..),
    }
}

fn end(random: &mut Rng) -> End {
    let under = match random.u8(..20) {
        0 => Under::Earlier,
        1 => Under::Foreign,
        _ => Under::Latest,
    };
    let text = random.u8(..);
    let kind = match random.u8(..10) {
        0..3 => Kind::Published,
        3..6 => Kind::Failed { hours: random.u8(0..=2), text },
        6..8 => Kind::Dead { reason: random.u8(..), text, parks_key: random.u8(..6) > 0 },
        _ => Kind::Parked,
    };
    // Rather one of the latest: the others are settled already.
    let record = random.u8(..16).min(random.u8(..16));
    End { record, under, kind }
}
