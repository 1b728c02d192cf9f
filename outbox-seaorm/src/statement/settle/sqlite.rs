//! Writing how attempts ended on SQLite, each part in a transaction that is a writer from its begin.

use std::fmt::Write as _;

use outbox_core::{Outcome, OutcomeKind, Settled, StoreError, TableNames};
use sea_orm::DatabaseConnection;

use super::kind::{Ending, delay, note, reason};
use super::part::Part;
use super::{Write, Written, fence};
use crate::mapping::columns;
use crate::statement::claim::unclaimed;
use crate::statement::clock::{Now, micros};
use crate::statement::json::{hex, json_lanes, json_leases, json_list};
use crate::store::immediate::Immediate;

/// The statements that settle in one outbox.
#[derive(Debug)]
pub(crate) struct Settle {
    held: String,
    found: String,
    delete: String,
    fail: String,
    bury: String,
    close: String,
    behind: String,
    park: String,
    clear: String,
    clock: Now,
}

impl Settle {
    pub(crate) fn new(names: &TableNames, clock: Now) -> Self {
        Self {
            held: held(names),
            found: found(names),
            delete: delete(names),
            fail: fail(names),
            bury: bury(names),
            close: close(names),
            behind: behind(names),
            park: park(names),
            clear: clear(names),
            clock,
        }
    }

    pub(crate) async fn settle(
        &self,
        db: &DatabaseConnection,
        outcomes: &[Outcome],
    ) -> Result<Settled, StoreError> {
        super::settle(&Writer { db, statements: self }, outcomes).await
    }
}

struct Writer<'a> {
    db: &'a DatabaseConnection,
    statements: &'a Settle,
}

impl Write for Writer<'_> {
    async fn write(&self, part: &Part<'_>) -> Result<Written, StoreError> {
        let txn = Immediate::begin(self.db, "settle", self.statements.clock).await?;
        let leases = [json_leases(part.leases()).into(), txn.now.into()];
        let rows = txn.rows(&self.statements.held, leases).await?;
        let (held, lossy) = fence(&rows)?;
        let claims = [claims(part, &held).into()];
        let found = indices(&txn.numbers(&self.statements.found, claims).await?);
        let applied = self.statements.apply(&txn, part, &found).await?;
        if !lossy.is_empty() {
            let lanes = json_lanes(&part.attempted(&lossy, &applied));
            txn.execute(&self.statements.clear, [lanes.into()]).await?;
        }
        txn.commit().await?;
        Ok(Written { held, applied, stamp: None })
    }
}

impl Settle {
    /// Applies the outcomes that found their record. Nobody else writes meanwhile, so the position
    /// names it from here on.
    async fn apply(
        &self,
        txn: &Immediate,
        part: &Part<'_>,
        found: &[usize],
    ) -> Result<Vec<usize>, StoreError> {
        let of = |endings: &[Ending]| {
            let outcome = |at: &usize| Some((*at, *part.outcomes().get(*at)?));
            let all = found.iter().filter_map(outcome);
            all.filter(|(_, outcome)| endings.contains(&Ending::of(&outcome.kind))).collect()
        };
        let published: Vec<(usize, &Outcome)> = of(&[Ending::Published]);
        let failed: Vec<(usize, &Outcome)> = of(&[Ending::Failed]);
        let dead: Vec<(usize, &Outcome)> = of(&[Ending::Dead, Ending::DeadHead]);
        let behind: Vec<(usize, &Outcome)> = of(&[Ending::Parked]);

        self.delete(txn, &published).await?;
        if !failed.is_empty() {
            txn.execute(&self.fail, [json_details(&failed).into(), txn.now.into()]).await?;
        }
        if !dead.is_empty() {
            let details = json_details(&dead);
            txn.execute(&self.bury, [details.clone().into(), txn.now.into()]).await?;
            txn.execute(&self.close, [details.into(), txn.now.into()]).await?;
            self.delete(txn, &dead).await?;
        }
        let parked = self.park(txn, behind).await?;
        let applied = [published, failed, dead, parked];
        Ok(applied.iter().flatten().map(|(at, _)| *at).collect())
    }

    async fn park<'o>(
        &self,
        txn: &Immediate,
        mut behind: Vec<(usize, &'o Outcome)>,
    ) -> Result<Vec<(usize, &'o Outcome)>, StoreError> {
        if behind.is_empty() {
            return Ok(behind);
        }
        let closed = txn.numbers(&self.behind, [json_positions(&behind).into()]).await?;
        behind.retain(|(_, outcome)| closed.contains(&outcome.record.position.0));
        txn.execute(&self.park, [json_positions(&behind).into(), txn.now.into()]).await?;
        self.delete(txn, &behind).await?;
        Ok(behind)
    }

    async fn delete(
        &self,
        txn: &Immediate,
        outcomes: &[(usize, &Outcome)],
    ) -> Result<(), StoreError> {
        if outcomes.is_empty() {
            return Ok(());
        }
        txn.execute(&self.delete, [json_positions(outcomes).into()]).await
    }
}

/// Which of the leases `?1` are live at `?2`, and of each whether workers died with its lane.
fn held(names: &TableNames) -> String {
    let lane = names.quoted("lane", '"');
    format!(
        "SELECT k.key, l.abandoned > 0 OR l.suspect_position IS NOT NULL
FROM json_each(?1) AS k
JOIN {lane} AS l ON l.lane = json_extract(k.value, '$[0]')
    AND hex(l.token) = json_extract(k.value, '$[1]')
WHERE l.expires_at > ?2"
    )
}

