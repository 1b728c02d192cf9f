//! Which runs are made, and in how many threads.

use std::env;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

pub(super) struct Seeds {
    pub(super) range: Range<u64>,
    /// Whether there are as many as it takes for everything to occur.
    pub(super) are_all: bool,
}

impl Seeds {
    /// So many seeds from the first one on, or those that the environment names.
    pub(super) fn from_env(runs: u64) -> Self {
        let first = number("OUTBOX_TEST_SEED");
        let wanted = number("OUTBOX_TEST_RUNS").unwrap_or(if first.is_some() { 1 } else { runs });
        let first = first.unwrap_or_default();
        Self { range: first..first + wanted, are_all: wanted >= runs }
    }
}

/// Runs each seed in one of as many threads as there are processors; a panic ends all.
pub(super) fn in_threads<T: Send>(seeds: &Seeds, run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let next = AtomicU64::new(seeds.range.start);
    let work = || {
        let mut results = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.range.end {
                return results;
            }
            let stop = StopOthers(&next, seeds.range.end);
            results.push(run(seed));
            std::mem::forget(stop);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = running.into_iter().map(thread::ScopedJoinHandle::join);
        // The panic has told what failed, in the thread of the run.
        ended.flat_map(|results| results.unwrap()).collect()
    })
}

/// A run that panics is the last one.
struct StopOthers<'a>(&'a AtomicU64, u64);

impl Drop for StopOthers<'_> {
    fn drop(&mut self) {
        self.0.store(self.1, Ordering::Relaxed);
    }
}

fn number(variable: &str) -> Option<u64> {
    Some(env::var(variable).ok()?.parse().unwrap())
}
