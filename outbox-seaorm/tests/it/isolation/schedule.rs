//! Several sessions at one database, of which one makes a step at a time.
//!
//! A step ends when the session stands before its next statement, or when the server says that it
//! waits for a lock: the others then go on, and the step ends when one of theirs lets it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::gate::{Event, Gate, Stops};
use super::order::Orders;
use super::server::Server;
use super::session::{Script, Session};

/// How long the test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// After how long without word of a step the server is asked whether it waits.
const SOON: Duration = Duration::from_millis(3);

/// Sessions, and the clock as one more that makes a single step.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) server: Server,
    pub(crate) sessions: Vec<Session>,
    events: UnboundedReceiver<Event>,
}

/// What was done, in order.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) actor: usize,
    pub(crate) sql: String,
    /// Whether it had to wait for another session.
    pub(crate) waited: bool,
}

impl Trace {
    /// Which steps an actor made.
    pub(crate) fn of(&self, actor: usize) -> impl Iterator<Item = usize> + '_ {
        let all = self.steps.iter().enumerate();
        all.filter(move |(_, step)| step.actor == actor).map(|(at, _)| at)
    }

    /// The step in which an actor first ran such a statement.
    pub(crate) fn first(&self, actor: usize, word: &str) -> Option<usize> {
        self.of(actor).find(|at| self.steps[*at].sql.contains(word))
    }

    pub(crate) fn waits(&self) -> usize {
        self.steps.iter().filter(|step| step.waited).count()
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for Step { actor, sql, waited } in &self.steps {
            let sql: String = sql.split_whitespace().collect::<Vec<_>>().join(" ");
            let sql: String = sql.chars().take(100).collect();
            let waited = if *waited { " (waits)" } else { "" };
            _ = writeln!(text, "  {actor}{waited}: {sql}");
        }
        text
    }
}

/// Where a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Before this statement.
    Ready(String),
    Running,
    /// For a lock.
    Waiting,
    /// Until another has ended.
    Refused(String),
    Ended,
}

impl Stage {
    pub(crate) async fn open(server: Server, sessions: usize, stops: Stops) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let mut opened = Vec::new();
        for number in 0..sessions {
            opened.push(Session::open(&server, number, sender.clone(), stops).await);
        }
        Self { server, sessions: opened, events }
    }

    /// The actor that is the clock.
    pub(crate) const fn clock(&self) -> usize {
        self.sessions.len()
    }

    /// Begins to play the scripts in one order.
    pub(crate) async fn begin(&mut self, scripts: Vec<Script>, time_passes: bool) -> Play<'_> {
        let mut play = Play { states: Vec::new(), trace: Trace::default(), stage: self };
        play.begin(scripts, time_passes).await;
        play
    }
}

/// One order being played.
#[derive(Debug)]
pub(crate) struct Play<'a> {
    stage: &'a mut Stage,
    states: Vec<State>,
    pub(crate) trace: Trace,
}

impl Play<'_> {
    async fn begin(&mut self, scripts: Vec<Script>, time_passes: bool) {
        self.states = vec![State::Ended; self.stage.sessions.len()];
        for (number, script) in scripts.into_iter().enumerate() {
            self.states[number] = State::Running;
            self.stage.sessions[number].begin(script);
        }
        let clock = if time_passes { State::Ready("an hour passes".into()) } else { State::Ended };
        self.states.push(clock);
        self.settle().await;
    }

    pub(crate) fn is_over(&self) -> bool {
        self.states.iter().all(|state| *state == State::Ended)
    }

    /// Lets one session go on.
    pub(crate) async fn step(&mut self, orders: &mut Orders) {
        let ready: Vec<usize> = (0..self.states.len())
            .filter(|actor| matches!(self.states[*actor], State::Ready(_)))
            .collect();
        if ready.is_empty() {
            return self.wait_for_the_server(orders).await;
        }
        let actor = ready[orders.choose(ready.len())];
        let State::Ready(sql) = std::mem::replace(&mut self.states[actor], State::Running) else {
            unreachable!("it is ready");
        };
        let at = self.trace.steps.len();
        self.trace.steps.push(Step { actor, sql: sql.clone(), waited: false });
        if actor == self.stage.clock() {
            let passed = self.stage.server.let_pass().await;
            if passed {
                self.states[actor] = State::Ended;
            } else {
                let told = &mut self.trace.steps[at].sql;
                "time stands still beside a writer".clone_into(told);
                self.states[actor] = State::Refused(sql);
            }
        } else {
            self.stage.sessions[actor].gate.release();
        }
        self.settle().await;
        self.trace.steps[at].waited = self.states[actor] == State::Waiting;
    }

    /// Nobody can go on: the server ends a deadlock, and who was refused tries again.
    async fn wait_for_the_server(&mut self, orders: &Orders) {
        if self.admit_refused() {
            return;
        }
        let event = tokio::time::timeout(PATIENCE, self.stage.events.recv()).await;
        let name = orders.name();
        let Ok(Some(event)) = event else {
            panic!("nobody goes on in {name}: {:?}\n{}", self.states, self.trace.text());
        };
        self.apply(event);
        self.settle().await;
    }

    /// Returns once each session stands before a statement, waits for a lock or has ended.
    async fn settle(&mut self) {
        let settled = tokio::time::timeout(PATIENCE, self.settle_all()).await;
        assert!(settled.is_ok(), "a step does not end: {:?}\n{}", self.states, self.trace.text());
    }

    async fn settle_all(&mut self) {
        loop {
            self.listen().await;
            let moving = self.moving();
            if moving.is_empty() {
                return;
            }
            // Also those that waited before: the step may have let them go on.
            let gate = |actor: &usize| (*actor, &*self.stage.sessions[*actor].gate);
            let gates: Vec<(usize, &Gate)> = moving.iter().map(gate).collect();
            let waiting = self.stage.server.waiting(&gates).await;
            self.drain();
            for actor in self.moving() {
                let waits = waiting.contains(&actor);
                self.states[actor] = if waits { State::Waiting } else { State::Running };
            }
            if !self.states.contains(&State::Running) {
                return;
            }
        }
    }

    /// Hears of steps that end. Most do before the server could say whether they wait.
    async fn listen(&mut self) {
        self.drain();
        if self.states.contains(&State::Running) {
            let event = tokio::time::timeout(SOON, self.stage.events.recv()).await;
            if let Ok(Some(event)) = event {
                self.apply(event);
                self.drain();
            }
        }
    }

    /// Sessions that run a statement, whether or not it waits.
    fn moving(&self) -> BTreeSet<usize> {
        let moves = |actor: &usize| matches!(self.states[*actor], State::Running | State::Waiting);
        (0..self.stage.sessions.len()).filter(moves).collect()
    }

    fn drain(&mut self) {
        while let Ok(event) = self.stage.events.try_recv() {
            self.apply(event);
        }
    }

    fn apply(&mut self, event: Event) {
        match event {
            Event::Arrived(actor, sql) => self.states[actor] = State::Ready(sql),
            Event::Refused(actor) => {
                self.states[actor] = State::Refused("a repeated call".to_owned());
            }
            Event::Ended(actor, ended) => {
                if let Err(panic) = ended {
                    panic!("{panic}\n{}", self.trace.text());
                }
                self.states[actor] = State::Ended;
                self.admit_refused();
            }
        }
    }

    /// Lets those repeat their call who were refused.
    fn admit_refused(&mut self) -> bool {
        let mut some = false;
        for state in &mut self.states {
            if let State::Refused(sql) = state {
                *state = State::Ready(std::mem::take(sql));
                some = true;
            }
        }
        some
    }
}
