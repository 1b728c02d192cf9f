//! The statements of several sessions in every order, on the real databases.
//!
//! In the manner of PostgreSQL's isolation tester: a session stops before each of its statements,
//! and one at a time goes on. The statements are those of the product itself. A session is a
//! [`SeaOrmStore`](outbox_seaorm::SeaOrmStore) over a pool of one connection that leads through a
//! [gate](gate) in front of the server, so that also BEGIN and COMMIT, repetitions and the schema's
//! own transactions are what they are in production. What comes next is found while it is played: a
//! session that finds nothing has fewer steps, and one that waits leaves its turn to the others.

mod claim;
mod gate;
mod judge;
mod lease;
mod migration;
mod order;
mod production;
mod proxy;
mod reading;
mod roles;
mod scene;
mod schedule;
mod server;
mod session;
mod settle;

/// Runs each promise as a test on every database.
macro_rules! on_each {
    ($($module:ident::$promise:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $promise() {
                crate::database::on_sqlite(super::$module::$promise).await;
            })+
        }
        mod on_postgres {
            $(#[tokio::test]
            async fn $promise() {
                crate::database::on_postgres(super::$module::$promise).await;
            })+
        }
        mod on_mariadb {
            $(#[tokio::test]
            async fn $promise() {
                crate::database::on_mariadb(super::$module::$promise).await;
            })+
        }
    };
}

on_each!(
    claim::a_claim_and_a_renewal_never_both_get_a_lane,
    claim::a_claim_and_a_settlement_never_both_get_a_record,
    lease::two_workers_never_lease_the_same_lane,
    lease::three_workers_never_lease_the_same_lane,
    migration::a_migration_beside_a_lease_leaves_both_whole,
    migration::two_migrations_beside_a_lease_leave_all_whole,
    reading::a_read_beside_an_open_writer_leaves_nothing_behind,
    reading::a_read_beside_two_open_writers_leaves_nothing_behind,
    settle::a_settlement_and_a_renewal_leave_each_other_whole,
    settle::a_settlement_and_its_repetition_count_once,
    settle::a_settlement_and_two_renewals_never_deadlock,
    settle::who_lost_a_lane_settles_nothing_in_it,
    settle::who_lost_a_lane_while_it_waits_settles_nothing_in_it,
);
