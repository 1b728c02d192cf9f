//! Events that are not JSON.

use outbox_core::{BoxError, Codec, OutboxEvent};
use serde::Serialize;

/// Bytes that are no text, in front of the event's own.
struct Framed<const MARK: u8>;

impl<E: AsRef<[u8]> + ?Sized, const MARK: u8> Codec<E> for Framed<MARK> {
    const CONTENT_TYPE: &'static str = "application/x-framed";

    fn encode(event: &E) -> Result<Vec<u8>, BoxError> {
        Ok([&[MARK], event.as_ref()].concat())
    }
}

// It does not implement `Serialize`: that is JSON's wish, not the event's.
#[derive(OutboxEvent)]
#[outbox(type = "frames.sent", topic = "frames", codec = Framed<0xff>)]
struct FrameSent(Vec<u8>);

impl AsRef<[u8]> for FrameSent {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[test]
fn the_codec_of_the_attribute_writes_the_payload() {
    let payload = FrameSent(vec![0, 0xfe]).payload().unwrap();

    assert_eq!(payload.content_type, "application/x-framed");
    assert_eq!(&payload.bytes[..], [0xff, 0, 0xfe]);
}

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "reports.requested", topic = "reports")]
struct ReportRequested {
    month: u8,
}

#[test]
fn without_the_attribute_the_payload_is_json() {
    let payload = ReportRequested { month: 7 }.payload().unwrap();

    assert_eq!(payload.content_type, "application/json");
    assert_eq!(&payload.bytes[..], br#"{"month":7}"#);
}

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "frames", codec = self::Framed<1>)]
enum FrameEvent {
    #[outbox(type = "frames.cut")]
    Cut,
    #[outbox(type = "frames.joined", codec = Framed<2>)]
    Joined,
    #[outbox(type = "frames.counted", codec = outbox_core::Json)]
    Counted(u8),
}

impl AsRef<[u8]> for FrameEvent {
    fn as_ref(&self) -> &[u8] {
        b"frame"
    }
}

#[test]
fn a_variant_may_have_a_codec_of_its_own() {
    let bytes = |event: FrameEvent| event.payload().unwrap().bytes;

    assert_eq!(&bytes(FrameEvent::Cut)[..], b"\x01frame");
    assert_eq!(&bytes(FrameEvent::Joined)[..], b"\x02frame");
    assert_eq!(&bytes(FrameEvent::Counted(7))[..], br#"{"Counted":7}"#);
}

macro_rules! event {
    ($name:ident, $codec:ty) => {
        #[derive(OutboxEvent)]
        #[outbox(type = "frames.declared", topic = "frames", codec = $codec)]
        struct $name;

        impl AsRef<[u8]> for $name {
            fn as_ref(&self) -> &[u8] {
                b"declared"
            }
        }
    };
}

event!(Declared, Framed<3>);

#[test]
fn a_codec_may_come_through_a_declarative_macro() {
    assert_eq!(&Declared.payload().unwrap().bytes[..], b"\x03declared");
}

struct Never;

impl<E> Codec<E> for Never {
    const CONTENT_TYPE: &'static str = "application/x-never";

    fn encode(_: &E) -> Result<Vec<u8>, BoxError> {
        Err("no such form".into())
    }
}

#[derive(OutboxEvent)]
#[outbox(type = "frames.lost", topic = "frames", codec = Never)]
struct FrameLost;

#[test]
fn what_the_codec_says_is_the_cause() {
    let error = FrameLost.payload().unwrap_err();

    assert_eq!(error.to_string(), "the event does not serialize to application/x-never");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "no such form");
}
