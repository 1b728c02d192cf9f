use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::refusal::Refusal;

/// What happens to one `Publish` or `PublishBatch` request.
///
/// "Accepts" means that the messages are journalled. A request that breaks SNS's own rules is
/// refused with SNS's error document, whatever the fault would do after acceptance.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Fault {
    /// Accepts, then does not answer until [`SnsStub::release_hung`](super::SnsStub::release_hung).
    AcceptThenHang,
    /// Accepts at once and answers after this time.
    Delay(Duration),
    /// Accepts nothing: 403 `AuthorizationError`.
    Denied,
    /// Accepts, then closes the connection without an answer.
    DropAfterAccept,
    /// Accepts nothing and closes the connection.
    DropBeforeAccept,
    /// Accepts, then closes the connection in the middle of the answer.
    DropMidAnswer,
    /// Accepts nothing: 403 `ExpiredToken`.
    ExpiredToken,
    /// Accepts the other entries and reports the chosen ones as failed.
    FailEntries(EntryFailure),
    /// Accepts, then answers status 200 with something that is no XML.
    Garbage200,
    /// Does nothing until [`SnsStub::release_hung`](super::SnsStub::release_hung), then serves the
    /// request as usual.
    Hang,
    /// Accepts nothing: 503 with the HTML page of some proxy, so without an error code.
    Html503,
    /// Accepts nothing: 500 `InternalError`.
    InternalError,
    /// Accepts nothing: 400 `InvalidParameter`.
    InvalidParameter,
    /// Accepts all entries but leaves the chosen ones out of the answer.
    OmitEntries(Entries),
    /// No fault: a place in the script at which all goes well.
    Pass,
    /// Accepts nothing and answers with this error document.
    Refuse {
        /// The HTTP status. A number that is no status becomes 500.
        status: u16,
        /// The error code.
        code: String,
        /// The error message.
        message: String,
    },
    /// Accepts nothing: 503 `ServiceUnavailable`.
    ServiceUnavailable,
    /// Accepts nothing: 400 `Throttling`.
    Throttle,
}

impl Fault {
    /// Fails the chosen entries; a failed single `Publish` becomes an error document.
    pub fn fail_entries(which: Entries, code: impl Into<String>, sender_fault: bool) -> Self {
        Self::FailEntries(EntryFailure { which, code: code.into(), sender_fault })
    }

    /// The error document that stands in for an acceptance.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        let (status, code, message) = match self {
            Self::Denied => {
                (403, "AuthorizationError", "User is not authorized to perform: SNS:Publish")
            }
            Self::ExpiredToken => {
                (403, "ExpiredToken", "The security token included in the request is expired")
            }
            Self::InternalError => (500, "InternalError", "Internal failure"),
            Self::InvalidParameter => (400, "InvalidParameter", "Invalid parameter: Message"),
            Self::ServiceUnavailable => {
                (503, "ServiceUnavailable", "Service is temporarily unavailable")
            }
            Self::Throttle => (400, "Throttling", "Rate exceeded"),
            Self::Refuse { status, code, message } => {
                return Some(Refusal::new(*status, code.clone(), message.clone()));
            }
            _ => return None,
        };
        Some(Refusal::new(status, code, message))
    }

    /// How this entry fails, if it does.
    pub(crate) fn failure_of(&self, index: usize, message: &str) -> Option<&EntryFailure> {
        match self {
            Self::FailEntries(failure) if failure.which.contains(index, message) => Some(failure),
            _ => None,
        }
    }

    /// Whether this entry is left out of the answer.
    pub(crate) fn omits(&self, index: usize, message: &str) -> bool {
        matches!(self, Self::OmitEntries(which) if which.contains(index, message))
    }
}

/// How the chosen entries of a batch fail.
#[derive(Debug, Clone)]
pub struct EntryFailure {
    /// The entries that fail.
    pub which: Entries,
    /// The error code.
    pub code: String,
    /// Whether SNS blames the sender.
    pub sender_fault: bool,
}

/// A choice among the entries of a batch. A single `Publish` is a batch of one.
#[derive(Clone)]
#[non_exhaustive]
pub enum Entries {
    /// Every entry.
    All,
    /// The entries at these places, counted from 0.
    At(Vec<usize>),
    /// The entries whose body this accepts.
    Where(Arc<dyn Fn(&str) -> bool + Send + Sync>),
}

impl Entries {
    /// The entries whose body `accepts` says yes to.
    pub fn matching(accepts: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self::Where(Arc::new(accepts))
    }

    fn contains(&self, index: usize, message: &str) -> bool {
        match self {
            Self::All => true,
            Self::At(places) => places.contains(&index),
            Self::Where(accepts) => accepts(message),
        }
    }
}

impl fmt::Debug for Entries {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => formatter.write_str("All"),
            Self::At(places) => formatter.debug_tuple("At").field(places).finish(),
            Self::Where(_) => formatter.write_str("Where(..)"),
        }
    }
}
