//! What became of each message of one call.

use outbox_core::{Failure, FailureKind, PublishOutcomes, Receipt};

/// What became of one message.
pub(crate) type Verdict = Result<Receipt, Failure>;

/// One place per message, filled as answers come in.
#[derive(Debug)]
pub(crate) struct Verdicts(Vec<Option<Verdict>>);

impl Verdicts {
    pub(crate) fn new(messages: usize) -> Self {
        Self(vec![None; messages])
    }

    pub(crate) fn put(&mut self, place: usize, verdict: Verdict) {
        if let Some(slot) = self.0.get_mut(place) {
            *slot = Some(verdict);
        }
    }

    pub(crate) fn put_all(&mut self, verdicts: impl IntoIterator<Item = (usize, Verdict)>) {
        for (place, verdict) in verdicts {
            self.put(place, verdict);
        }
    }

    /// Whoever heard nothing of a message must assume that it may be out.
    pub(crate) fn finish(self) -> PublishOutcomes {
        let unheard = || Failure::new(FailureKind::Ambiguous, "no answer from SNS in time");
        self.0.into_iter().map(|slot| slot.unwrap_or_else(|| Err(unheard()))).collect()
    }
}
