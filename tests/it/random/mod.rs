//! Random operations, done to the store in memory and to a database at once.
//!
//! The store in memory is the reference: it is the readable form of the contract, keeps whole
//! messages and answers every call. It is itself compared with the model of the protocol.
//!
//! A run is given by its seed. `OUTBOX_TEST_SEED` sets the first one and `OUTBOX_TEST_RUNS` how many
//! follow. Of a run that fails the operations are told that it takes to fail.

mod calls;
mod claims;
mod compare;
mod contents;
mod database;
mod mistakes;
mod names;
mod operation;
mod parts;
mod reads;
mod sample;
mod series;
mod shrink;
mod sights;
mod tables;
mod twins;
mod writers;

use std::fmt::Write as _;

use outbox_test_databases::{Lent, lend_mariadb, lend_postgres, lend_sqlite};

use compare::Difference;
use database::Outbox;
use operation::Operation;
use sights::{Seen, Sights};
use twins::Twins;

use crate::seeds::seeds;

const OPERATIONS: usize = 60;
const RUNS: u64 = 300;
/// After so many operations the tables are compared too, and at the end.
const LOOK: usize = 20;

#[tokio::test]
async fn mariadb_does_what_the_store_in_memory_does() {
    compare_runs(lend_mariadb().await).await;
}

#[tokio::test]
async fn postgres_does_what_the_store_in_memory_does() {
    compare_runs(lend_postgres().await).await;
}

#[tokio::test]
async fn sqlite_does_what_the_store_in_memory_does() {
    compare_runs(lend_sqlite()).await;
}

async fn compare_runs(database: Lent) {
    let outbox = Outbox::open(database).await;
    let mut all = Seen::nothing();
    let seeds = seeds(RUNS);
    for seed in seeds.clone() {
        let operations = series::run(seed, OPERATIONS);
        match run(&outbox, &operations).await {
            Ok(sights) => all.add(&sights),
            Err(difference) => fail(&outbox, seed, operations, difference).await,
        }
    }
    let is_full = seeds.end - seeds.start >= RUNS;
    assert!(!is_full || all.is_enough(), "the runs were about little: {all:?}");
}

/// One run on empty tables.
async fn run(outbox: &Outbox, operations: &[Operation]) -> Result<Sights, Difference> {
    let mut twins = Twins::new(outbox).await;
    let ending = compare_all(&mut twins, operations).await;
    let sights = twins.end().await;
    ending.map(|()| sights)
}

async fn compare_all(twins: &mut Twins<'_>, operations: &[Operation]) -> Result<(), Difference> {
    for (at, operation) in operations.iter().enumerate() {
        let told = |difference| format!("operation {at}, {operation:?}: {difference}");
        twins.take(operation).await.map_err(told)?;
        if at % LOOK == 0 {
            twins.compare_contents().await.map_err(told)?;
        }
    }
    twins.compare_contents().await?;
    for operation in series::ending() {
        twins.take(&operation).await.map_err(|difference| format!("the end: {difference}"))?;
    }
    twins.compare_contents().await?;
    twins.nothing_is_claimed()
}

async fn fail(outbox: &Outbox, seed: u64, operations: Vec<Operation>, first: Difference) -> ! {
    let (operations, difference) =
        shrink::shrink(operations, first, async |operations| run(outbox, operations).await.err())
            .await;
    let mut told = String::new();
    for (at, operation) in operations.iter().enumerate() {
        _ = writeln!(told, "  {at}: {operation:?}");
    }
    panic!("the stores differ, OUTBOX_TEST_SEED={seed}\n{told}{difference}");
}
