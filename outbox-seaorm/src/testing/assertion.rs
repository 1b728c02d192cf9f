//! Assertions about what is staged.

#![expect(clippy::panic, reason = "an assertion that does not hold panics")]

use std::any::type_name;
use std::fmt::Write as _;
use std::panic::Location;

use outbox_core::OutboxEvent;
use sea_orm::ConnectionTrait;
use serde::de::DeserializeOwned;

use crate::testing::staged::{StagedEvent, staged_events};

/// Asserts that an event of this type satisfies the predicate, and returns the first that does.
///
/// An enum of events is one type; the predicate tells its variants apart. Payloads are read as
/// JSON, for which the event needs `Deserialize`.
///
/// # Panics
/// If none does, with the caller's place, all that is staged, and of each event why it is not the
/// one. Also if the outbox cannot be read.
#[track_caller]
pub fn assert_staged<E, P>(db: &impl ConnectionTrait, mut predicate: P) -> impl Future<Output = E>
where
    E: OutboxEvent + DeserializeOwned,
    P: FnMut(&E) -> bool,
{
    // An async function has no caller whose place it could tell.
    let caller = Location::caller();
    async move {
        let staged = read(db, caller).await;
        let mut verdicts = Vec::new();
        for event in &staged {
            match event.read::<E>() {
                Ok(event) if predicate(&event) => return event,
                Ok(_) => verdicts.push("it does not satisfy the predicate".to_owned()),
                Err(why) => verdicts.push(why),
            }
        }
        let list = list(&staged, |index| Some(&verdicts[index]));
        panic!("{caller}: no `{}` that satisfies the predicate is staged; {list}", type_name::<E>())
    }
}

/// Asserts that nothing is staged that this connection or transaction sees.
///
/// # Panics
/// If something is, with the caller's place and all that is staged. Also if the outbox cannot be
/// read.
#[track_caller]
pub fn assert_nothing_staged(db: &impl ConnectionTrait) -> impl Future<Output = ()> {
    let caller = Location::caller();
    async move {
        let staged = read(db, caller).await;
        assert!(staged.is_empty(), "{caller}: {}", list(&staged, |_| None));
    }
}

async fn read(db: &impl ConnectionTrait, caller: &Location<'_>) -> Vec<StagedEvent> {
    match staged_events(db).await {
        Ok(staged) => staged,
        Err(error) => panic!("{caller}: the outbox cannot be read: {error}"),
    }
}

/// All of them, each with a word about it.
fn list<'v>(staged: &[StagedEvent], verdict: impl Fn(usize) -> Option<&'v String>) -> String {
    if staged.is_empty() {
        return "nothing is".to_owned();
    }
    let mut list = String::from("staged is");
    for (index, event) in staged.iter().enumerate() {
        _ = write!(list, "\n  {event}");
        if let Some(verdict) = verdict(index) {
            _ = write!(list, "\n    not it: {verdict}");
        }
    }
    list
}
