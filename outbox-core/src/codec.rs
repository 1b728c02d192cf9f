//! From an event to the bytes that travel.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use bytes::Bytes;
use serde::Serialize;

use crate::message::OutboxMessage;

/// Any error of the application's own.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Writes events of type `E` as bytes of one media type.
///
/// Without another codec an event is written as [`Json`]. `codec = ...` in the attribute of the
/// derive macro names another one. What it writes is stored and sent byte for byte.
///
/// ```
/// use outbox_core::{BoxError, Codec, OutboxEvent};
///
/// /// A codec for all events that have a text.
/// struct PlainText;
///
/// impl<E: ToString> Codec<E> for PlainText {
///     const CONTENT_TYPE: &'static str = "text/plain; charset=utf-8";
///
///     fn encode(event: &E) -> Result<Vec<u8>, BoxError> {
///         Ok(event.to_string().into_bytes())
///     }
/// }
///
/// #[derive(OutboxEvent)]
/// #[outbox(type = "notes.written", topic = "notes", codec = PlainText)]
/// struct NoteWritten(u32);
///
/// impl std::fmt::Display for NoteWritten {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         write!(f, "note {}", self.0)
///     }
/// }
///
/// let payload = NoteWritten(7).payload().unwrap();
/// assert_eq!(payload.content_type, "text/plain; charset=utf-8");
/// assert_eq!(&payload.bytes[..], b"note 7");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not encode `{E}`",
    label = "no codec of this event",
    note = "write `impl Codec<{E}> for {Self}`, or give the event what the codec asks for"
)]
pub trait Codec<E: ?Sized> {
    /// Media type of what it writes. A consumer reads the payload by it.
    const CONTENT_TYPE: &'static str;

    /// Writes an event.
    ///
    /// # Errors
    /// The codec's own, for an event that has no such form. It should quote no value of the event.
    fn encode(event: &E) -> Result<Vec<u8>, BoxError>;
}

/// JSON, as `serde_json` writes it: the codec of every event that names no other.
#[derive(Clone, Copy, Debug)]
pub struct Json;

impl<E: Serialize + ?Sized> Codec<E> for Json {
    const CONTENT_TYPE: &'static str = OutboxMessage::JSON;

    fn encode(event: &E) -> Result<Vec<u8>, BoxError> {
        Ok(serde_json::to_vec(event)?)
    }
}

/// An encoded event.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload {
    /// Media type of the bytes.
    pub content_type: Cow<'static, str>,
    /// What is stored and sent.
    pub bytes: Bytes,
}

impl Payload {
    /// Writes an event with a codec.
    ///
    /// # Errors
    /// [`PayloadError`] with what the codec said.
    pub fn encode<C: Codec<E>, E: ?Sized>(event: &E) -> Result<Self, PayloadError> {
        match C::encode(event) {
            Ok(bytes) => {
                Ok(Self { content_type: Cow::Borrowed(C::CONTENT_TYPE), bytes: bytes.into() })
            }
            Err(source) => Err(PayloadError::new(C::CONTENT_TYPE, source)),
        }
    }
}

/// Without the bytes, which are the application's.
impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payload")
            .field("content_type", &self.content_type)
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

/// An event that its codec cannot write.
#[derive(Debug, thiserror::Error)]
#[error("the event does not serialize to {format}")]
pub struct PayloadError {
    pub(crate) format: &'static str,
    pub(crate) source: BoxError,
}

impl PayloadError {
    /// The event has no form of this media type.
    pub fn new(content_type: &'static str, source: impl Into<BoxError>) -> Self {
        let format = if content_type == OutboxMessage::JSON { "JSON" } else { content_type };
        Self { format, source: source.into() }
    }
}
