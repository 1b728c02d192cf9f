//! Writing how attempts ended.
//!
//! Every statement here first locks all lanes that it touches, in their order, and checks token and
//! expiry while doing so. It matches a record by lane, position, id and revision together, so that
//! a repeated outcome, a late one of an earlier attempt and one of a lost lease change nothing.

mod kind;
#[cfg(feature = "mysql")]
pub(crate) mod mysql;
mod part;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

use std::time::Duration;

use outbox_core::{
    Failure, FailureKind, LostLane, Outcome, OutcomeKind, Settled, StoreError, StoreErrorKind,
};

use kind::Ending;
use part::Part;
#[cfg(any(feature = "mysql", feature = "sqlite"))]
use sea_orm::QueryResult;

#[cfg(any(feature = "mysql", feature = "sqlite"))]
use crate::mapping::failed;

/// How long a record rests whose outcome the database refuses.
const REST: Duration = Duration::from_mins(1);

/// Writes one part in one transaction.
trait Write: Sync {
    fn write(&self, part: &Part<'_>) -> impl Future<Output = Result<Written, StoreError>> + Send;
}

/// What one transaction did, by index into the part's leases and outcomes.
#[derive(Debug, Default)]
struct Written {
    held: Vec<usize>,
    applied: Vec<usize>,
    stamp: Option<u64>,
}

/// Writes all outcomes, in as many transactions as they take.
///
/// Where the database refuses the data, the part is halved, lane by lane first, until the outcome
/// that it refuses stands alone.
async fn settle<W: Write>(write: &W, outcomes: &[Outcome]) -> Result<Settled, StoreError> {
    outcomes.iter().try_for_each(check)?;
    let mut settled = Settled::default();
    let mut parts = Part::divide(outcomes);
    parts.reverse();
    while let Some(part) = parts.pop() {
        match write.write(&part).await {
            Ok(written) => add(&mut settled, &part, &written),
            Err(error) if error.kind() == StoreErrorKind::Corrupt => match part.halves() {
                Ok((first, second)) => parts.extend([second, first]),
                Err(outcome) => rest(write, outcome, error).await?,
            },
            Err(error) => return Err(error),
        }
    }
    Ok(settled)
}

/// Which of the leases are live, and with which of those lanes workers died, as the fence tells it.
#[cfg(any(feature = "mysql", feature = "sqlite"))]
fn fence(rows: &[QueryResult]) -> Result<(Vec<usize>, Vec<usize>), StoreError> {
    let (mut held, mut lossy) = (Vec::new(), Vec::new());
    for row in rows {
        let at: i64 = row.try_get_by_index(0).map_err(failed("settle"))?;
        let has_losses: i64 = row.try_get_by_index(1).map_err(failed("settle"))?;
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        held.push(at);
        if has_losses != 0 {
            lossy.push(at);
        }
    }
    Ok((held, lossy))
}

fn check(outcome: &Outcome) -> Result<(), StoreError> {
    match &outcome.kind {
        OutcomeKind::Dead { error, .. } if error.trim().is_empty() => Err(StoreError::new(
            StoreErrorKind::InvalidArgument,
            "a dead letter needs an error text",
        )),
        _ => Ok(()),
    }
}

fn add(settled: &mut Settled, part: &Part<'_>, written: &Written) {
    let outcomes = part.outcomes();
    settled.applied.extend(written.applied.iter().filter_map(|at| Some(outcomes.get(*at)?.record)));
    let lost = part.leases().iter().enumerate().filter(|(at, _)| !written.held.contains(at));
    for (_, lease) in lost {
        let lane = LostLane { lane: lease.lane, token: lease.token };
        if !settled.lost.contains(&lane) {
            settled.lost.push(lane);
        }
    }
    // The first one is the lowest, and all of them came after the reads that the outcomes are of.
    settled.stamp = settled.stamp.or(written.stamp);
}

/// Sets a record aside whose outcome the database refuses.
///
/// Left as it is it would be sent again at once, for ever. As failed it rests, and shows why. The
/// answer does not name it.
async fn rest<W: Write>(write: &W, outcome: &Outcome, error: StoreError) -> Result<(), StoreError> {
    let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    tracing::error!(
        lane = outcome.record.lane.number(),
        position = outcome.record.position.0,
        outcome = Ending::of(&outcome.kind).as_str(),
        cause,
        "the database refuses the outcome of a record: it is tried again later"
    );
    let summary = format!("its outcome was refused by the database: {cause}");
    let failure = Failure::new(FailureKind::Transient, &summary);
    let kind = OutcomeKind::Failed { failure, delay: REST };
    let aside = [Outcome { kind, ..*outcome }];
    match Part::divide(&aside).pop() {
        Some(part) => write.write(&part).await.map(drop),
        None => Err(error),
    }
}
