//! What waits, for people and for scripts.

use outbox_core::{Count, OutboxStats, OutboxStore, TableNames};
use serde_json::{Map, Value, json};

use crate::database;
use crate::exit_reason::ExitReason;
use crate::settings::Settings;

/// Prints the figures of each outbox.
pub(crate) async fn stats(settings: &Settings, as_json: bool) -> Result<(), ExitReason> {
    let mut objects = Map::new();
    for (name, settings) in settings.outboxes()? {
        let stats = count(&settings).await.map_err(|reason| reason.of(name.as_deref()))?;
        match (name, as_json) {
            (Some(name), true) => {
                objects.insert(name, object(&stats));
            }
            (None, true) => println!("{}", object(&stats)),
            (name, false) => {
                if let Some(name) = name {
                    println!("{name}:");
                }
                print_table(&stats, &database::tables(&settings)?, database::quote(&settings));
            }
        }
    }
    if !objects.is_empty() {
        println!("{}", Value::Object(objects));
    }
    Ok(())
}

async fn count(settings: &Settings) -> Result<OutboxStats, ExitReason> {
    let store = database::store_to_read(settings).await?;
    let stats = store.stats().await;
    stats.map_err(|error| ExitReason::new("the outbox cannot be counted", error))
}

fn rows(stats: &OutboxStats) -> [(&'static str, Count); 5] {
    [
        ("ready", stats.ready),
        ("scheduled", stats.scheduled),
        ("retrying", stats.retrying),
        ("parked", stats.parked),
        ("dead", stats.dead),
    ]
}

fn print_table(stats: &OutboxStats, names: &TableNames, quote: char) {
    for (name, count) in rows(stats) {
        println!("{name:<13}{count}");
    }
    let age = stats.oldest_ready.map_or("-".to_owned(), |age| format!("{} s", age.as_secs()));
    println!("{:<13}{age}", "oldest ready");
    let failed = [(stats.retrying, "message", "retrying"), (stats.dead, "dead_letter", "dead")];
    let told = failed.into_iter().filter(|(count, ..)| !count.is_empty());
    let places: Vec<String> =
        told.map(|(_, table, kind)| format!("{} ({kind})", names.quoted(table, quote))).collect();
    if !places.is_empty() {
        println!("{:<13}column last_error of {}", "why", places.join(" and "));
    }
}

fn object(stats: &OutboxStats) -> Value {
    let mut object = json!({ "oldest_ready_seconds": stats.oldest_ready.map(|a| a.as_secs_f64()) });
    for (name, count) in rows(stats) {
        object[name] = figure(count);
    }
    object
}

fn figure(count: Count) -> Value {
    match count {
        Count::AtLeast(n) => json!({ "count": n, "is": "at_least" }),
        Count::Estimated(n) => json!({ "count": n, "is": "estimated" }),
        Count::Exact(n) => json!({ "count": n, "is": "exact" }),
        Count::Unavailable => json!({ "count": null, "is": "unavailable" }),
    }
}
