//! Finding the operations that it takes to fail.
//!
//! Operations mean something in every state, so leaving some out is all that is needed.

use super::compare::Difference;
use super::operation::Operation;

/// How many runs the search may take.
const TRIES: usize = 400;

/// Leaves out what can be left out, in ever smaller pieces.
pub(super) async fn shrink(
    mut operations: Vec<Operation>,
    mut difference: Difference,
    fails: impl AsyncFn(&[Operation]) -> Option<Difference>,
) -> (Vec<Operation>, Difference) {
    let mut tries = 0;
    let mut piece = operations.len().div_ceil(2);
    while piece > 0 && tries < TRIES {
        let mut from = 0;
        while from < operations.len() && tries < TRIES {
            let mut fewer = operations.clone();
            fewer.drain(from..operations.len().min(from + piece));
            tries += 1;
            match fails(&fewer).await {
                Some(found) => (operations, difference) = (fewer, found),
                None => from += piece,
            }
        }
        piece /= 2;
    }
    (operations, difference)
}

#[tokio::test]
async fn only_what_it_takes_to_fail_is_left() {
    let advance = |hours| Operation::Advance { hours };
    let run: Vec<Operation> = (0..60).map(advance).collect();
    let hours = |run: &[Operation]| -> Vec<u8> {
        let hours = |operation: &Operation| match operation {
            Operation::Advance { hours } => Some(*hours),
            _ => None,
        };
        run.iter().filter_map(hours).collect()
    };

    let (left, difference) = shrink(run, "at first".to_owned(), async |run: &[Operation]| {
        let hours = hours(run);
        (hours.contains(&7) && hours.contains(&41)).then(|| "in the end".to_owned())
    })
    .await;

    assert_eq!((hours(&left), &*difference), (vec![7, 41], "in the end"));
}
