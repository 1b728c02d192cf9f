//! Spending one budget over all lanes.

use outbox_core::{Position, ReadRequest};

/// A record that could be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) position: Position,
    pub(super) size: u64,
}

/// Takes from each lane a prefix of its candidates, rank by rank over all lanes.
///
/// The first record of all is taken whatever its size.
pub(super) fn spend(lanes: &[&[Candidate]], request: &ReadRequest) -> Vec<Position> {
    let most = usize::try_from(request.records.get()).unwrap_or(usize::MAX);
    let longest = lanes.iter().map(|lane| lane.len()).max().unwrap_or_default();
    let by_rank = (0..longest).flat_map(|rank| lanes.iter().filter_map(move |lane| lane.get(rank)));
    let mut bytes = 0_u64;
    let fits = |(place, candidate): &(usize, &Candidate)| {
        bytes = bytes.saturating_add(candidate.size);
        *place == 0 || bytes <= request.bytes
    };
    let taken = by_rank.take(most).enumerate().take_while(fits);
    taken.map(|(_, candidate)| candidate.position).collect()
}
