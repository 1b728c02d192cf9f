//! The publisher that only logs.

use std::io;
use std::sync::{Arc, Mutex};

use outbox_core::Publisher;
use outbox_worker::publisher::LogPublisher;

use crate::publisher_fixture::{ID, message};

/// Collects what is logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn it_logs_who_and_where_but_neither_payload_nor_headers() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber =
        tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false).finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let mut message = message(r#"{"card":"4111-secret"}"#);
    message.headers.push("authorization", "Bearer hidden");

    let outcomes = LogPublisher.publish(&[message]).await;

    assert!(outcomes[0].is_ok());
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    for shown in [ID, "orders.placed", "topic=\"orders\""] {
        assert!(text.contains(shown), "{shown} is missing in {text}");
    }
    for hidden in ["4111", "Bearer"] {
        assert!(!text.contains(hidden), "{hidden} is in {text}");
    }
}
