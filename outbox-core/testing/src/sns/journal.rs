use std::ops::Range;
use std::sync::Arc;

use tokio::sync::watch;

use super::accepted::{Accepted, Answer};

/// Everything that was accepted, in order. The watch channel is both the lock and the signal.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    entries: watch::Sender<Vec<Accepted>>,
}

impl Journal {
    /// Adds the accepted messages of one request and numbers them.
    pub(crate) fn append(self: &Arc<Self>, accepted: Vec<Accepted>) -> PendingAnswer {
        let mut places = 0..0;
        self.entries.send_modify(|entries| {
            let first = entries.len();
            entries.extend(accepted);
            places = first..entries.len();
            for place in places.clone() {
                entries[place].number = place + 1;
            }
        });
        PendingAnswer { journal: Arc::clone(self), places }
    }

    pub(crate) fn snapshot(&self) -> Vec<Accepted> {
        self.entries.borrow().clone()
    }

    pub(crate) async fn until(
        &self,
        mut reached: impl FnMut(&[Accepted]) -> bool,
    ) -> Vec<Accepted> {
        let mut entries = self.entries.subscribe();
        match entries.wait_for(|entries| reached(entries)).await {
            Ok(entries) => entries.clone(),
            // Only if the sender were gone, and `self` owns it.
            Err(_) => self.snapshot(),
        }
    }
}

/// The journal's entries of one request that is not answered yet.
///
/// Dropped without a conclusion, the request was abandoned: the server drops its future when
/// the client hangs up.
#[derive(Debug)]
pub(crate) struct PendingAnswer {
    journal: Arc<Journal>,
    places: Range<usize>,
}

impl PendingAnswer {
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(crate) fn conclude(mut self, answer: Answer) {
        self.note(answer);
    }

    /// Writes the answer's fate once; whatever is noted later changes nothing.
    fn note(&mut self, answer: Answer) {
        let places = std::mem::take(&mut self.places);
        self.journal.entries.send_if_modified(|entries| {
            for entry in &mut entries[places.clone()] {
                if entry.answer == Answer::Pending {
                    entry.answer = answer;
                }
            }
            !places.is_empty()
        });
    }
}

impl Drop for PendingAnswer {
    fn drop(&mut self) {
        self.note(Answer::Abandoned);
    }
}
