//! The broker as one worker sees it, with the faults that its calls meet.

use std::time::Duration;

use async_trait::async_trait;
use outbox_core::{
    BatchLimit, Failure, FailureKind, OutboxMessage, PublishOutcomes, Publisher, Receipt,
};

use super::fault::{Fault, Place};
use super::journal::{Answer, Call, Fact, Send};
use super::line::Line;
use super::plan::millis;

#[derive(Debug)]
pub(super) struct SimulatedPublisher(pub(super) Line);

#[async_trait]
impl Publisher for SimulatedPublisher {
    fn batch_limit(&self) -> BatchLimit {
        BatchLimit(self.0.world.plan.batch)
    }

    async fn publish(&self, messages: &[OutboxMessage]) -> PublishOutcomes {
        let line = &self.0;
        let mut open = OpenCall::begin(line, messages);
        line.pass(Place::Send).await;
        line.travel().await;
        line.pass(Place::Send).await;
        let fault = line.world.state().broker_fault(line.worker, &messages[0].topic);
        let answers = open.arrive(fault);
        line.pass(Place::Taken).await;
        match fault {
            Some(Fault::BrokerHangs) => line.hang().await,
            Some(Fault::DrainDuringSend) => {
                line.world.state().stops.push(line.worker);
                line.hang::<()>().await;
            }
            Some(Fault::PublisherPanics) => {
                open.end(&vec![Answer::Panicked; messages.len()]);
                std::panic::resume_unwind(Box::new("the publisher panics"))
            }
            _ => line.travel().await,
        }
        line.pass(Place::Taken).await;
        open.end(&answers);
        answers.into_iter().map(|answer| verdict(line, answer)).collect()
    }
}

/// A call of the publisher. If it is dropped it timed out, or ended with its worker.
struct OpenCall<'a> {
    line: &'a Line,
    call: Call,
    sends: Vec<Send>,
    began: Duration,
    ended: bool,
}

impl<'a> OpenCall<'a> {
    fn begin(line: &'a Line, messages: &[OutboxMessage]) -> Self {
        line.world.tick(line.now());
        let mut state = line.world.state();
        let (call, worker) = (state.next_call(), line.worker);
        let mut sends = Vec::new();
        for message in messages {
            let (event, at) = (line.world.plan.event_of(message.id), message.lane());
            let (epoch, told) = state.held[&(worker, at)];
            let is_fresh = told == state.now();
            let send = Send { event, call, worker, lane: at, epoch, is_fresh };
            state.check_send(&send, line.world.plan.settings.publish_timeout);
            sends.push(send);
        }
        for send in &sends {
            state.note(Fact::Sent(*send));
        }
        Self { line, call, sends, began: line.now(), ended: false }
    }

    /// The messages are at the broker: which of them it takes, and what it answers.
    fn arrive(&self, fault: Option<Fault>) -> Vec<Answer> {
        // A failure may be about a part of a batch, and of a call without an answer nobody knows
        // whether the messages were taken.
        let all = self.line.world.state().coin();
        let answer_to = |send: &Send| {
            let refused = self.line.world.plan.event(send.event).is_refused;
            let one = all || self.line.world.state().coin();
            let (taken, answer) = match fault {
                Some(Fault::Refused(kind)) if one => (false, Answer::Failed(kind)),
                _ if refused => (false, Answer::Failed(FailureKind::Message)),
                Some(Fault::AnswerLost) => (true, Answer::Lost),
                Some(Fault::BrokerHangs | Fault::PublisherPanics) => (all, Answer::Lost),
                _ => (true, Answer::Accepted),
            };
            if refused && !taken {
                self.line.world.state().meet_quietly(Fault::Refused(FailureKind::Message));
            }
            if taken {
                self.line.note(Fact::Taken(*send));
            }
            answer
        };
        self.sends.iter().map(answer_to).collect()
    }

    fn end(&mut self, answers: &[Answer]) {
        self.ended = true;
        for (send, answer) in self.sends.iter().zip(answers) {
            let (event, call, answer) = (send.event, self.call, *answer);
            self.line.note(Fact::Answered { event, call, answer });
        }
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let limit = self.line.world.plan.settings.publish_timeout;
        if self.line.now().saturating_sub(self.began) >= limit {
            self.end(&vec![Answer::TimedOut; self.sends.len()]);
        }
    }
}

fn verdict(line: &Line, answer: Answer) -> Result<Receipt, Failure> {
    let kind = match answer {
        Answer::Accepted => return Ok(Receipt::default()),
        Answer::Failed(kind) => kind,
        _ => FailureKind::Ambiguous,
    };
    let mut failure = Failure::new(kind, "as the seed says");
    let mut state = line.world.state();
    if state.coin() {
        failure.retry_after = Some(state.draw_time(millis(10), millis(1500)));
    }
    Err(failure)
}
