//! Endpoints for the SNS publisher, and clients that reach them.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use aws_config::{Region, SdkConfig};
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_sns::Client;
use aws_sdk_sns::config::Credentials;
use outbox_testing::sns::SnsStub;
use outbox_worker::publisher::sns::{ClientTimeouts, SnsPublisher, SnsTopics, client};

/// Long enough for every answer that comes, on a busy machine too.
pub(crate) const PATIENT: ClientTimeouts = ClientTimeouts {
    connect: Duration::from_secs(20),
    attempt: Duration::from_secs(20),
    operation: Duration::from_secs(20),
};
/// For answers that never come.
pub(crate) const HASTY: ClientTimeouts = ClientTimeouts {
    connect: Duration::from_millis(300),
    attempt: Duration::from_millis(300),
    operation: Duration::from_millis(600),
};

pub(crate) fn config(endpoint: &str) -> SdkConfig {
    let credentials = Credentials::new("AKIDTEST", "secret", None, None, "test");
    SdkConfig::builder()
        .region(Region::new("us-east-1"))
        .endpoint_url(endpoint)
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .build()
}

pub(crate) fn client_of(endpoint: &str, timeouts: ClientTimeouts) -> Client {
    client(&config(endpoint), timeouts).unwrap()
}

/// A stub with the topics `orders`, `stock` and `orders.fifo`.
pub(crate) async fn stub() -> SnsStub {
    SnsStub::builder().topic("orders").topic("stock").topic("orders.fifo").start().await.unwrap()
}

/// The topics of account and region that stubs have.
pub(crate) fn topics(stub: &SnsStub) -> SnsTopics {
    let arn = stub.topic_arn("orders");
    SnsTopics::new().under(arn.strip_suffix("orders").unwrap()).unwrap()
}

pub(crate) fn publisher(stub: &SnsStub, timeouts: ClientTimeouts) -> SnsPublisher {
    SnsPublisher::new(client_of(&stub.endpoint_url(), timeouts), topics(stub))
        .with_time_limit(PATIENT.operation)
}

/// An HTTP server whose answers a test writes out itself.
///
/// It hands the text of each request to `answer` and sends what comes back; for `None` it closes
/// the connection. It ends with the process.
pub(crate) fn answering(answer: impl Fn(&str) -> Option<String> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            // A client that hangs up is its own business.
            let _ = stream.and_then(|stream| serve(stream, &answer));
        }
    });
    address
}

/// A server that resets each connection: it closes it with a request in it that nobody has read.
pub(crate) fn resetting() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut first = [0];
            let _ = stream.peek(&mut first);
        }
    });
    address
}

pub(crate) fn publisher_at(address: SocketAddr) -> SnsPublisher {
    let topics = SnsTopics::new().under("arn:aws:sns:us-east-1:000000000000:").unwrap();
    SnsPublisher::new(client_of(&format!("http://{address}"), PATIENT), topics)
        .with_time_limit(PATIENT.operation)
}

/// An answer with this status, further head lines and body.
pub(crate) fn response(status: u16, head: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} Status\r\n{head}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn serve(mut stream: TcpStream, answer: impl Fn(&str) -> Option<String>) -> io::Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !is_complete(&request) {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        request.extend_from_slice(&buffer[..read]);
    }
    match answer(&String::from_utf8_lossy(&request)) {
        Some(answer) => stream.write_all(answer.as_bytes()),
        None => Ok(()),
    }
}

fn is_complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    length.is_some_and(|length| body.len() >= length.trim().parse().unwrap_or(0))
}
