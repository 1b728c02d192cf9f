//! How far the reads of one lane got among the records that waited for an instant.

use outbox_core::DuePlace;

/// One of so many reads looks before the front, while nothing is known to be there.
const CALM: u32 = 4;
/// One of so many reads looks before the front, while something wanted may be there.
const HURRIED: u32 = 2;

/// Where a read goes on among the records that waited for an instant, if it withholds something.
///
/// A store looks at some of them at a time, so that a long queue of what is withheld costs each read
/// little. What becomes due stands behind all that was due before. So most reads go on at the
/// **front**, behind what was looked at, and what is due again is found at once, however long the
/// queue before it is.
///
/// What may stand before the front nevertheless is found by **rounds** from the start: what is wanted
/// again, what was let go of, and what was committed late.
#[derive(Debug, Default)]
pub(super) struct DueWalk {
    front: Option<DuePlace>,
    /// The last look at the front found nothing behind what it saw.
    is_at_end: bool,
    /// How far the round got that is under way.
    round: Option<DuePlace>,
    begun: u64,
    ended: u64,
    /// The last round that somebody waits for.
    wanted: u64,
    reads: u32,
    /// The read under way belongs to the round.
    is_round: bool,
    /// The next part is to be looked at without a pause.
    goes_on: bool,
}

impl DueWalk {
    /// Begins a read that withholds something, and says behind which place.
    pub(super) fn begin(&mut self) -> Option<DuePlace> {
        self.reads = self.reads.wrapping_add(1);
        let every = if self.is_wanted() { HURRIED } else { CALM };
        // Without a front every read begins at the start.
        self.is_round = self.front.is_some() && self.reads.is_multiple_of(every);
        if !self.is_round {
            return self.front;
        }
        if self.round.is_none() {
            self.begun += 1;
        }
        self.round
    }

    /// The read has shown all up to here, unless it is not told how far it looked.
    pub(super) fn reach(&mut self, reached: Option<DuePlace>) {
        self.goes_on = false;
        let Some(reached) = reached else { return };
        let behind = (reached != DuePlace::END).then_some(reached);
        if self.is_round {
            self.round = behind;
            if behind.is_none() {
                self.ended = self.begun;
            }
            self.goes_on = self.is_wanted();
            return;
        }
        self.is_at_end = behind.is_none();
        self.goes_on = behind.is_some();
        if behind.is_some() {
            self.front = behind;
        } else if self.front.is_none() {
            self.see_all();
        }
    }

    /// A read has shown all of them at once.
    pub(super) fn see_all(&mut self) {
        self.begun += 1;
        self.ended = self.begun;
        (self.front, self.round) = (None, None);
        (self.is_at_end, self.goes_on) = (true, false);
    }

    /// Something wanted may stand before the front. Returns the round that will have passed it.
    pub(super) const fn look_before(&mut self) -> u64 {
        self.wanted = self.next_round();
        self.wanted
    }

    /// The first round that shows all that is there now.
    pub(super) const fn next_round(&self) -> u64 {
        self.begun + 1
    }

    /// The last round that has shown all that was there when it began.
    pub(super) const fn rounds(&self) -> u64 {
        self.ended
    }

    /// Whether nothing is known to be left to look at.
    pub(super) const fn is_done(&self) -> bool {
        self.is_at_end && !self.is_wanted()
    }

    /// Whether the next part is to be looked at without a pause.
    pub(super) const fn goes_on(&self) -> bool {
        self.goes_on
    }

    const fn is_wanted(&self) -> bool {
        self.wanted > self.ended
    }
}
