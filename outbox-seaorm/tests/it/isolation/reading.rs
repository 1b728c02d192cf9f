//! Reads beside transactions that stage.

use std::collections::{BTreeSet, VecDeque};
use std::num::NonZeroU32;
use std::time::Instant;

use outbox_core::{
    Lane, LaneLease, LaneRead, OutboxStore, Position, ReadMark, ReadRequest, RecordRef, TableNames,
    WorkerId,
};
use outbox_seaorm::{SeaOrmStore, Stage as _};
use sea_orm::{ConnectionTrait, DbBackend};

use super::gate::Stops;
use super::order::Orders;
use super::scene::{Plan, Scene, hold};
use super::schedule::{Stage, Trace};
use super::server::Server;
use super::session::{Script, Told};
use crate::database::{TestDatabase, rows};
use crate::shop::OrderPlaced;
use crate::store_fixture::published;

/// The order whose events must go out in the order in which they were staged.
const KEY: i32 = 7;

/// What the reader found, in order, or what it then knew.
#[derive(Clone, Debug)]
enum Seen {
    Mark(ReadMark),
    Sent(Position, String),
    Window(Window),
}

/// From where a lane is read, as a dispatcher does: the floor moves behind a cursor once every
/// transaction has ended that had begun to write when the records up to it were settled.
#[derive(Clone, Debug)]
struct Window {
    floor: Position,
    cursor: Position,
    stamps: VecDeque<(u64, Position)>,
    known: Vec<Position>,
}

impl Window {
    const fn new() -> Self {
        let (floor, cursor) = (Position(0), Position(0));
        Self { floor, cursor, stamps: VecDeque::new(), known: Vec::new() }
    }

    fn request(&self, lane: Lane) -> ReadRequest {
        ReadRequest {
            lanes: vec![LaneRead::new(lane, self.floor)],
            known: self.known.clone(),
            without: Vec::new(),
            records: NonZeroU32::new(100).unwrap(),
            bytes: 1 << 20,
        }
    }

    fn advance(&mut self, mark: ReadMark) {
        match mark {
            ReadMark::Horizon(horizon) => {
                while let Some((_, cursor)) = self.stamps.pop_front_if(|it| it.0 <= horizon) {
                    self.floor = cursor;
                }
            }
            ReadMark::Ordered => self.floor = self.cursor,
            ReadMark::Unknown => {}
        }
    }

    /// Reads once and returns what was found.
    async fn read(
        &mut self,
        store: &SeaOrmStore,
        lease: &LaneLease,
        told: &Told<Seen>,
    ) -> Vec<RecordRef> {
        let batch = store.read(&self.request(lease.lane)).await.unwrap();
        told.tell(Seen::Mark(batch.mark));
        for record in &batch.records {
            let position = record.reference.position;
            let key = record.message.ordering_key.clone();
            told.tell(Seen::Sent(position, key.unwrap_or_default()));
            self.cursor = self.cursor.max(position);
        }
        self.advance(batch.mark);
        batch.records.iter().map(|record| record.reference).collect()
    }
}

/// Reads and settles so many times.
fn reads(told: &Told<Seen>, lease: LaneLease, rounds: usize, settles: bool) -> Script {
    let told = told.clone();
    Box::new(move |hands| {
        Box::pin(async move {
            let mut window = Window::new();
            for _ in 0..rounds {
                let found = window.read(&hands.store, &lease, &told).await;
                if !settles {
                    window.known.extend(found.iter().map(|record| record.position));
                } else if !found.is_empty() {
                    let settled = hands.settle(&published(&lease, &found)).await;
                    assert_eq!(settled.applied.len(), found.len());
                    let stamp = settled.stamp.map(|stamp| (stamp, window.cursor));
                    window.stamps.extend(stamp);
                }
            }
            told.tell(Seen::Window(window));
        })
    })
}

/// Stages the events of each list in a transaction of their own.
fn stages(transactions: Vec<Vec<i32>>) -> Script {
    Box::new(move |hands| {
        Box::pin(async move {
            for orders in transactions {
                let txn = hands.begin_to_write().await;
                for order_id in orders {
                    txn.stage(OrderPlaced { order_id, total: 1 }).await.unwrap();
                }
                txn.commit().await.unwrap();
            }
        })
    })
}

/// An order in the same lane.
fn neighbour() -> i32 {
    let lane = |order: i32| Lane::of_key("orders", &order.to_string());
    (KEY + 1..10_000).find(|order| lane(*order) == lane(KEY)).unwrap()
}

struct Reading {
    stage: Stage,
    lease: LaneLease,
    /// What grants the lease.
    grant: String,
    told: Told<Seen>,
    /// After each step, the lowest number of a transaction that is open, where they have any.
    open: Vec<Option<u64>>,
}

impl Reading {
    async fn open(database: &TestDatabase, sessions: usize) -> Self {
        let server = Server::with_clock(database).await;
        let lane = Lane::of_key("orders", &KEY.to_string());
        let (lease, grant) = hold(&server, WorkerId::new(), lane);
        let stage = Stage::open(server, sessions, Stops::All).await;
        Self { stage, lease, grant, told: Told::new(), open: Vec::new() }
    }

