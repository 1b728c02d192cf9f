//! Transactions of the application that overlap.

use outbox_testing::{MemorySavepoint, MemoryTransaction};

use super::compare::Difference;
use super::database::Writer;
use super::operation::{Draft, Operation};
use super::sample::staged;
use super::twins::Twins;

/// One open transaction on each side.
pub(super) struct Writers {
    reference: MemoryTransaction,
    real: Writer,
    /// Serial numbers of what was staged and is still to be committed.
    serials: Vec<u32>,
    savepoints: Vec<(MemorySavepoint, usize)>,
}

impl Writers {
    pub(super) async fn roll_back(self) {
        drop(self.reference);
        self.real.roll_back().await;
    }

    async fn savepoint(&mut self) {
        self.real.savepoint().await;
        self.savepoints.push((self.reference.savepoint(), self.serials.len()));
    }

    async fn release_savepoint(&mut self) {
        if self.savepoints.pop().is_some() {
            self.real.release_savepoint().await;
        }
    }

    async fn roll_back_to_savepoint(&mut self) {
        let Some((savepoint, serials)) = self.savepoints.pop() else { return };
        self.reference.roll_back_to(savepoint);
        self.serials.truncate(serials);
        self.real.roll_back_to_savepoint().await;
    }
}

impl Twins<'_> {
    /// What the application does in one of its transactions. Staging begins it if need be.
    pub(super) async fn write(&mut self, operation: &Operation) -> Result<(), Difference> {
        match operation {
            Operation::Begin { writer } => _ = self.open(*writer).await,
            Operation::Commit { writer } => self.commit(*writer).await,
            Operation::Rollback { writer } => {
                if let Some(writers) = self.slot(*writer).take() {
                    writers.roll_back().await;
                }
            }
            Operation::Stage { writer, message } => self.stage(*writer, *message).await,
            Operation::ReleaseSavepoint { writer } => {
                self.open(*writer).await.release_savepoint().await;
            }
            Operation::RollBackToSavepoint { writer } => {
                self.open(*writer).await.roll_back_to_savepoint().await;
            }
            Operation::Savepoint { writer } => self.open(*writer).await.savepoint().await,
            _ => unreachable!("the others are calls of the store"),
        }
        Ok(())
    }

    /// Commits what is open.
    pub(super) async fn end_writers(&mut self) {
        for writer in 0.. {
            if usize::from(writer) == self.writers.len() {
                return;
            }
            self.commit(writer).await;
        }
    }

    async fn commit(&mut self, writer: u8) {
        let Some(writers) = self.slot(writer).take() else { return };
        self.names.commit(&writers.serials, writers.reference.commit());
        writers.real.commit().await;
    }

    async fn stage(&mut self, writer: u8, draft: Draft) {
        let (now, outbox, serial) = (self.now(), self.outbox, self.serial + 1);
        self.serial = serial;
        let message = staged(draft, serial);
        let writers = self.open(writer).await;
        writers.reference.stage(message.clone());
        writers.serials.push(serial);
        writers.real.stage(message, outbox, now).await;
    }

    async fn open(&mut self, writer: u8) -> &mut Writers {
        if self.slot(writer).is_none() {
            let (reference, real) = (self.reference.begin(), self.outbox.begin().await);
            let opened = Writers { reference, real, serials: Vec::new(), savepoints: Vec::new() };
            *self.slot(writer) = Some(opened);
        }
        self.slot(writer).as_mut().unwrap()
    }

    /// Where only one transaction can write, all are the same.
    fn slot(&mut self, writer: u8) -> &mut Option<Writers> {
        let slots = if self.outbox.has_one_writer() { 1 } else { self.writers.len() };
        &mut self.writers[usize::from(writer) % slots]
    }
}
