use std::io;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use axum::http::{Response, StatusCode};
use futures_util::stream::{self, StreamExt};

use super::accepted::Answer;
use super::answer::{self, Document};
use super::journal::PendingAnswer;
use super::refusal::Refusal;

/// A response that is ready to go, and the journal entries that wait to hear of it.
#[derive(Debug)]
pub(crate) struct Reply {
    response: Response<Body>,
    pending: Option<(PendingAnswer, Answer)>,
}

impl Reply {
    pub(crate) fn xml(document: Document) -> Self {
        Self::from(document_response(StatusCode::OK, document))
    }

    pub(crate) fn refused(refusal: &Refusal) -> Self {
        // A test may script any number; one that is no status is the server's failure.
        let status =
            StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::from(document_response(status, answer::error(refusal)))
    }

    pub(crate) fn garbage() -> Self {
        Self::from(Response::new(Body::from("OK, and nothing that a client could parse")))
    }

    pub(crate) fn proxy_unavailable() -> Self {
        let page = "<html><body><h1>503 Service Unavailable</h1></body></html>";
        let mut response = Response::new(Body::from(page));
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
        Self::from(response)
    }

    /// No answer at all: the connection closes.
    pub(crate) fn dropped() -> Self {
        // A body that fails before its first byte makes the server close the socket before
        // it has written the head.
        Self::from(broken_response(Body::from_stream(stream::once(async { lost_connection() }))))
    }

    /// The connection closes after half of the document.
    pub(crate) fn broken_off(document: &Document) -> Self {
        let (first_half, _) = document.xml.as_bytes().split_at(document.xml.len() / 2);
        let first_half = Bytes::copy_from_slice(first_half);
        let body = stream::once(async { Ok(first_half) }).chain(stream::once(async {
            // The server writes out what it has only when the body keeps it waiting.
            tokio::task::yield_now().await;
            lost_connection()
        }));
        Self::from(broken_response(Body::from_stream(body)))
    }

    /// Notes `answer` in the journal when this reply goes out.
    pub(crate) fn concluding(mut self, pending: PendingAnswer, answer: Answer) -> Self {
        self.pending = Some((pending, answer));
        self
    }

    pub(crate) fn send(self) -> Response<Body> {
        if let Some((pending, answer)) = self.pending {
            pending.conclude(answer);
        }
        self.response
    }
}

impl From<Response<Body>> for Reply {
    fn from(response: Response<Body>) -> Self {
        Self { response, pending: None }
    }
}

fn document_response(status: StatusCode, document: Document) -> Response<Body> {
    let mut response = Response::new(Body::from(document.xml));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/xml"));
    if let Ok(request_id) = HeaderValue::try_from(document.request_id) {
        headers.insert("x-amzn-requestid", request_id);
    }
    response
}

fn broken_response(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    // More than will ever come, so that the end of the connection is not the end of the body.
    response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("65536"));
    response
}

fn lost_connection() -> io::Result<Bytes> {
    Err(io::Error::from(io::ErrorKind::ConnectionAborted))
}