    async fn play(&mut self, orders: &mut Orders, scripts: Vec<Script>) -> (Trace, Vec<Seen>) {
        let server = self.stage.server.clone();
        Scene::set(&server, Plan::default()).await;
        server.db.execute_unprepared(&self.grant).await.unwrap();
        self.open = Vec::new();
        let writers: Vec<u64> =
            self.stage.sessions[1..].iter().flat_map(|it| it.gate.connections()).collect();
        let mut play = self.stage.begin(scripts, false).await;
        while !play.is_over() {
            play.step(orders).await;
            self.open.push(lowest_open(&server, &writers).await);
        }
        let trace = play.trace;
        orders.ended();
        (trace, self.told.take())
    }

    /// Nothing is left behind, nothing comes twice, and no key is overtaken.
    async fn judge(&self, staged: usize, trace: &Trace, mut seen: Vec<Seen>) {
        self.no_horizon_passes_an_open_writer(trace, &seen);
        let Some(Seen::Window(mut window)) = seen.pop() else { panic!("{seen:?}") };
        let store = SeaOrmStore::new(self.stage.server.db.clone(), TableNames::default()).unwrap();
        let drained = Told::new();
        window.read(&store, &self.lease, &drained).await;
        seen.extend(drained.take());
        let sent = seen.into_iter().filter_map(|seen| match seen {
            Seen::Sent(position, key) => Some((position, key)),
            _ => None,
        });
        let sent: Vec<(Position, String)> = sent.collect();
        let positions: BTreeSet<Position> = sent.iter().map(|(position, _)| *position).collect();
        let key = KEY.to_string();
        let of_key = sent.iter().filter(|(_, of)| *of == key).map(|(position, _)| *position);
        let text = trace.text();
        assert_eq!((positions.len(), sent.len()), (staged, staged), "{sent:?}\n{text}");
        if self.came_after_a_commit(trace) {
            assert!(of_key.is_sorted(), "a key is overtaken: {sent:?}\n{text}");
        }
    }

    /// Whether the second writer staged its second event when the first had committed.
    fn came_after_a_commit(&self, trace: &Trace) -> bool {
        let one_writer = self.stage.server.is_sqlite();
        let (first, second) = (trace.of(1).last(), trace.of(2).nth(2));
        one_writer || second.is_some_and(|second| first.is_some_and(|first| first < second))
    }

    fn no_horizon_passes_an_open_writer(&self, trace: &Trace, seen: &[Seen]) {
        let reads = trace.of(0).filter(|at| trace.steps[*at].sql.contains("horizon"));
        let horizons = seen.iter().filter_map(|seen| match seen {
            Seen::Mark(ReadMark::Horizon(horizon)) => Some(*horizon),
            _ => None,
        });
        for (at, horizon) in reads.zip(horizons) {
            let open = at.checked_sub(1).and_then(|before| self.open[before]);
            let passes = open.is_some_and(|open| horizon > open);
            assert!(!passes, "{horizon} is beyond {open:?}\n{}", trace.text());
        }
    }
}

async fn lowest_open(server: &Server, sessions: &[u64]) -> Option<u64> {
    if server.backend != DbBackend::Postgres {
        return None;
    }
    let sessions: Vec<String> = sessions.iter().map(ToString::to_string).collect();
    let sql = format!(
        "SELECT min(backend_xid::text::bigint) FROM pg_stat_activity WHERE pid IN ({})",
        sessions.join(", ")
    );
    let lowest: Option<i64> = rows(&server.db, &sql).await[0].try_get_by_index(0).unwrap();
    lowest.map(|lowest| u64::try_from(lowest).unwrap())
}

pub(crate) async fn a_read_beside_an_open_writer_leaves_nothing_behind(database: TestDatabase) {
    let mut reading = Reading::open(&database, 2).await;
    let begun = Instant::now();
    let mut orders = Orders::every();
    // Elsewhere a settlement tells a reader nothing that it needs, and has many statements.
    let settles = reading.stage.server.is_postgres();
    while orders.another() {
        let reader = reads(&reading.told, reading.lease, 2, settles);
        let writer = stages(vec![vec![KEY], vec![neighbour(), KEY]]);
        let (trace, seen) = reading.play(&mut orders, vec![reader, writer]).await;
        reading.judge(3, &trace, seen).await;
    }
    orders.report("insert with read", &reading.stage.server, begun);
}

/// One stages an event and stays open; the other stages one beside it, and then one behind it.
pub(crate) async fn a_read_beside_two_open_writers_leaves_nothing_behind(database: TestDatabase) {
    let mut reading = Reading::open(&database, 3).await;
    let begun = Instant::now();
    let mut orders = Orders::seeded(200);
    while orders.another() {
        let reader = reads(&reading.told, reading.lease, 3, true);
        let first = stages(vec![vec![KEY]]);
        let second = stages(vec![vec![neighbour()], vec![KEY]]);
        let (trace, seen) = reading.play(&mut orders, vec![reader, first, second]).await;
        reading.judge(3, &trace, seen).await;
    }
    orders.report("two inserts with read", &reading.stage.server, begun);
}
