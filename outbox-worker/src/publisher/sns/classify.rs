//! Who is at fault when SNS does not publish.

use outbox_core::FailureKind;

use AnswerClass::{
    Ambiguous, BatchShape, BatchTooLong, Bug, Credentials, Destination, Message, Throttled,
    Transient,
};

/// What a refusal of SNS means for the messages of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerClass {
    /// Perhaps published: the answer was lost or says nothing.
    Ambiguous,
    /// The request was put together wrongly. Smaller ones may pass.
    BatchShape,
    /// The messages are too large together. Smaller requests may pass.
    BatchTooLong,
    /// A defect of this program or its build.
    Bug,
    /// Credentials, signature or clock.
    Credentials,
    /// The topic, its permissions, its key, or the way to it.
    Destination,
    /// One of the messages can never be published.
    Message,
    /// SNS asks for less.
    Throttled,
    /// Surely not published.
    Transient,
}

impl AnswerClass {
    /// Whether smaller requests can find out which message is to blame.
    pub const fn splits(self) -> bool {
        matches!(self, BatchShape | BatchTooLong | Message)
    }

    /// Who is at fault if the request held this one message.
    ///
    /// A wrongly built request and a defect count as the destination's fault: it pauses loudly and
    /// keeps its records, and nothing is dead-lettered for what no message did.
    pub const fn kind(self) -> FailureKind {
        match self {
            Ambiguous => FailureKind::Ambiguous,
            BatchShape | Bug | Destination => FailureKind::Destination,
            BatchTooLong | Message => FailureKind::Message,
            Credentials => FailureKind::Credentials,
            Throttled => FailureKind::Throttled,
            Transient => FailureKind::Transient,
        }
    }
}

/// The error codes of SNS as they come over the wire.
const CODES: &[(&str, AnswerClass)] = &[
    ("AccessDenied", Destination),
    ("AccessDeniedException", Destination),
    ("AuthFailure", Credentials),
    ("AuthorizationError", Destination),
    ("BandwidthLimitExceeded", Throttled),
    ("BatchEntryIdsNotDistinct", BatchShape),
    ("BatchRequestTooLong", BatchTooLong),
    ("EmptyBatchRequest", BatchShape),
    ("EndpointDisabled", Destination),
    ("ExpiredToken", Credentials),
    ("ExpiredTokenException", Credentials),
    ("IncompleteSignature", Credentials),
    ("InternalError", Ambiguous),
    ("InternalErrorException", Ambiguous),
    ("InternalFailure", Ambiguous),
    ("InvalidAccessKeyId", Credentials),
    ("InvalidAction", Bug),
    ("InvalidBatchEntryId", BatchShape),
    ("InvalidClientTokenId", Credentials),
    ("InvalidParameter", Message),
    ("InvalidParameterValue", Message),
    ("InvalidSecurity", Credentials),
    ("InvalidSignatureException", Credentials),
    ("KMSAccessDenied", Destination),
    ("KMSDisabled", Destination),
    ("KMSInvalidState", Destination),
    ("KMSNotFound", Destination),
    ("KMSOptInRequired", Destination),
    ("KMSThrottling", Throttled),
    ("KMSThrottlingException", Throttled),
    ("LimitExceededException", Throttled),
    ("MalformedInput", Bug),
    ("MalformedQueryString", Bug),
    ("MissingAction", Bug),
    ("MissingAuthenticationToken", Credentials),
    ("MissingParameter", Bug),
    ("NotFound", Destination),
    ("OptInRequired", Credentials),
    ("ParameterValueInvalid", Message),
    ("PlatformApplicationDisabled", Destination),
    ("RequestExpired", Credentials),
    ("RequestLimitExceeded", Throttled),
    ("RequestThrottled", Throttled),
    ("RequestThrottledException", Throttled),
    ("RequestTimeTooSkewed", Credentials),
    ("RequestTimeout", Ambiguous),
    ("RequestTimeoutException", Ambiguous),
    ("ServiceUnavailable", Transient),
    ("ServiceUnavailableException", Transient),
    ("SignatureDoesNotMatch", Credentials),
    ("SlowDown", Throttled),
    ("Throttled", Throttled),
    ("ThrottledException", Throttled),
    ("Throttling", Throttled),
    ("ThrottlingException", Throttled),
    ("TooManyEntriesInBatchRequest", BatchShape),
    ("TooManyRequestsException", Throttled),
    ("UnrecognizedClientException", Credentials),
    ("ValidationError", Message),
    ("ValidationException", Message),
];

/// Class of a whole request's refusal with this code, HTTP status and text.
pub fn classify_request(code: Option<&str>, status: u16, text: &str) -> AnswerClass {
    match code {
        Some(code) => known(code, text).unwrap_or_else(|| match status {
            // SNS itself says that the request is bad, in a word that is new.
            400 => Message,
            status => classify_status(status),
        }),
        None => classify_status(status),
    }
}

/// Class of a failed entry in the answer to a batch.
///
/// The code decides. The flag counts only for codes that are not known, because SNS blames the
/// sender for throttling too.
pub fn classify_entry(code: &str, sender_fault: bool, text: &str) -> AnswerClass {
    known(code, text).unwrap_or(if sender_fault { Message } else { Ambiguous })
}

/// Class of an answer without an error code, which SNS itself never gives.
///
/// So it comes from something in between, or the endpoint is wrong, and no message is dead for
/// what they say, unless they find it too large.
pub fn classify_status(status: u16) -> AnswerClass {
    match status {
        401 | 403 => Credentials,
        408 => Ambiguous,
        413 => BatchTooLong,
        429 => Throttled,
        300..=499 => Destination,
        // An error of the server, or a success that could not be read.
        _ => Ambiguous,
    }
}

fn known(code: &str, text: &str) -> Option<AnswerClass> {
    // A bad or foreign topic has the code of a bad message: only the text tells them apart.
    let names_topic = ["TopicArn", "TargetArn"].iter().any(|name| text.contains(name));
    if code == "InvalidParameter" && names_topic {
        return Some(Destination);
    }
    CODES.iter().find(|(known, _)| *known == code).map(|(_, class)| *class)
}
