//! What a scripted publisher answers, and when.

use std::collections::VecDeque;
use std::sync::Arc;

use outbox_core::{Failure, OutboxMessage, Receipt};

use crate::gate::Door;

/// What a publisher answers for one message.
pub type SendVerdict = Result<Receipt, Failure>;

/// How often a rule applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// To every message that it meets.
    Always,
    /// To so many messages, then no more.
    First(usize),
}

pub(super) type Condition = Box<dyn Fn(&OutboxMessage) -> bool + Send>;

#[derive(Default)]
pub(super) struct Script {
    rules: Vec<Rule>,
    verdicts: VecDeque<SendVerdict>,
    gates: Vec<(Condition, Arc<Door>)>,
}

struct Rule {
    meets: Condition,
    times: Times,
    failure: Failure,
}

impl Script {
    pub(super) fn add_rule(&mut self, meets: Condition, times: Times, failure: Failure) {
        self.rules.push(Rule { meets, times, failure });
    }

    pub(super) fn add_verdicts(&mut self, verdicts: impl IntoIterator<Item = SendVerdict>) {
        self.verdicts.extend(verdicts);
    }

    pub(super) fn add_gate(&mut self, meets: Condition, door: Arc<Door>) {
        self.gates.push((meets, door));
    }

    pub(super) fn forget_failures(&mut self) {
        self.rules.clear();
        self.verdicts.clear();
    }

    pub(super) fn doors(&self, messages: &[OutboxMessage]) -> Vec<Arc<Door>> {
        let holds = |(meets, _): &&(Condition, Arc<Door>)| messages.iter().any(meets);
        self.gates.iter().filter(holds).map(|(_, door)| Arc::clone(door)).collect()
    }

    pub(super) fn verdict(&mut self, message: &OutboxMessage) -> SendVerdict {
        if let Some(rule) = self.rules.iter_mut().find(|rule| rule.applies(message)) {
            return Err(rule.spend());
        }
        self.verdicts.pop_front().unwrap_or_else(|| Ok(Receipt::default()))
    }
}

impl Rule {
    fn applies(&self, message: &OutboxMessage) -> bool {
        self.times != Times::First(0) && (self.meets)(message)
    }

    fn spend(&mut self) -> Failure {
        if let Times::First(left) = &mut self.times {
            *left -= 1;
        }
        self.failure.clone()
    }
}
