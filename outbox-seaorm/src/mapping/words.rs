//! Words that repeat from record to record.

use std::sync::Arc;

/// Words that were seen in one read, by column.
///
/// An outbox has few event types, topics and sources, and many records.
#[derive(Debug, Default)]
pub(crate) struct Words {
    seen: Vec<(usize, Arc<str>)>,
}

/// Beyond so many, looking a word up costs more than holding it twice.
const MOST: usize = 64;

impl Words {
    pub(crate) fn shared(&mut self, column: usize, word: &str) -> Arc<str> {
        let known = self.seen.iter().find(|(of, known)| *of == column && **known == *word);
        if let Some((_, known)) = known {
            return Arc::clone(known);
        }
        let word = Arc::from(word);
        if self.seen.len() < MOST {
            self.seen.push((column, Arc::clone(&word)));
        }
        word
    }
}
