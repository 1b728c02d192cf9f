//! Which random runs a test makes.

use std::env;
use std::ops::Range;

/// So many seeds, from the first one on.
///
/// `OUTBOX_TEST_SEED` says which is the first, `OUTBOX_TEST_RUNS` how many there are.
pub(crate) fn seeds(runs: u64) -> Range<u64> {
    let first = number("OUTBOX_TEST_SEED").unwrap_or_default();
    first..first + number("OUTBOX_TEST_RUNS").unwrap_or(runs)
}

fn number(variable: &str) -> Option<u64> {
    Some(env::var(variable).ok()?.parse().expect("a number"))
}
