//! Looking past records that are withheld.
//!
//! Of each lane some rows are looked at and no more, so that a long queue of what is withheld is not
//! walked by each read, whether its records waited for an instant or never did.

use outbox_core::TableNames;

use super::{READABLE, ROOM};
use crate::statement::clock::Now;
use crate::statement::read::BEFORE_ALL;

/// As the looks of a read that withholds nothing. Both take what waited out of one walk, in which a
/// row counts whether it is wanted or not.
pub(super) fn looks(names: &TableNames, clock: Now) -> String {
    let waited = waited(names, clock);
    let [first, second] =
        [("a", "$7"), ("f", "(SELECT more + 1 FROM room)")].map(|(of, rows)| new(names, of, rows));
    format!(
        "{waited}, first AS MATERIALIZED (
    SELECT * FROM (
        SELECT c.*, row_number() OVER (PARTITION BY c.turn ORDER BY c.available_at, c.position) AS rank
        FROM (
            SELECT turn, lane, floor, at, position, available_at, size FROM waited WHERE wanted
            UNION ALL
            SELECT a.turn, a.lane, a.floor, n.*
            FROM unnest($1::smallint[], $2::bigint[]) WITH ORDINALITY AS a (lane, floor, turn)
            CROSS JOIN LATERAL ({first}) n
        ) c
    ) ranked WHERE rank <= $7
), {ROOM}, second AS MATERIALIZED (
    SELECT c.*, row_number() OVER (PARTITION BY c.turn ORDER BY c.available_at, c.position) + $7 AS rank
    FROM (
        SELECT f.turn, w.at, w.position, w.available_at, w.size
        FROM full_lane f JOIN waited w ON w.turn = f.turn
        WHERE w.wanted AND (w.available_at, w.position) > (f.due_at, f.due)
        UNION ALL
        SELECT f.turn, n.* FROM full_lane f CROSS JOIN LATERAL ({second}) n
    ) c
    WHERE (SELECT count(*) FROM first) <= $4
)"
    )
}

/// `$13` rows of each lane that waited and are due, behind the place `$11` and `$12`.
fn waited(names: &TableNames, clock: Now) -> String {
    let (message, still, wanted) = (names.quoted("message", '"'), clock.postgres_still(), wanted());
    format!(
        "waited AS MATERIALIZED (
    SELECT a.turn, a.lane, a.floor, w.*,
        row_number() OVER (PARTITION BY a.turn ORDER BY w.available_at, w.position) AS nth
    FROM unnest($1::smallint[], $2::bigint[], $11::bigint[], $12::bigint[])
        WITH ORDINALITY AS a (lane, floor, due_at, due, turn)
    CROSS JOIN LATERAL (
        SELECT m.ctid AS at, m.position, m.available_at, m.size, {wanted} AS wanted
        FROM {message} m
        WHERE m.lane = a.lane AND m.available_at <= {still} AND (m.available_at, m.position)
            > (CASE WHEN a.due_at = {BEFORE_ALL} THEN '-infinity'::timestamptz
                ELSE 'epoch'::timestamptz + a.due_at * interval '1 microsecond' END, a.due)
        ORDER BY m.available_at, m.position LIMIT $13
    ) w
)"
    )
}

/// Wanted ones among the `$10` rows of a lane behind its floor, which never waited.
fn new(names: &TableNames, of: &str, rows: &str) -> String {
    let (message, wanted) = (names.quoted("message", '"'), wanted());
    format!(
        "
            SELECT m.at, m.position, NULL::timestamptz, m.size FROM (
                SELECT m.*, m.ctid AS at FROM {message} m
                WHERE m.lane = {of}.lane AND m.position > {of}.floor
                ORDER BY m.position LIMIT $10
            ) m
            WHERE {wanted} AND m.available_at IS NULL
            ORDER BY m.position LIMIT {rows}
        "
    )
}

fn wanted() -> String {
    format!(
        "{READABLE} AND CASE WHEN m.ordering_key IS NULL
                THEN (m.topic, coalesce(m.transport, ''))
                    NOT IN (SELECT p->>0, p->>1 FROM json_array_elements($8::json) p)
                ELSE m.topic NOT IN (SELECT json_array_elements_text($14::json))
                    AND (m.attempts > 0 OR (m.topic, m.ordering_key)
                        NOT IN (SELECT p->>0, p->>1 FROM json_array_elements($9::json) p))
                END"
    )
}

/// Of each lane whose first look did not fill its share: how much it found, how far it went, and
/// where it ended among those that waited, if there may be more of them.
pub(super) fn looked_at(names: &TableNames) -> String {
    let message = names.quoted("message", '"');
    format!(
        "(
            SELECT json_agg(json_build_array(
                a.lane, (SELECT count(*) FROM first f WHERE f.lane = a.lane),
                greatest(a.floor, coalesce(
                    (SELECT m.position FROM {message} m WHERE m.lane = a.lane AND m.position > a.floor
                    ORDER BY m.position OFFSET $10 - 1 LIMIT 1),
                    (SELECT max(m.position) FROM {message} m WHERE m.lane = a.lane)
                )),
                CASE WHEN isfinite(w.available_at)
                    THEN (extract(epoch FROM w.available_at) * 1000000)::bigint
                    WHEN w.available_at IS NOT NULL THEN {BEFORE_ALL} END, w.position
            ))::text
            FROM unnest($1::smallint[], $2::bigint[]) AS a (lane, floor)
            LEFT JOIN waited w ON w.lane = a.lane AND w.nth = $13
            WHERE NOT EXISTS (SELECT FROM full_lane f WHERE f.lane = a.lane)
        )"
    )
}
