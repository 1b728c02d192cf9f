//! Why a message was sent again.
//!
//! Between two sends of one event the journal must tell one of the named windows. It is the first
//! thing that went wrong with the earlier send on its way to a written outcome: the broker takes the
//! message, its answer reaches the worker, the outcome is written under the worker's lease.

use super::fault::Halt;
use super::journal::{Answer, Effect, Entry, Epoch, Event, Fact, Send, Written};

/// A named way to send twice. REPLAY, RESTAGE and RESTORE are none of the dispatcher's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Window {
    /// The broker took the message and its answer did not reach the worker.
    AnswerLost,
    /// The worker ended before its outcome was written.
    Crash,
    /// A stop did not wait for the send.
    Drain,
    /// The lease ran out before the outcome was written.
    Lease,
    /// The outcome could not be written as long as the lease was held.
    OutcomeLost,
}

impl Window {
    pub(super) const ALL: [Self; 5] =
        [Self::AnswerLost, Self::Crash, Self::Drain, Self::Lease, Self::OutcomeLost];
}

/// The windows of all repeated sends of an event, `None` for one that nothing explains.
///
/// They are taken in the order in which they began: one that stood still on its way is not the reason
/// of what began meanwhile.
pub(super) fn windows(journal: &[Entry], event: Event) -> Vec<Option<Window>> {
    let taken = |entry: &Entry| match entry.fact {
        Fact::Taken(send) if send.event == event => Some((began(journal, &send), send)),
        _ => None,
    };
    let mut taken: Vec<(usize, Send)> = journal.iter().filter_map(taken).collect();
    taken.sort_by_key(|(began, _)| *began);
    taken.windows(2).map(|pair| window(journal, pair[0], pair[1])).collect()
}

/// What of a send that began `from` here let the next one begin there.
fn window(
    journal: &[Entry],
    (from, first): (usize, Send),
    (until, second): (usize, Send),
) -> Option<Window> {
    if is_overtaken(journal, &second) {
        return Some(Window::Lease);
    }
    if journal[..until].iter().any(|entry| is_end_of(&entry.fact, first.event)) {
        return None;
    }
    if is_overtaken(journal, &first) {
        return Some(Window::Lease);
    }
    let stopping = journal[..from].iter().any(|entry| stops(&entry.fact, &first));
    let mut fate = Fate { send: first, answered: false, missed: false, stopping };
    let between = &journal[from..until];
    let window = between.iter().find_map(|entry| fate.window(&entry.fact));
    let settles = |entry: &Entry| is_about(&entry.fact, &first);
    let unknown = first.is_fresh && !between.iter().any(settles);
    window.or(unknown.then_some(Window::Lease))
}

/// Whether an outcome of the send was to be written under its lease.
fn is_about(fact: &Fact, send: &Send) -> bool {
    matches!(fact, Fact::Settled { event, epoch, .. } if (*event, *epoch) == (send.event, send.epoch))
}

/// Whether the lease of a send had ended when the broker took its message.
///
/// The send check keeps a send from beginning under such a lease, as far as a worker can know.
fn is_overtaken(journal: &[Entry], send: &Send) -> bool {
    let taken = |entry: &Entry| matches!(&entry.fact, Fact::Taken(taken) if taken == send);
    let before = journal.iter().take_while(|entry| !taken(entry));
    let mut since_lease = before.skip_while(|entry| match &entry.fact {
        Fact::Leased { leases, .. } => !leases.contains(&(send.lane, send.epoch)),
        _ => true,
    });
    since_lease.any(|entry| ends_lease(&entry.fact, send))
}

/// Where in the journal a send begins.
pub(super) fn began(journal: &[Entry], send: &Send) -> usize {
    let begins = |entry: &Entry| matches!(&entry.fact, Fact::Sent(other) if other == send);
    journal.iter().position(begins).unwrap()
}

/// Whether the lane of the send was leased anew, or its record claimed by another.
fn ends_lease(fact: &Fact, send: &Send) -> bool {
    let anew = |(lane, epoch): &(_, Epoch)| *lane == send.lane && *epoch != send.epoch;
    match fact {
        Fact::Claimed { event, .. } => *event == send.event,
        Fact::Leased { leases, .. } => leases.iter().any(anew),
        _ => false,
    }
}

/// Whether the worker of the send is told to stop.
fn stops(fact: &Fact, send: &Send) -> bool {
    matches!(fact, Fact::DrainBegan(worker) if *worker == send.worker)
}

/// After this nobody may send the event.
fn is_end_of(fact: &Fact, ended: Event) -> bool {
    let Fact::Settled { event, outcome, effect: Effect::Applied, .. } = fact else { return false };
    *event == ended && *outcome != Written::Failed
}

/// What became of a send after it began.
struct Fate {
    send: Send,
    /// The worker knows that the broker has it.
    answered: bool,
    /// The outcome was to be written and did not get to the database.
    missed: bool,
    /// The worker was told to stop.
    stopping: bool,
}

impl Fate {
    fn window(&mut self, fact: &Fact) -> Option<Window> {
        let Send { event, call, worker, epoch, .. } = self.send;
        self.stopping |= stops(fact, &self.send);
        match fact {
            Fact::Answered { event: of, call: to, answer } if (*of, *to) == (event, call) => {
                self.answered = *answer == Answer::Accepted;
                let lost = [Answer::Lost, Answer::Panicked, Answer::TimedOut].contains(answer);
                lost.then_some(Window::AnswerLost)
            }
            Fact::ClaimOver { event: of } if *of == event && worker.0 == 0 => Some(Window::Lease),
            Fact::Halted(halted, Halt::Kill) if *halted == worker => Some(Window::Crash),
            Fact::Drained(ended, _) if *ended == worker => self.stopped(),
            Fact::Released { leases, .. } if leases.contains(&(self.send.lane, epoch)) => {
                self.stopped()
            }
            Fact::Settled { event: of, epoch: under, outcome: Written::Published, effect }
                if (*of, *under) == (event, epoch) =>
            {
                self.missed |= *effect == Effect::Missed;
                (*effect == Effect::Refused).then(|| self.lost())
            }
            fact if ends_lease(fact, &self.send) => Some(self.lost()),
            _ => None,
        }
    }

    /// The worker gave the lane back, which it may do before all is written only when it is told to
    /// stop.
    fn stopped(&self) -> Option<Window> {
        match (self.stopping, self.answered, self.missed) {
            (true, false, _) => Some(Window::Drain),
            (true, true, true) => Some(Window::OutcomeLost),
            _ => None,
        }
    }

    const fn lost(&self) -> Window {
        if self.answered && self.missed { Window::OutcomeLost } else { Window::Lease }
    }
}
