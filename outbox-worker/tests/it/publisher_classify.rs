//! Who is at fault, row by row.

use outbox_core::FailureKind;
use outbox_worker::publisher::sns::AnswerClass::{
    self, Ambiguous, BatchShape, BatchTooLong, Bug, Credentials, Destination, Message, Throttled,
    Transient,
};
use outbox_worker::publisher::sns::{classify_entry, classify_request, classify_status};

/// Wire code, the status SNS sends it with, and the class.
const CODES: &[(&str, u16, AnswerClass)] = &[
    ("Throttled", 429, Throttled),
    ("Throttling", 400, Throttled),
    ("ThrottlingException", 400, Throttled),
    ("ThrottledException", 429, Throttled),
    ("RequestThrottled", 400, Throttled),
    ("RequestThrottledException", 400, Throttled),
    ("TooManyRequestsException", 429, Throttled),
    ("RequestLimitExceeded", 503, Throttled),
    ("SlowDown", 503, Throttled),
    ("LimitExceededException", 400, Throttled),
    ("BandwidthLimitExceeded", 509, Throttled),
    ("KMSThrottling", 400, Throttled),
    ("KMSThrottlingException", 400, Throttled),
    ("ServiceUnavailable", 503, Transient),
    ("ServiceUnavailableException", 503, Transient),
    ("InternalError", 500, Ambiguous),
    ("InternalFailure", 500, Ambiguous),
    ("InternalErrorException", 500, Ambiguous),
    ("RequestTimeout", 408, Ambiguous),
    ("RequestTimeoutException", 400, Ambiguous),
    ("ExpiredToken", 403, Credentials),
    ("ExpiredTokenException", 400, Credentials),
    ("RequestExpired", 400, Credentials),
    ("InvalidClientTokenId", 403, Credentials),
    ("UnrecognizedClientException", 400, Credentials),
    ("SignatureDoesNotMatch", 403, Credentials),
    ("InvalidSignatureException", 400, Credentials),
    ("IncompleteSignature", 400, Credentials),
    ("MissingAuthenticationToken", 403, Credentials),
    ("AuthFailure", 401, Credentials),
    ("RequestTimeTooSkewed", 403, Credentials),
    ("OptInRequired", 403, Credentials),
    ("InvalidSecurity", 403, Credentials),
    ("InvalidAccessKeyId", 403, Credentials),
    ("NotFound", 404, Destination),
    ("AuthorizationError", 403, Destination),
    ("AccessDenied", 403, Destination),
    ("AccessDeniedException", 400, Destination),
    ("EndpointDisabled", 400, Destination),
    ("PlatformApplicationDisabled", 400, Destination),
    ("KMSAccessDenied", 400, Destination),
    ("KMSDisabled", 400, Destination),
    ("KMSInvalidState", 400, Destination),
    ("KMSNotFound", 400, Destination),
    ("KMSOptInRequired", 403, Destination),
    ("InvalidParameter", 400, Message),
    ("ParameterValueInvalid", 400, Message),
    ("InvalidParameterValue", 400, Message),
    ("ValidationError", 400, Message),
    ("ValidationException", 400, Message),
    ("BatchRequestTooLong", 400, BatchTooLong),
    ("TooManyEntriesInBatchRequest", 400, BatchShape),
    ("BatchEntryIdsNotDistinct", 400, BatchShape),
    ("InvalidBatchEntryId", 400, BatchShape),
    ("EmptyBatchRequest", 400, BatchShape),
    ("InvalidAction", 400, Bug),
    ("MalformedQueryString", 404, Bug),
    ("MissingAction", 400, Bug),
    ("MissingParameter", 400, Bug),
    ("MalformedInput", 400, Bug),
];

#[test]
fn each_code_has_its_class_in_requests_and_entries() {
    for &(code, status, class) in CODES {
        assert_eq!(classify_request(Some(code), status, "text"), class, "request {code}");
        for sender_fault in [true, false] {
            assert_eq!(classify_entry(code, sender_fault, "text"), class, "entry {code}");
        }
    }
}

#[test]
fn a_status_without_a_code_has_its_class() {
    let rows = [
        (200, Ambiguous),
        (204, Ambiguous),
        (301, Destination),
        (307, Destination),
        (400, Destination),
        (401, Credentials),
        (403, Credentials),
        (404, Destination),
        (405, Destination),
        (407, Destination),
        (408, Ambiguous),
        (413, BatchTooLong),
        (429, Throttled),
        (451, Destination),
        (500, Ambiguous),
        (502, Ambiguous),
        (503, Ambiguous),
        (504, Ambiguous),
        (599, Ambiguous),
    ];
    for (status, class) in rows {
        assert_eq!(classify_status(status), class, "status {status}");
        assert_eq!(classify_request(None, status, "text"), class, "request of {status}");
    }
}

#[test]
fn an_unknown_code_is_judged_by_its_status() {
    let rows = [
        (400, Message),
        (403, Credentials),
        (404, Destination),
        (429, Throttled),
        (500, Ambiguous),
        (503, Ambiguous),
    ];
    for (status, class) in rows {
        assert_eq!(classify_request(Some("NeverHeardOf"), status, "text"), class, "{status}");
    }
}

#[test]
fn a_bad_parameter_that_names_the_topic_is_no_fault_of_the_message() {
    let texts = [
        "Invalid parameter: TopicArn",
        "Invalid parameter: TopicArn Reason: An ARN must have at least 6 elements, not 1",
        "Invalid parameter: TargetArn Reason: no value for required parameter",
    ];
    for text in texts {
        assert_eq!(classify_request(Some("InvalidParameter"), 400, text), Destination, "{text}");
        assert_eq!(classify_entry("InvalidParameter", true, text), Destination, "{text}");
    }
    let message = "Invalid parameter: Message too long";
    assert_eq!(classify_request(Some("InvalidParameter"), 400, message), Message);
}

#[test]
fn the_flag_decides_only_about_entries_of_unknown_codes() {
    assert_eq!(classify_entry("NeverHeardOf", true, "text"), Message);
    assert_eq!(classify_entry("NeverHeardOf", false, "text"), Ambiguous);
}

#[test]
fn each_class_has_its_kind_and_only_bad_messages_split_a_request() {
    let rows = [
        (Ambiguous, FailureKind::Ambiguous, false),
        (BatchShape, FailureKind::Destination, true),
        (BatchTooLong, FailureKind::Message, true),
        (Bug, FailureKind::Destination, false),
        (Credentials, FailureKind::Credentials, false),
        (Destination, FailureKind::Destination, false),
        (Message, FailureKind::Message, true),
        (Throttled, FailureKind::Throttled, false),
        (Transient, FailureKind::Transient, false),
    ];
    for (class, kind, splits) in rows {
        assert_eq!(class.kind(), kind, "{class:?}");
        assert_eq!(class.splits(), splits, "{class:?}");
    }
}
