//! Whole runs of several workers on virtual time, with all randomness from one seed.
//!
//! A run is what [`plan`] draws: an application that stages events in transactions, two or three
//! [`process`]es of real dispatchers that are started, stopped, frozen and killed, and [`fault`]s of the
//! [`store`] and of the [`broker`] that their calls meet. [`run`] steps through it until all faults are
//! over and the outbox is quiet. The [`journal`] tells what happened, by numbers that are the same each
//! time. [`verdict`] says from it what must hold, and [`duplicates`] why a message was sent again.
//!
//! A seed is a run. `OUTBOX_TEST_SEED` runs one alone, and with `OUTBOX_TEST_RUNS` so many from it on.
//! A run that fails tells its seed, its journal and what was violated.

mod broker;
mod claimant;
mod duplicates;
mod fault;
mod journal;
mod line;
mod mistakes;
mod plan;
mod process;
mod run;
mod seeds;
mod statement;
mod store;
mod verdict;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;

use duplicates::Window;
use fault::Fault;
use run::run;
use seeds::{Seeds, in_threads};
use verdict::Verdict;

/// Enough for each fault and each window to occur many times.
const RUNS: u64 = 2000;

#[test]
fn whatever_fails_nothing_is_lost_and_every_duplicate_has_its_window() {
    let seeds = Seeds::from_env(RUNS);
    let verdicts = in_threads(&seeds, |seed| {
        let verdict = run(seed, |store| Arc::new(store));
        assert!(verdict.violations.is_empty(), "a run failed\n{verdict}");
        assert!(verdict.is_full(), "seed {seed} draws too little");
        Verdict { journal: Vec::new(), ..verdict }
    });

    if seeds.are_all {
        assert_all_occurred(&verdicts);
    }
}

#[test]
fn a_seed_is_a_run() {
    in_threads(&Seeds::from_env(25), |seed| {
        let first = run(seed, |store| Arc::new(store)).to_string();
        let second = run(seed, |store| Arc::new(store)).to_string();

        assert!(first == second, "seed {seed} gives two runs:\n{first}\n{second}");
    });
}

fn assert_all_occurred(verdicts: &[Verdict]) {
    let met = |fault| verdicts.iter().filter(|verdict| verdict.met.contains(&fault)).count();
    let faults: Vec<(Fault, usize)> = Fault::ALL.map(|fault| (fault, met(fault))).to_vec();
    let mut windows: BTreeMap<Window, usize> = Window::ALL.map(|window| (window, 0)).into();
    for window in verdicts.iter().flat_map(|verdict| &verdict.windows) {
        *windows.entry(*window).or_default() += 1;
    }
    println!("runs with each fault: {faults:?}\nduplicates: {windows:?}");

    assert!(faults.iter().all(|(_, runs)| *runs > 0), "a fault never occurred: {faults:?}");
    assert!(windows.values().all(|times| *times > 0), "a window never occurred: {windows:?}");
}
