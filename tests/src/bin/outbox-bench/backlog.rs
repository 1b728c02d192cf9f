//! A backlog as an application leaves it: four headers, spread over the lanes.

use sea_orm::sqlx::PgPool;

use crate::{Done, session};

/// Table of the row-claim floor: the same columns, claimed row by row.
const FLOOR_TABLE: &str = "\
CREATE TABLE bench_row (LIKE outbox_message INCLUDING DEFAULTS, PRIMARY KEY (position)) \
WITH (fillfactor = 80)";

/// Makes the table of the row-claim floor anew.
pub(crate) async fn make_floor_table(pool: &PgPool) -> Done<()> {
    session::run(pool, &["DROP TABLE IF EXISTS bench_row", FLOOR_TABLE]).await
}

/// Empties the table, fills it and leaves no work behind for the timed part.
pub(crate) async fn fill(pool: &PgPool, table: &str, events: Events, lanes: Lanes) -> Done<()> {
    let truncate = format!("TRUNCATE {table}");
    session::run(pool, &[&truncate, &insert(table, events, lanes.sql())]).await?;
    settle_down(pool, table).await
}

/// Empties the outbox, dead letters and parked keys with it.
pub(crate) async fn empty(pool: &PgPool) -> Done<()> {
    let truncate = "TRUNCATE outbox_message, outbox_dead_letter, outbox_parked, outbox_parked_key";
    session::run(pool, &[truncate]).await
}

/// Adds events to the outbox, all of one topic.
pub(crate) async fn add(pool: &PgPool, topic: &str, events: Events) -> Done<()> {
    let insert = insert("outbox_message", events, Lanes::All.sql());
    session::run(pool, &[&insert.replace("'orders',", &format!("'{topic}',"))]).await
}

/// Leaves no work behind for the timed part.
pub(crate) async fn settle_down(pool: &PgPool, table: &str) -> Done<()> {
    session::run(pool, &[&format!("VACUUM ANALYZE {table}"), "CHECKPOINT"]).await
}

/// How many events, and how long their payloads are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Events {
    pub(crate) count: u32,
    pub(crate) bytes: u32,
}

impl Events {
    /// With payloads of 300 bytes.
    pub(crate) const fn small(count: u32) -> Self {
        Self { count, bytes: 300 }
    }
}

/// How many lanes the backlog is spread over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lanes {
    All,
    One,
}

impl Lanes {
    /// The lane of event `i`.
    const fn sql(self) -> &'static str {
        match self {
            Self::All => "((hashint8(i)::bigint & 2147483647) % 64)::smallint",
            Self::One => "0::smallint",
        }
    }
}

fn insert(table: &str, Events { count, bytes }: Events, lane: &str) -> String {
    let (padded, size) = (bytes - 2, bytes + 260);
    format!(
        "INSERT INTO {table} (lane, id, format, event_type, event_version, topic, source, subject, \
         partition_key, content_type, payload, size, headers, correlation_id, traceparent, \
         occurred_at) \
         SELECT {lane}, md5(i::text)::uuid, 1, 'orders.order_placed', 1, 'orders', \
         'https://shop.example.com/orders', 'order-' || i, 'order-' || (i / 4), \
         'application/json', \
         convert_to(rpad('{{\"order_id\":' || i || ',\"total\":12345,\"note\":\"', {padded}, 'x') \
         || '\"}}', 'UTF8'), {size}, \
         '[[\"region\",\"eu-central-1\"],[\"priority\",\"normal\"],\
         [\"schema\",\"https://schemas.example.com/orders/1\"],[\"x-request-id\",\"b7d1c2e4f6a8\"]]', \
         'corr-' || md5((i / 3)::text), '00-' || md5(i::text) || '-b7ad6b7169203331-01', now() \
         FROM generate_series(1, {count}) i"
    )
}
