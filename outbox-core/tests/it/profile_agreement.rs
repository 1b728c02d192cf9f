//! The glance at a message and its envelope never disagree.

use outbox_core::{EnvelopeForm, EventId, OutboxMessage, TopicProfile};

/// A generator of the least kind: the cases must only be many and the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    /// Mostly plain text, now and then of characters that grow or are lost.
    fn text(&mut self, longest: usize) -> String {
        const ODD: [char; 10] =
            ['"', '\\', '\u{1}', '\n', '\u{7f}', 'é', '\u{ffff}', '\u{fffe}', '😀', '\u{1f}'];
        let odd = self.below(4) == 0;
        let length = self.below(longest);
        (0..length).map(|_| if odd { ODD[self.below(ODD.len())] } else { 'x' }).collect()
    }

    fn optional(&mut self) -> Option<String> {
        (self.below(2) == 0).then(|| self.text(40))
    }

    fn payload(&mut self, longest: usize) -> Vec<u8> {
        match self.below(4) {
            0 => serde_json::to_vec(&self.text(longest)).unwrap(),
            1 => vec![0xff; self.below(longest)],
            _ => self.text(longest).into_bytes(),
        }
    }

    fn message(&mut self) -> OutboxMessage {
        let source = self.text(30);
        let payload = self.payload(1200).into();
        let mut message = OutboxMessage::new(EventId::new(), "a", "b", source, payload);
        message.subject = self.optional();
        message.partition_key = self.optional();
        message.tenant = self.optional();
        message.correlation_id = self.optional();
        message.causation_id = self.optional();
        message.traceparent = self.optional();
        message.tracestate = self.optional();
        for _ in 0..self.below(6) {
            let name = if self.below(2) == 0 { "tier".to_owned() } else { self.text(9) };
            let value = self.text(30);
            message.headers.push(name, value);
        }
        message
    }
}

#[test]
fn a_check_says_what_wrapping_says() {
    let mut dice = Dice(7);
    let mut refused = [0, 0];
    for round in 0..4_000 {
        let form = if round % 2 == 0 { EnvelopeForm::Binary } else { EnvelopeForm::Structured };
        let limit = [1024, 2048, 4096, 16_384][dice.below(4)];
        let profile = TopicProfile::new(form).with_limit(limit).unwrap();
        let profile = profile.with_filter_headers(["tier"]).unwrap();
        let message = dice.message();

        let wrapped = profile.wrap(&message).err();

        assert_eq!(profile.check(&message).err(), wrapped, "{profile:?} {message:?}");
        refused[usize::from(wrapped.is_some())] += 1;
    }
    assert!(refused.into_iter().all(|count| count > 400), "{refused:?}");
}

/// Refused by a topic that takes a byte less.
fn assert_counted(message: &OutboxMessage) {
    let size = TopicProfile::default().wrap(message).unwrap().size();
    let below = TopicProfile::default().with_limit(size - 1).unwrap();
    assert!(below.check(message).is_err(), "{message:?}");
}

fn bare(payload: Vec<u8>) -> OutboxMessage {
    OutboxMessage::new(EventId::new(), "a", "b", "c", payload.into())
}

/// The sum of lengths must not be below the truth, or too large a message would pass.
#[test]
fn the_worst_metadata_are_never_let_through_by_their_lengths() {
    for odd in ["\u{1}", "\"", "\\", "\u{ffff}", "\n"] {
        for count in (150..400).step_by(7) {
            let mut message = bare(b"{}".to_vec());
            message.subject = Some(odd.repeat(count));
            message.tenant = Some(odd.repeat(count * 2));
            for _ in 0..count / 10 {
                message.headers.push(odd, odd.repeat(count / 20));
            }

            assert_counted(&message);
        }
    }
}

#[test]
fn the_worst_payload_is_never_let_through_by_its_length() {
    for bytes in (1000..9000).step_by(101) {
        assert_counted(&bare(vec![0xff; bytes]));
    }
}
