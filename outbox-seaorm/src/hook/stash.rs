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

/// Failed and dropped writes leave their entries; beyond this many the oldest goes. An update whose
/// entry is missing counts every column as changed; a write whose events need the old row fails.
///
/// More than can be under way together, and few enough for the rows that failed writes leave.
const CAPACITY: usize = 4096;

static ASSIGNED: LazyLock<Mutex<Stash>> = LazyLock::new(|| Mutex::new(Stash::default()));
static WITH_ROW: LazyLock<Mutex<Stash>> = LazyLock::new(|| Mutex::new(Stash::default()));

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
    /// The row that a delete is about to remove, if there is one.
    Delete(Option<Row>),
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
        Noted::Delete(None) | Noted::Present | Noted::Update(_, None) => &ASSIGNED,
        Noted::Delete(Some(_)) | Noted::Update(_, Some(_)) => &WITH_ROW,
    };
    lock(stash).insert(key, noted);
}

pub(super) fn take(key: &Key) -> Option<Noted> {
    lock(&ASSIGNED).remove(key).or_else(|| lock(&WITH_ROW).remove(key))
}

/// The note of an update whose key the database gives back in other words: in other letters where its
/// collation ignores case, padded, or rounded.
///
/// It is the only one of its model on this connection, or there is no telling which it is.
pub(super) fn take_sole_update(key: &Key) -> Option<Noted> {
    let is_it = |(other, (_, noted)): &(&Key, &(u64, Noted))| {
        other.connection == key.connection
            && other.model == key.model
            && matches!(noted, Noted::Update(..))
    };
    let mut found = Vec::new();
    for stash in [&ASSIGNED, &WITH_ROW] {
        found.extend(lock(stash).noted.iter().filter(is_it).map(|(other, _)| other.clone()));
    }
    match &found[..] {
        [sole] => take(sole),
        _ => None,
    }
}

#[derive(Default)]
struct Stash {
    noted: HashMap<Key, (u64, Noted)>,
    by_age: BTreeMap<u64, Key>,
    next: u64,
}

impl Stash {
    fn insert(&mut self, key: Key, noted: Noted) {
        if self.by_age.len() >= CAPACITY
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
