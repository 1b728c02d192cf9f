//! Which session goes next.

use std::ops::Range;
use std::time::Instant;

use super::server::Server;

/// The environment variable that repeats a seeded run.
const SEED: &str = "OUTBOX_TEST_SEED";

/// Orders of the steps of several sessions.
///
/// How many steps there are is found while they are made: a session that finds nothing to do has
/// fewer, and one that waits leaves its turn to the others.
#[derive(Debug)]
pub(crate) struct Orders {
    kind: Kind,
    /// The choices of the order that is played, each with the number that there was to choose from.
    made: Vec<(usize, usize)>,
    played: usize,
}

#[derive(Debug)]
enum Kind {
    /// The choices that the next order begins with. None: all orders were played.
    Every(Option<Vec<usize>>),
    Seeded {
        seed: u64,
        left: Range<usize>,
        random: fastrand::Rng,
    },
}

impl Orders {
    /// Each order once.
    pub(crate) fn every() -> Self {
        Self::of(Kind::Every(Some(Vec::new())))
    }

    /// So many orders, chosen by a seed that is printed.
    pub(crate) fn seeded(count: usize) -> Self {
        let given = std::env::var(SEED).ok().map(|seed| seed.parse().expect("a seed is a number"));
        let seed = given.unwrap_or_else(|| fastrand::u64(..));
        println!("{SEED}={seed}");
        Self::of(Kind::Seeded { seed, left: 0..count, random: fastrand::Rng::with_seed(seed) })
    }

    const fn of(kind: Kind) -> Self {
        Self { kind, made: Vec::new(), played: 0 }
    }

    /// Begins another order, if there is one.
    pub(crate) fn another(&mut self) -> bool {
        let there_is = match &mut self.kind {
            Kind::Every(begins) => begins.is_some(),
            Kind::Seeded { left, .. } => left.next().is_some(),
        };
        self.made.clear();
        self.played += usize::from(there_is);
        there_is
    }

    /// Which of so many goes next.
    pub(crate) fn choose(&mut self, among: usize) -> usize {
        let choice = match &mut self.kind {
            Kind::Every(begins) => {
                let begun = begins.as_ref().and_then(|begins| begins.get(self.made.len()));
                begun.copied().unwrap_or(0).min(among - 1)
            }
            Kind::Seeded { random, .. } => random.usize(..among),
        };
        self.made.push((choice, among));
        choice
    }

    /// The order was played to its end: the next one differs in the last choice that can differ.
    pub(crate) fn ended(&mut self) {
        let Kind::Every(begins) = &mut self.kind else { return };
        while self.made.pop_if(|(choice, among)| *choice + 1 == *among).is_some() {}
        *begins = self.made.pop().map(|(choice, _)| {
            let before = self.made.iter().map(|(choice, _)| *choice);
            before.chain([choice + 1]).collect()
        });
    }

    /// Prints how many orders were played.
    pub(crate) fn report(&self, name: &str, server: &Server, begun: Instant) {
        let (played, backend, time) = (self.played, server.backend, begun.elapsed());
        let seed = match &self.kind {
            Kind::Every(_) => String::new(),
            Kind::Seeded { seed, .. } => format!(" of {SEED}={seed}"),
        };
        println!("{name} on {backend:?}: {played} orders{seed}, {time:.1?}");
    }

    pub(crate) const fn played(&self) -> usize {
        self.played
    }

    /// How to see this order again.
    pub(crate) fn name(&self) -> String {
        let choices: Vec<String> = self.made.iter().map(|(it, _)| it.to_string()).collect();
        let choices = choices.join(" ");
        match &self.kind {
            Kind::Every(_) => format!("order {} by the choices {choices}", self.played),
            Kind::Seeded { seed, .. } => format!("order {} of {SEED}={seed}", self.played),
        }
    }
}
