//! What is played in many orders, with what must hold in each.

use std::time::Instant;

use super::gate::Stops;
use super::judge::{Answer, Watch};
use super::order::Orders;
use super::roles::Answers;
use super::scene::{Plan, Scene};
use super::schedule::{Stage, Trace};
use super::server::Server;
use super::session::Script;
use crate::database::TestDatabase;

/// An interleaving that was played.
pub(crate) struct Played {
    pub(crate) scene: Scene,
    pub(crate) watch: Watch,
    pub(crate) answers: Vec<(usize, Answer)>,
    pub(crate) trace: Trace,
}

/// What is played in many orders.
pub(crate) struct Production {
    name: &'static str,
    pub(crate) stage: Stage,
    pub(crate) plan: Plan,
    pub(crate) time_passes: bool,
    /// Sessions of the worker that holds the lanes that are held.
    pub(crate) owners: Vec<usize>,
    begun: Instant,
    waits: usize,
}

impl Production {
    pub(crate) async fn open(name: &'static str, database: &TestDatabase, sessions: usize) -> Self {
        let server = Server::with_clock(database).await;
        let stage = Stage::open(server, sessions, Stops::All).await;
        let (plan, begun) = (Plan::default(), Instant::now());
        Self { name, stage, plan, time_passes: false, owners: vec![0], begun, waits: 0 }
    }

    /// Plays one order of these scripts and checks what must hold always.
    pub(crate) async fn play(
        &mut self,
        orders: &mut Orders,
        scripts: impl FnOnce(&Scene, &Answers) -> Vec<Script>,
    ) -> Played {
        let server = self.stage.server.clone();
        let scene = Scene::set(&server, self.plan).await;
        let (owners, clock) = (self.owners.clone(), self.stage.clock());
        let mut watch = Watch::begin(&server, owners, clock).await;
        let told = Answers::new();
        let scripts = scripts(&scene, &told);
        let mut play = self.stage.begin(scripts, self.time_passes).await;
        while !play.is_over() {
            play.step(orders).await;
            watch.look(&server, &play.trace).await;
        }
        let trace = play.trace;
        orders.ended();
        watch.see(&server, &trace).await;
        self.waits += trace.waits();
        let answers = told.take();
        watch.end(&answers, &trace);
        Played { scene, watch, answers, trace }
    }

    pub(crate) async fn report(&mut self, orders: &Orders) {
        self.stage.server.assert_no_deadlock().await;
        let name = format!("{} ({} waits)", self.name, self.waits);
        orders.report(&name, &self.stage.server, self.begun);
        (self.waits, self.begun) = (0, Instant::now());
    }
}

impl Played {
    /// When time passed.
    pub(crate) fn passed(&self, production: &Production) -> Option<usize> {
        self.trace.first(production.stage.clock(), "an hour passes")
    }

    /// Whether time had passed before a session asked for anything.
    pub(crate) fn came_late(&self, production: &Production, actor: usize) -> bool {
        let first = self.trace.of(actor).next();
        self.passed(production).is_some_and(|passed| first.is_some_and(|first| passed < first))
    }
}
