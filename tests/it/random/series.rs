//! The operations of a run, drawn at random.

use fastrand::Rng;

use super::operation::{
    Draft, End, Kind, LANES, Latest, Named, Operation, Under, WORKERS, WRITERS,
};

/// More hours than any lease or claim lasts.
const LONG: u8 = 12;

/// The operations of one run.
///
/// They come in short series of what belongs together, so that records get far; between the series
/// of one writer or worker come those of the others.
pub(super) fn run(seed: u64, operations: usize) -> Vec<Operation> {
    let mut random = Rng::with_seed(seed);
    let mut run = vec![lease(&mut random)];
    while run.len() < operations {
        match random.u8(..11) {
            0..4 => write(&mut random, &mut run),
            4..7 => work(&mut random, &mut run),
            7..9 => send_by_hand(&mut random, &mut run),
            _ => run.extend([of_a_worker(&mut random), of_a_worker(&mut random)]),
        }
    }
    run.truncate(operations);
    run
}

/// After any run: an owner comes after all leases and claims are over.
pub(super) fn ending() -> [Operation; 3] {
    [
        Operation::Advance { hours: LONG },
        Operation::Lease { worker: 0, lanes: LANES, hours: 1, orphans: None, except: 0 },
        Operation::Acquired { leases: Latest(u16::MAX) },
    ]
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
        run.push(settle(random));
    }
}

/// What somebody does who claims records, while an owner of their lanes may come.
fn send_by_hand(random: &mut Rng, run: &mut Vec<Operation>) {
    let all = Latest(u16::MAX);
    if random.u8(..5) > 0 {
        run.push(settle(random));
        run.push(Operation::Release { leases: all });
    }
    let tries: Vec<Operation> = (0..random.u8(1..=3)).map(|_| try_claim(random)).collect();
    run.extend(tries.clone());
    if random.u8(..3) == 0 {
        run.push(Operation::Advance { hours: random.u8(1..=3) });
        run.extend(tries);
    }
    if random.bool() {
        run.extend([lease(random), Operation::Acquired { leases: all }]);
        run.push(settle(random));
    }
    for _ in 0..random.u8(1..=3) {
        run.push(of_a_claim(random));
    }
}

fn try_claim(random: &mut Rng) -> Operation {
    Operation::TryClaim {
        record: random.u8(..8),
        strange: random.u8(..16) == 0,
        worker: random.u8(..WORKERS),
        hours: random.u8(1..=3),
    }
}

fn of_a_claim(random: &mut Rng) -> Operation {
    // Rather one of the latest: the others are over already.
    let claim = random.u8(..8).min(random.u8(..8));
    let claim = Named { claim, under: under(random) };
    match random.u8(..7) {
        0..2 => Operation::RenewClaim { claim, hours: random.u8(1..=3) },
        2..4 => Operation::CompleteClaim { claim },
        4..6 => Operation::FailClaim { claim, hours: random.u8(0..=2), text: random.u8(..) },
        _ => Operation::Repeat { call: random.u8(..) },
    }
}

fn of_a_worker(random: &mut Rng) -> Operation {
    let leases = Latest(random.u16(..) & random.u16(..));
    match random.u8(..20) {
        0..2 => lease(random),
        2..6 => Operation::Advance { hours: random.u8(1..=2) },
        6..8 => Operation::Acquired { leases },
        8..10 => Operation::Renew { leases, hours: random.u8(1..=3) },
        10 => Operation::Release { leases },
        11..14 => Operation::Repeat { call: random.u8(..) },
        14..17 => Operation::Damage { record: random.u8(..8) },
        17 => Operation::Stats,
        18 => of_a_claim(random),
        _ => Operation::Heartbeat {
            worker: random.u8(..WORKERS),
            wants_lanes: random.bool().then(|| random.u8(..9)),
            topics: random.u8(..),
            lacks: random.u8(..) & random.u8(..),
        },
    }
}

fn lease(random: &mut Rng) -> Operation {
    let worker = random.u8(..WORKERS);
    let except = if random.bool() { 0 } else { random.u8(..) };
    if random.u8(..4) > 0 {
        let (lanes, hours) = (LANES.min(random.u8(0..=LANES * 2)), random.u8(1..=6));
        return Operation::Lease { worker, lanes, hours, orphans: None, except };
    }
    // Short, so that lanes were free for just as long now and then.
    let (lanes, hours, orphans) = (random.u8(..2), random.u8(1..=2), Some(random.u8(1..=3)));
    Operation::Lease { worker, lanes, hours, orphans, except }
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

fn settle(random: &mut Rng) -> Operation {
    Operation::Settle { outcomes: (0..random.u8(1..=12)).map(|_| end(random)).collect() }
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
    let under = under(random);
    let text = random.u8(..);
    let kind = match random.u8(..10) {
        0..2 => Kind::Published,
        2..4 => Kind::Failed { hours: random.u8(0..=2), text },
        4..7 => Kind::Dead { reason: random.u8(..), text, parks_key: random.u8(..6) > 0 },
        _ => Kind::Parked,
    };
    // Rather one of the latest: the others are settled already.
    let record = random.u8(..16).min(random.u8(..16));
    End { record, under, kind }
}

fn under(random: &mut Rng) -> Under {
    match random.u8(..20) {
        0 => Under::Earlier,
        1 => Under::Foreign,
        _ => Under::Latest,
    }
}
