//! Whether two answers are the same, once the database's is in the words of the reference.

use std::collections::BTreeMap;
use std::fmt::Debug;

use outbox_core::{Batch, Lane, OutboxRecord, ReadMark, Settled, StoreError, UndecodableRow};

/// What differs between the two sides.
pub(super) type Difference = String;

pub(super) fn same<T: Debug + PartialEq>(
    what: &str,
    reference: &T,
    real: &T,
) -> Result<(), Difference> {
    if reference == real {
        return Ok(());
    }
    Err(format!("{what}\n  reference: {reference:?}\n  database:  {real:?}"))
}

/// Both answers, or nothing where both sides refuse for the same reason.
pub(super) fn answers<R, D>(
    reference: Result<R, StoreError>,
    real: Result<D, StoreError>,
) -> Result<Option<(R, D)>, Difference> {
    match (reference, real) {
        (Ok(reference), Ok(real)) => Ok(Some((reference, real))),
        (Err(reference), Err(real)) => {
            same("refusal", &reference.kind(), &real.kind())?;
            Ok(None)
        }
        (Ok(_), Err(real)) => {
            let cause = std::error::Error::source(&real).map(ToString::to_string);
            Err(format!("the database refuses: {real}: {cause:?}"))
        }
        (Err(reference), Ok(_)) => Err(format!("the reference alone refuses: {reference}")),
    }
}

pub(super) fn settled(reference: &Settled, real: &Settled) -> Result<(), Difference> {
    let applied = |settled: &Settled| {
        let mut applied = settled.applied.clone();
        applied.sort_by_key(|record| record.position);
        applied
    };
    same("applied", &applied(reference), &applied(real))?;
    let lost = |settled: &Settled| {
        let mut lost: Vec<_> = settled.lost.iter().map(|it| (it.lane, it.token)).collect();
        lost.sort();
        lost
    };
    same("lost", &lost(reference), &lost(real))?;
    same("has a stamp", &reference.stamp.is_some(), &real.stamp.is_some())
}

/// A database may have to wait for transactions of other outboxes, so its horizon may be lower. It
/// must not be higher: `stamps` are those of the same settlements and heartbeats.
pub(super) fn mark(
    reference: ReadMark,
    real: ReadMark,
    stamps: &[(u64, u64)],
) -> Result<(), Difference> {
    match (reference, real) {
        (ReadMark::Horizon(reference), ReadMark::Horizon(real)) => {
            let early = stamps.iter().find(|stamp| stamp.0 > reference && stamp.1 <= real);
            early.map_or(Ok(()), |stamp| Err(format!("{real} is past open writers: {stamp:?}")))
        }
        _ => same("mark", &reference, &real),
    }
}

/// The answers to a read. `all` is what the reference would answer without a budget.
pub(super) fn batches(reference: &Batch, real: &Batch, all: &Batch) -> Result<(), Difference> {
    same("reached", &reference.reached, &real.reached)?;
    same("truncated", &reference.truncated, &real.truncated)?;
    if !reference.truncated {
        same("records", &reference.records, &real.records)?;
        return same("undecodable", &rows(reference), &rows(real));
    }
    pieces(reference, all).map_err(of_the_reference)?;
    pieces(real, all)
}

pub(super) fn of_the_reference(mut difference: Difference) -> Difference {
    difference.insert_str(0, "the reference: ");
    difference
}

/// Some of all, in order, and of each lane what comes first.
pub(super) fn pieces(real: &Batch, all: &Batch) -> Result<(), Difference> {
    let strange = real.records.iter().find(|record| !all.records.contains(record));
    same("a record that is not due or has another content", &None, &strange)?;
    let strange = rows(real).into_iter().find(|row| !rows(all).contains(row));
    same("an undecodable row that is not there", &None, &strange)?;
    let order = |record: &OutboxRecord| {
        let place = (record.reference.lane, record.reference.position);
        (record.available_at.is_none(), place)
    };
    same("sorted", &true, &real.records.is_sorted_by_key(order))?;
    if all.undecodable.is_empty() { cut(&real.records, &all.records) } else { Ok(()) }
}

/// Whether each lane is cut to a prefix: first what waited, of that what is due for longest, then
/// the others in order. A store may begin with another lane each time, so only how many records
/// each lane has at least can be told.
fn cut(real: &[OutboxRecord], all: &[OutboxRecord]) -> Result<(), Difference> {
    let (real, all) = (by_lane(real), by_lane(all));
    let most = real.values().map(Vec::len).max().unwrap_or_default();
    for (lane, due) in all {
        let taken = real.get(&lane).map_or(&[][..], Vec::as_slice);
        let fair = taken.len() + 1 >= most.min(due.len() + 1);
        same(&format!("{lane:?} has its share"), &true, &fair)?;
        let (waited, new): (Vec<_>, Vec<_>) =
            due.into_iter().partition(|record| record.available_at.is_some());
        let last = taken.iter().filter_map(|record| record.available_at).max();
        let left_out = waited.iter().filter(|record| !taken.contains(record));
        let earliest = left_out.filter_map(|record| record.available_at).min();
        let longest_first = earliest.is_none_or(|earliest| Some(earliest) >= last);
        same(&format!("{lane:?} begins with what is due for longest"), &true, &longest_first)?;
        let taken_of_new = taken.iter().filter(|record| record.available_at.is_none());
        let waited_first = earliest.is_none() || taken_of_new.clone().next().is_none();
        same(&format!("{lane:?} begins with what waited"), &true, &waited_first)?;
        let prefix = taken_of_new.zip(&new).all(|(taken, due)| taken == due);
        same(&format!("{lane:?} is cut to a prefix"), &true, &prefix)?;
    }
    Ok(())
}

fn by_lane(records: &[OutboxRecord]) -> BTreeMap<Lane, Vec<&OutboxRecord>> {
    let mut lanes: BTreeMap<Lane, Vec<&OutboxRecord>> = BTreeMap::new();
    for record in records {
        lanes.entry(record.reference.lane).or_default().push(record);
    }
    lanes
}

/// What is wrong with a row each store says in its own words.
fn rows(batch: &Batch) -> Vec<UndecodableRow> {
    let without_error =
        |row: &UndecodableRow| UndecodableRow { error: String::new(), ..row.clone() };
    let mut rows: Vec<_> = batch.undecodable.iter().map(without_error).collect();
    rows.sort_by_key(|row| row.reference.position);
    rows
}
