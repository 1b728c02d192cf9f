//! What a hook before the write tells the hook after it.
//!
//! `SeaORM` gives the hook after an update only the saved row, and the hook after a delete not even
//! that. Both hooks of one write get the same connection by reference, so its address, the type of
//! the active model and the primary key name the write. Each hook after a write is preceded by its
//! own hook before it, which overwrites or removes what a failed write left behind.
//!
//! Two writes of one row at the same time on one transaction share an entry. The second to end then
//! finds nothing and counts every column as changed, or fails if its events need the old row.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::ptr::from_ref;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use sea_orm::sea_query::Value;
use sea_orm::{ActiveModelTrait, ConnectionTrait};

use crate::hook::change::Assigned;

/// Failed and dropped updates leave their entries; beyond this many the oldest goes, and its update
/// then counts every column as changed.
const UPDATES: usize = 4096;
/// The same for writes whose old row is noted. An entry that is missing would be an event that is
/// missing, or a save that fails, so it takes far more failed writes than can be under way together.
const ROWS: usize = 65_536;

static ASSIGNED: LazyLock<Mutex<Stash>> = LazyLock::new(|| Mutex::new(Stash::new(UPDATES)));
static WITH_ROW: LazyLock<Mutex<Stash>> = LazyLock::new(|| Mutex::new(Stash::new(ROWS)));

/// Which write.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    connection: usize,
    model: TypeId,
    row: Vec<Value>,
}

impl Key {
    pub(super) fn new<A: ActiveModelTrait + 'static, C: ConnectionTrait>(
        db: &C,
        row: Vec<Value>,
    ) -> Self {
        Self { connection: from_ref(db).addr(), model: TypeId::of::<A>(), row }
    }
}

/// What was noted.
pub(super) enum Noted {
    /// The row that a delete is about to remove.
    Delete(Row),
    /// The row that an insert is about to meet.
    Present,
    /// The columns that an update assigns, and the row as it is before if that is asked.
    Update(Assigned, Option<Row>),
}

/// A model of any entity.
pub(super) type Row = Box<dyn Any + Send>;

pub(super) fn note(key: Key, noted: Noted) {
    drop(take(&key));
    let stash = match noted {
        Noted::Present | Noted::Update(_, None) => &ASSIGNED,
        Noted::Delete(_) | Noted::Update(_, Some(_)) => &WITH_ROW,
    };
    lock(stash).insert(key, noted);
}

pub(super) fn take(key: &Key) -> Option<Noted> {
    lock(&ASSIGNED).remove(key).or_else(|| lock(&WITH_ROW).remove(key))
}

struct Stash {
    capacity: usize,
    noted: HashMap<Key, (u64, Noted)>,
    by_age: BTreeMap<u64, Key>,
    next: u64,
}

impl Stash {
    fn new(capacity: usize) -> Self {
        Self { capacity, noted: HashMap::new(), by_age: BTreeMap::new(), next: 0 }
    }

    fn insert(&mut self, key: Key, noted: Noted) {
        if self.by_age.len() >= self.capacity
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.noted.remove(&oldest);
        }
        self.by_age.insert(self.next, key.clone());
        self.noted.insert(key, (self.next, noted));
        self.next += 1;
    }

    fn remove(&mut self, key: &Key) -> Option<Noted> {
        let (age, noted) = self.noted.remove(key)?;
        self.by_age.remove(&age);
        Some(noted)
    }
}

fn lock(stash: &Mutex<Stash>) -> MutexGuard<'_, Stash> {
    stash.lock().unwrap_or_else(PoisonError::into_inner)
}
