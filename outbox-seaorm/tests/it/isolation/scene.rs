//! An outbox before an interleaving, and as it is seen from outside after each step.

use std::collections::BTreeMap;

use outbox_core::{Lane, LaneLease, LeaseToken, RecordRef, WorkerId};
use sea_orm::{ConnectionTrait, DbBackend, TransactionTrait};
use uuid::Uuid;

use super::server::Server;
use crate::database::rows;
use crate::store_fixture::{Sample, insert, lane, sample};

/// What is in the database at the beginning.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) leases: Vec<LaneLease>,
    /// Of each held lane.
    pub(crate) records: Vec<Vec<RecordRef>>,
}

/// How the lanes are before an interleaving. All others are leased for days by somebody else.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plan {
    /// The first lanes are held, until time passes.
    pub(crate) held: u8,
    /// The next ones are free.
    pub(crate) free: u8,
    /// In each held lane, all of one key.
    pub(crate) records: usize,
}

impl Scene {
    pub(crate) async fn set(server: &Server, plan: Plan) -> Self {
        server.set_right().await;
        let owner = WorkerId::new();
        let (others, days) = (uuid(server, Uuid::new_v4()), in_minutes(server, 10_000));
        let leased = format!("token = {others}, owner = {others}, expires_at = {days}");
        let (from, to) = (plan.held, plan.held + plan.free);
        let free = "token = NULL, owner = NULL, expires_at = NULL";
        let mut batch: Vec<String> = ["message", "dead_letter", "parked", "parked_key", "claim"]
            .map(|table| format!("DELETE FROM outbox_{table}"))
            .into();
        batch.push(format!("UPDATE outbox_lane SET {leased}, abandoned = 0"));
        batch.push(format!("UPDATE outbox_lane SET {free} WHERE lane >= {from} AND lane < {to}"));
        let mut scene = Self { leases: Vec::new(), records: Vec::new() };
        for number in 0..plan.held {
            let (lease, hold) = hold(server, owner, lane(number));
            scene.leases.push(lease);
            batch.push(hold);
        }
        let txn = server.db.begin().await.unwrap();
        txn.execute_unprepared(&batch.join(";\n")).await.unwrap();
        for number in 0..plan.held {
            let mut records = Vec::new();
            for _ in 0..plan.records {
                records.push(insert(&txn, &keyed(number)).await);
            }
            scene.records.push(records);
        }
        txn.commit().await.unwrap();
        scene
    }
}

fn keyed(lane: u8) -> Sample {
    sample(lane).key(&format!("key of {lane}"))
}

/// A lease of ten minutes, and what grants it.
pub(crate) fn hold(server: &Server, owner: WorkerId, lane: Lane) -> (LaneLease, String) {
    let token = LeaseToken::from_uuid(Uuid::new_v4()).unwrap();
    let (by, owner) = (uuid(server, token.uuid()), uuid(server, owner.uuid()));
    let end = in_minutes(server, 10);
    let lease = format!("token = {by}, owner = {owner}, expires_at = {end}");
    let sql = format!("UPDATE outbox_lane SET {lease} WHERE lane = {lane}");
    (LaneLease { lane, token }, sql)
}

fn uuid(server: &Server, uuid: Uuid) -> String {
    let hex = uuid.simple();
    if server.is_postgres() { format!("'{hex}'") } else { format!("x'{hex}'") }
}

fn in_minutes(server: &Server, minutes: i64) -> String {
    match server.backend {
        DbBackend::MySql => format!("UTC_TIMESTAMP(6) + INTERVAL {minutes} MINUTE"),
        DbBackend::Postgres => {
            format!("pg_catalog.clock_timestamp() + {minutes} * interval '1 min'")
        }
        _ => format!("(CAST(strftime('%s', 'now') AS INTEGER) + {minutes} * 60) * 1000000"),
    }
}

/// Where a record is, and what was noted about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) table: String,
    pub(crate) lane: i64,
    pub(crate) attempts: i64,
    pub(crate) revision: i64,
    pub(crate) tenant: Option<String>,
}

/// What is committed at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sight {
    /// Token and, in microseconds since 1970, end of each lane's lease.
    pub(crate) lanes: BTreeMap<i64, (Option<Uuid>, i64)>,
    /// By position.
    pub(crate) records: BTreeMap<i64, Place>,
}

impl Sight {
    /// Looks from outside. Between two steps nothing is committed, so that two statements do.
    pub(crate) async fn of(server: &Server) -> Self {
        let mut sight = Self::default();
        let end = match server.backend {
            DbBackend::MySql => "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', expires_at)",
            DbBackend::Postgres => "(extract(epoch FROM expires_at) * 1000000)::bigint",
            _ => "expires_at",
        };
        let lanes = format!("SELECT lane, token, {end} FROM outbox_lane WHERE lane < 8");
        for row in rows(&server.db, &lanes).await {
            let lane: i16 = row.try_get_by_index(0).unwrap();
            let token: Option<Uuid> = row.try_get_by_index(1).unwrap();
            let end: Option<i64> = row.try_get_by_index(2).unwrap();
            sight.lanes.insert(lane.into(), (token, end.unwrap_or_default()));
        }
        let of = |table: &str| {
            format!(
                "SELECT '{table}', position, lane, attempts, revision, tenant FROM outbox_{table}"
            )
        };
        let records = ["message", "dead_letter", "parked"].map(of).join(" UNION ALL ");
        for row in rows(&server.db, &records).await {
            let position: i64 = row.try_get_by_index(1).unwrap();
            let lane: i16 = row.try_get_by_index(2).unwrap();
            let (attempts, revision): (i32, i32) =
                (row.try_get_by_index(3).unwrap(), row.try_get_by_index(4).unwrap());
            let place = Place {
                table: row.try_get_by_index(0).unwrap(),
                lane: lane.into(),
                attempts: attempts.into(),
                revision: revision.into(),
                tenant: row.try_get_by_index(5).unwrap(),
            };
            let twice = sight.records.insert(position, place);
            assert_eq!(twice, None, "record {position} is in two tables");
        }
        sight
    }
}
