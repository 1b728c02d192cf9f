//! From an error of the SDK to a failure of ours.

use std::error::Error;
use std::time::Duration;

use aws_sdk_sns::config::http::HttpResponse;
use aws_sdk_sns::error::{ConnectorError, ProvideErrorMetadata, SdkError};
use outbox_core::Failure;

use super::classify::{AnswerClass, classify_request};

/// An intermediary's nonsense must not put a message off for years.
const LONGEST_WAIT: Duration = Duration::from_mins(15);

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
            SdkError::ConstructionFailure(_) => (AnswerClass::Bug, chain(error)),
            SdkError::ResponseError(_) | SdkError::TimeoutError(_) => {
                (AnswerClass::Ambiguous, chain(error))
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
        Self { class: AnswerClass::Bug, code: None, text: chain(error), retry_after: None }
    }

    /// What this means for each message of the request.
    pub(crate) fn failure(&self) -> Failure {
        let mut failure = failure(self.class, self.code.as_deref(), &self.text);
        failure.retry_after = self.retry_after;
        failure
    }
}

/// A failure of this class, with only the first line of what SNS says.
///
/// The lines that follow in the refusal of a signature repeat the signed request, session token
/// included.
pub(crate) fn failure(class: AnswerClass, code: Option<&str>, text: &str) -> Failure {
    let failure = Failure::new(class.kind(), text.lines().next().unwrap_or_default());
    match code {
        Some(code) => failure.with_code(code),
        None => failure,
    }
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
    let text = chain(error);
    let says = |words: &str| text.contains(words);
    let class = if error.is_user() || says("No HTTP client") {
        AnswerClass::Bug
    } else if says("(Connect)") {
        AnswerClass::Transient
    } else if error.is_other()
        && error.as_other().is_none()
        && (says("credential") || says("identity") || says("auth scheme"))
    {
        AnswerClass::Credentials
    } else {
        AnswerClass::Ambiguous
    };
    (class, text)
}

fn lost() -> (AnswerClass, String) {
    (AnswerClass::Ambiguous, "no answer came".to_owned())
}

/// What the error and its causes say, without what a cause merely repeats.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = error.source();
    }
    text
}

/// How long the answer asks to wait: in milliseconds from AWS, in seconds from others.
fn retry_after(answer: &HttpResponse) -> Option<Duration> {
    let number = |name: &str| answer.headers().get(name)?.trim().parse::<u64>().ok();
    let wait = number("x-amz-retry-after")
        .map(Duration::from_millis)
        .or_else(|| number("retry-after").map(Duration::from_secs))?;
    Some(wait.min(LONGEST_WAIT))
}
