//! Reads of both sides.

use std::num::NonZeroU32;

use outbox_core::{Batch, DuePlace, Lane, LaneRead, OutboxStore, Position, ReadRequest, RecordRef};

use super::compare::{Difference, answers, batches, mark, of_the_reference};
use super::names::Seen;
use super::operation::{LANES, Operation};
use super::parts::parts;
use super::sample::withheld;
use super::sights::Sight;
use super::twins::{Twins, latest};

impl Twins<'_> {
    pub(super) async fn read(&mut self, operation: &Operation) -> Result<(), Difference> {
        let (ours, theirs) = self.requests(operation);
        let withholds = !ours.without.is_empty();
        if withholds {
            // So that whatever position is told as reached has a name.
            self.compare_contents().await?;
        }
        let real = self.outbox.store.read(&theirs).await;
        let both = answers(self.reference.read(&ours).await, real)?;
        let Some((reference, real)) = both else { return Ok(()) };
        let all = self.everything(&ours).await;
        let real = self.in_our_words(real)?;
        if withholds {
            parts(&ours, &reference, &all).map_err(of_the_reference)?;
            parts(&ours, &real, &all)?;
        } else {
            batches(&reference, &real, &all)?;
        }
        mark(reference.mark, real.mark, &self.stamps)?;
        self.sights.note(Sight::Read, !real.records.is_empty());
        self.sights.note(Sight::Undecodable, !real.undecodable.is_empty());
        self.sights.note(Sight::Cut, real.truncated);
        let without = self.everything(&ReadRequest { without: Vec::new(), ..ours }).await;
        self.sights.note(Sight::Withheld, all.records.len() < without.records.len());
        self.sights.note(Sight::Reached, !real.reached.is_empty());
        Ok(())
    }

    /// Whatever is due and wanted, beyond any budget and any part of a lane.
    async fn everything(&self, request: &ReadRequest) -> Batch {
        let (records, bytes) = (NonZeroU32::MAX, u64::MAX);
        let mut request = ReadRequest { records, bytes, ..request.clone() };
        let mut all = self.reference.read(&request).await.unwrap();
        loop {
            let rows = all.undecodable.iter().map(|row| row.reference);
            let found = all.records.iter().map(|record| record.reference).chain(rows);
            request.known.extend(found.map(|place| place.position));
            let before = request.lanes.clone();
            for (lane, reached) in &all.reached {
                let reads = request.lanes.iter_mut().filter(|read| read.lane == *lane);
                reads.for_each(|read| read.floor = *reached);
            }
            for (lane, reached) in &all.due_reached {
                let reads = request.lanes.iter_mut().filter(|read| read.lane == *lane);
                reads.for_each(|read| read.due_behind = Some(*reached));
            }
            if request.lanes == before {
                return all;
            }
            let behind = self.reference.read(&request).await.unwrap();
            all.records.extend(behind.records);
            all.undecodable.extend(behind.undecodable);
            all.reached = behind.reached;
            all.due_reached = behind.due_reached;
        }
    }

    /// The same request in the words of each side.
    fn requests(&self, operation: &Operation) -> (ReadRequest, ReadRequest) {
        let Operation::Read { lanes, floor, known, without, records, bytes } = operation else {
            unreachable!("it is a read")
        };
        let mut numbers: Vec<u8> = (0..LANES).filter(|lane| lanes >> lane & 1 == 1).collect();
        if numbers.is_empty() {
            numbers.push(lanes % LANES);
        }
        let known = known.of(&self.seen);
        let floor = floor.and_then(|number| latest(&self.seen, number));
        // SQLite's own clock is not that of the reference.
        let begins_at_due = !self.outbox.has_one_writer();
        let request = |side: fn(&Seen) -> RecordRef| ReadRequest {
            lanes: numbers
                .iter()
                .map(|number| lane_read(*number, floor, side, begins_at_due))
                .collect(),
            known: known.iter().map(|seen| side(seen).position).collect(),
            without: withheld(*without),
            records: NonZeroU32::new(u32::from(*records)).unwrap(),
            bytes: bytes.map_or(1 << 30, u64::from),
        };
        (request(|seen| seen.reference), request(|seen| seen.real))
    }

    /// Remembers what was read, to settle it later.
    fn in_our_words(&mut self, mut batch: Batch) -> Result<Batch, Difference> {
        let now = self.now();
        for record in &mut batch.records {
            let real = record.reference;
            let reference = self.names.record(real, &record.message.payload)?;
            record.reference = reference;
            record.failing_for = self.outbox.time(record.failing_for);
            for instant in [
                &mut record.available_at,
                &mut record.first_failed_at,
                &mut record.message.deliver_at,
            ] {
                *instant = instant.map(|instant| self.outbox.instant(instant, now));
            }
            let (revision, due) = (record.revision, record.available_at);
            self.seen.push(Seen { reference, real, revision, due });
        }
        for (_, place) in batch.due_reached.iter_mut().filter(|(_, at)| *at != DuePlace::END) {
            place.available_at = self.outbox.instant(place.available_at, now);
            place.position = self.names.position(place.position);
        }
        for (_, reached) in &mut batch.reached {
            *reached = self.names.position(*reached);
        }
        for row in &mut batch.undecodable {
            let real = row.reference;
            row.reference = self.names.reference(real);
            let (reference, revision) = (row.reference, row.revision);
            self.seen.push(Seen { reference, real, revision, due: None });
        }
        Ok(batch)
    }
}

/// From this record on, if it is of the lane: among those that waited, if it is one of them.
fn lane_read(
    number: u8,
    from: Option<Seen>,
    side: fn(&Seen) -> RecordRef,
    begins_at_due: bool,
) -> LaneRead {
    let lane = Lane::new(number).unwrap();
    let from = from.filter(|seen| seen.reference.lane == lane);
    let position = from.map_or(Position(0), |seen| side(&seen).position);
    let due = from.and_then(|seen| seen.due).filter(|_| begins_at_due);
    let due_behind = due.map(|available_at| DuePlace { available_at, position });
    LaneRead { due_behind, ..LaneRead::new(lane, position) }
}
