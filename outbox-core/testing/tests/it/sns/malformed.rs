//! What no SDK would send.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use outbox_testing::sns::SnsStub;

use super::soon;

pub(super) const FORM: &str = "application/x-www-form-urlencoded";

#[tokio::test]
async fn a_request_that_is_no_form_is_malformed() {
    let stub = SnsStub::start().await.unwrap();

    let answer = send(stub.address(), "application/json", "{}".to_owned()).await;

    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(answer.contains("<Code>MalformedQueryString</Code>"), "{answer}");
}

#[tokio::test]
async fn a_form_without_an_action_is_an_invalid_action() {
    let stub = SnsStub::start().await.unwrap();

    let answer = send(stub.address(), FORM, "Version=2010-03-31".to_owned()).await;

    assert!(answer.contains("<Code>InvalidAction</Code>"), "{answer}");
}

#[tokio::test]
async fn an_endlessly_nested_name_does_no_harm() {
    let stub = SnsStub::start().await.unwrap();
    let name = "a.".repeat(1_000_000);

    let answer = send(stub.address(), FORM, format!("Action=Publish&{name}=1")).await;

    assert!(answer.contains("<Code>InvalidParameter</Code>"), "{answer}");
}

#[tokio::test]
async fn an_action_that_is_unknown_is_named_with_its_markup_escaped() {
    let stub = SnsStub::start().await.unwrap();

    let answer = send(stub.address(), FORM, "Action=%3Cscript%3E%0D".to_owned()).await;

    assert!(answer.contains("The action &lt;script&gt;&#xD; is not valid"), "{answer}");
}

async fn send(address: SocketAddr, content_type: &'static str, body: String) -> String {
    send_with(address, "", content_type, body).await
}

/// `head` holds more lines of the head, each with its end.
pub(super) async fn send_with(
    address: SocketAddr,
    head: &'static str,
    content_type: &'static str,
    body: String,
) -> String {
    let exchange = move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let length = body.len();
        write!(
            stream,
            "POST / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
             content-type: {content_type}\r\ncontent-length: {length}\r\n{head}\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    soon(tokio::task::spawn_blocking(exchange)).await.unwrap()
}