/// Forgets what workers died with in the lanes `?1`.
fn clear(names: &TableNames) -> String {
    let lane = names.quoted("lane", '"');
    format!(
        "UPDATE {lane} SET abandoned = 0, suspect_id = NULL, suspect_position = NULL,
    suspect_deaths = 0
WHERE lane IN (SELECT value FROM json_each(?1))"
    )
}

/// Which of the claims `?1` find their record as it was when the attempt began.
fn found(names: &TableNames) -> String {
    let message = names.quoted("message", '"');
    let unclaimed = unclaimed(names, '"', "m.lane", "m.position");
    format!(
        "SELECT json_extract(u.value, '$[0]') FROM json_each(?1) AS u
JOIN {message} AS m ON m.position = json_extract(u.value, '$[2]')
    AND m.lane = json_extract(u.value, '$[1]') AND hex(m.id) = json_extract(u.value, '$[3]')
    AND m.revision = json_extract(u.value, '$[4]')
WHERE {unclaimed}"
    )
}

fn delete(names: &TableNames) -> String {
    let message = names.quoted("message", '"');
    format!("DELETE FROM {message} WHERE position IN (SELECT value FROM json_each(?1))")
}

fn fail(names: &TableNames) -> String {
    let message = names.quoted("message", '"');
    format!(
        "UPDATE {message} AS m SET attempts = m.attempts + 1, revision = m.revision + 1,
    available_at = ?2 + json_extract(u.value, '$[1]'),
    first_failed_at = coalesce(m.first_failed_at, ?2),
    last_error = json_extract(u.value, '$[2]')
FROM json_each(?1) AS u WHERE m.position = json_extract(u.value, '$[0]')"
    )
}

/// What killed the record counts as a failure of it, unless it could not even be tried.
fn bury(names: &TableNames) -> String {
    let [message, dead_letter] = ["message", "dead_letter"].map(|table| names.quoted(table, '"'));
    let columns = columns::moved();
    let tried = "m.attempts + (json_extract(u.value, '$[3]') <> 'undecodable')";
    let dead = columns::moved_from(
        "m",
        &[
            ("attempts", tried.to_owned()),
            ("first_failed_at", "coalesce(m.first_failed_at, ?2)".to_owned()),
            ("last_error", "json_extract(u.value, '$[2]')".to_owned()),
        ],
    );
    format!(
        "INSERT INTO {dead_letter} ({columns}, reason, died_at)
SELECT {dead}, json_extract(u.value, '$[3]'), ?2
FROM json_each(?1) AS u JOIN {message} AS m ON m.position = json_extract(u.value, '$[0]')"
    )
}

/// A key that is closed already stays as it is.
fn close(names: &TableNames) -> String {
    let [message, parked_key] = ["message", "parked_key"].map(|table| names.quoted(table, '"'));
    format!(
        "INSERT INTO {parked_key}
    (topic, ordering_key, dead_id, dead_lane, dead_position, lane, parked_at)
SELECT m.topic, m.ordering_key, m.id, m.lane, m.position, m.lane, ?2
FROM json_each(?1) AS u JOIN {message} AS m ON m.position = json_extract(u.value, '$[0]')
WHERE json_extract(u.value, '$[4]') AND m.ordering_key IS NOT NULL
ORDER BY m.position
ON CONFLICT (topic, ordering_key) DO NOTHING"
    )
}

/// Which of the records `?1` have a closed key.
fn behind(names: &TableNames) -> String {
    let [message, parked_key] = ["message", "parked_key"].map(|table| names.quoted(table, '"'));
    format!(
        "SELECT m.position FROM {message} AS m
JOIN {parked_key} AS k ON k.topic = m.topic AND k.ordering_key = m.ordering_key
WHERE m.position IN (SELECT value FROM json_each(?1))"
    )
}

fn park(names: &TableNames) -> String {
    let [message, parked] = ["message", "parked"].map(|table| names.quoted(table, '"'));
    let (columns, moved) = (columns::moved(), columns::moved_from("m", &[]));
    format!(
        "INSERT INTO {parked} ({columns}, parked_at)
SELECT {moved}, ?2 FROM {message} AS m
WHERE m.position IN (SELECT value FROM json_each(?1))"
    )
}

/// Index, lane, position, id and revision of each outcome whose lease is held.
fn claims(part: &Part<'_>, held: &[usize]) -> String {
    let outcomes = part.outcomes().iter().zip(part.of_lease()).enumerate();
    let fenced: Vec<(usize, &Outcome)> = outcomes
        .filter(|(_, (_, lease))| held.contains(lease))
        .map(|(at, (outcome, _))| (at, *outcome))
        .collect();
    json_list(&fenced, |text, (at, outcome)| {
        let record = outcome.record;
        let (lane, position) = (record.lane, record.position);
        let (id, revision) = (hex(record.id.uuid()), outcome.revision);
        _ = write!(text, "[{at},{lane},{position},\"{id}\",{revision}]");
    })
}

fn json_positions(outcomes: &[(usize, &Outcome)]) -> String {
    json_list(outcomes, |text, (_, outcome)| _ = write!(text, "{}", outcome.record.position))
}

/// Position, delay, text, reason and whether it closes its key.
fn json_details(outcomes: &[(usize, &Outcome)]) -> String {
    json_list(outcomes, |text, (_, Outcome { record, kind, .. })| {
        let closes = matches!(kind, OutcomeKind::Dead { parks_key: true, .. });
        let note = serde_json::Value::from(note(kind));
        let (position, delay, reason) = (record.position, micros(delay(kind)), reason(kind));
        _ = write!(text, "[{position},{delay},{note},\"{reason}\",{closes}]");
    })
}

fn indices(numbers: &[i64]) -> Vec<usize> {
    numbers.iter().filter_map(|number| usize::try_from(*number).ok()).collect()
}
