//! Transactions of the application that overlap.

use std::mem;

use outbox_core::{RecordRef, StagedMessage};

use super::MemoryStore;
use super::state::Draft;

/// An open transaction of the application. Dropping it rolls it back.
///
/// When its positions are drawn is told by the outbox's [`CommitOrder`](super::CommitOrder).
#[derive(Debug)]
#[must_use = "dropping a transaction rolls it back"]
pub struct MemoryTransaction {
    store: MemoryStore,
    /// Its number, drawn by the first message.
    number: Option<u64>,
    drafts: Vec<Draft>,
}

/// A place within a [`MemoryTransaction`] to which it can be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySavepoint(usize);

impl MemoryTransaction {
    pub(super) const fn new(store: MemoryStore) -> Self {
        Self { store, number: None, drafts: Vec::new() }
    }

    /// Stages a message, seen by nobody until the commit.
    pub fn stage(&mut self, staged: StagedMessage) {
        let mut draft = Draft::new(staged, self.store.now());
        let mut state = self.store.state();
        // The number before the position: whoever has a lower position and is still open then
        // has a lower number than any settlement that follows.
        let number = state.number_for_insert(self.number);
        state.open(number);
        draft.position = state.draws_early().then(|| state.draw_position());
        drop(state);
        self.number = Some(number);
        self.drafts.push(draft);
    }

    /// Marks how far the transaction has come. Releasing a savepoint is forgetting it.
    pub const fn savepoint(&self) -> MemorySavepoint {
        MemorySavepoint(self.drafts.len())
    }

    /// Forgets what was staged since, as `ROLLBACK TO SAVEPOINT` does.
    ///
    /// Positions that were drawn since stay unused, and the transaction keeps its number.
    pub fn roll_back_to(&mut self, savepoint: MemorySavepoint) {
        self.drafts.truncate(savepoint.0);
    }

    /// Makes all its messages visible at once.
    pub fn commit(mut self) -> Vec<RecordRef> {
        let drafts = mem::take(&mut self.drafts);
        let number = self.number.take();
        self.store.change(|state| {
            if let Some(number) = number {
                state.end(number);
            }
            drafts.into_iter().map(|draft| state.insert(draft)).collect()
        })
    }
}

impl Drop for MemoryTransaction {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.store.change(|state| state.end(number));
        }
    }
}
