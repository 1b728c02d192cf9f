//! From an error of the SDK to a failure of ours.

use std::error::Error;
use std::time::Duration;

use aws_sdk_sns::config::http::HttpResponse;
use aws_sdk_sns::error::{ConnectorError, ProvideErrorMetadata, SdkError};
use outbox_core::{Failure, FailureKind};

use super::classify::{AnswerClass, classify_request};
use crate::chain::Chain;

/// An intermediary's nonsense must not put a message off for years.
const LONGEST_WAIT: Duration = Duration::from_mins(15);

const NO_CREDENTIALS: &str = "no AWS credentials were found: set AWS_ACCESS_KEY_ID and \
                              AWS_SECRET_ACCESS_KEY, or a profile, or give the host a role";

/// Why a whole request was not published.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) class: AnswerClass,
    code: Option<String>,
    text: String,
    retry_after: Option<Duration>,
}

impl Refusal {
    pub(crate) fn new<E>(error: &SdkError<E, HttpResponse>) -> Self
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        let (class, text) = match error {
            SdkError::ServiceError(answer) => of_answer(answer.err(), answer.raw()),
            SdkError::DispatchFailure(failure) => {
                failure.as_connector_error().map_or_else(lost, of_connector)
            }
            SdkError::ConstructionFailure(_) => (AnswerClass::Bug, Chain(error).to_string()),
            SdkError::ResponseError(_) | SdkError::TimeoutError(_) => {
                (AnswerClass::Ambiguous, Chain(error).to_string())
            }
            _ => lost(),
        };
        Self {
            class,
            code: error.code().map(str::to_owned),
            text,
            retry_after: error.raw_response().and_then(retry_after),
        }
    }

    /// A request that could not even be put together.
    pub(crate) fn unbuilt(error: &(dyn Error + 'static)) -> Self {
        Self {
            class: AnswerClass::Bug,
            code: None,
            text: Chain(error).to_string(),
            retry_after: None,
        }
    }

    /// What this means for each message of a request to the topic with this ARN.
    pub(crate) fn failure(&self, arn: &str) -> Failure {
        let mut failure = failure(self.class, self.code.as_deref(), &self.text, arn);
        failure.retry_after = self.retry_after;
        failure
    }
}

/// A failure of this class, with only the first line of what SNS says.
///
/// A fault of the destination names the topic's ARN: the record has only a name for it.
pub(crate) fn failure(class: AnswerClass, code: Option<&str>, text: &str, arn: &str) -> Failure {
    let line = first_line(text);
    let failure = match class.kind() {
        kind @ FailureKind::Destination if !line.contains(arn) => {
            Failure::new(kind, format!("topic {arn}: {line}").trim_end_matches(": "))
        }
        kind => Failure::new(kind, line),
    };
    match code {
        Some(code) => failure.with_code(code),
        None => failure,
    }
}

/// The first line, also of a text in which an error's debug form has escaped the line breaks.
///
/// The lines that follow in the refusal of a signature repeat the signed request, session token
/// included.
fn first_line(text: &str) -> &str {
    let text = text.trim_start();
    let line = text.lines().next().unwrap_or_default();
    line.split_once("\\n").map_or(line, |(first, _)| first)
}

fn of_answer(error: &impl ProvideErrorMetadata, answer: &HttpResponse) -> (AnswerClass, String) {
    let status = answer.status().as_u16();
    let text = error.message().unwrap_or_default();
    let class = classify_request(error.code(), status, text);
    match error.code() {
        Some(_) => (class, text.to_owned()),
        None => (class, format!("an answer of status {status} that SNS does not give")),
    }
}

/// Class of an error for which no answer came.
///
/// The SDK has one variant for credentials that could not be had, for a connection that could not
/// be made and for one that broke after the request was sent, so the words must tell.
fn of_connector(error: &ConnectorError) -> (AnswerClass, String) {
    if lacks_credentials(error) {
        return (AnswerClass::Credentials, NO_CREDENTIALS.to_owned());
    }
    let text = Chain(error).to_string();
    let says = |words: &str| text.contains(words);
    let nameless = error.is_other() && error.as_other().is_none();
    let class = if error.is_user() || says("No HTTP client") {
        AnswerClass::Bug
    } else if nameless && (says("credential") || says("identity") || says("auth scheme")) {
        // Before the connection: one to whoever has the credentials can fail too.
        AnswerClass::Credentials
    } else if says("(Connect)") {
        AnswerClass::Transient
    } else {
        AnswerClass::Ambiguous
    };
    (class, text)
}

/// Whether nobody is there to ask for credentials, or nobody who was asked has any.
fn lacks_credentials(error: &ConnectorError) -> bool {
    // Only the first cause counts: a role that cannot be assumed may have such a cause of its own.
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    cause == "the credential provider was not enabled" || cause.contains("no identity resolver")
}

fn lost() -> (AnswerClass, String) {
    (AnswerClass::Ambiguous, "no answer came".to_owned())
}

/// How long the answer asks to wait: in milliseconds from AWS, in seconds from others.
fn retry_after(answer: &HttpResponse) -> Option<Duration> {
    let number = |name: &str| answer.headers().get(name)?.trim().parse::<u64>().ok();
    let wait = number("x-amz-retry-after")
        .map(Duration::from_millis)
        .or_else(|| number("retry-after").map(Duration::from_secs))?;
    Some(wait.min(LONGEST_WAIT))
}
