//! A shop that keeps running.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::quickstart;

#[test]
fn a_served_shop_says_first_where_it_listens_and_ends_well_on_a_signal() {
    let mut serving = Serving::start(&["--serve", "--port", "0"]);

    let first = serving.line();
    let (code, rest) = serving.terminate();

    assert!(first.starts_with("listening on http://127.0.0.1:"), "{first}");
    assert!(rest.contains("curl -i -X DELETE"), "{rest}");
    assert_eq!(code, Some(0));
}

#[test]
fn a_served_shop_says_at_its_end_what_was_delivered() {
    let mut serving = Serving::start(&["--serve", "--port", "0"]);
    let address = serving.line().trim_start_matches("listening on http://").to_owned();

    place_order(&address);
    serving.until("my-order-1");
    let (code, rest) = serving.terminate();

    assert_eq!(rest.lines().last(), Some("delivered 1 events, 0 duplicates"), "{rest}");
    assert_eq!(code, Some(0));
}

#[test]
fn a_shop_without_a_worker_says_how_to_start_one() {
    let mut serving = Serving::start(&["--serve", "--no-worker", "--port", "0"]);

    let first = serving.line();
    let (code, rest) = serving.terminate();

    assert!(first.starts_with("listening on http://127.0.0.1:"), "{first}");
    for part in ["DATABASE_URL=", "AWS_ENDPOINT_URL=", "OUTBOX_SNS__TOPIC_ARN_PREFIX="] {
        assert!(rest.contains(part), "{rest}");
    }
    assert!(rest.contains("cargo run -p outbox-worker -- run"), "{rest}");
    assert!(!rest.contains("delivered"), "{rest}");
    assert_eq!(code, Some(0));
}

fn place_order(address: &str) {
    let body = r#"{"customer":"ann","sku":"cup","quantity":2,"total":1800}"#;
    let mut connection = TcpStream::connect(address).unwrap();
    write!(
        connection,
        "POST /orders HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         x-correlation-id: my-order-1\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len(),
    )
    .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

/// A program that keeps running, and what it says. It is killed if the test fails.
struct Serving {
    program: Child,
    said: BufReader<ChildStdout>,
}

impl Serving {
    fn start(arguments: &[&str]) -> Self {
        let mut program = quickstart(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(program.stdout.take().unwrap());
        Self { program, said }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Reads up to a line with this text.
    fn until(&mut self, text: &str) {
        let line = self
            .said
            .by_ref()
            .lines()
            .find(|line| line.as_ref().is_ok_and(|line| line.contains(text)));
        assert!(line.is_some(), "the program ended without a line with `{text}`");
    }

    fn terminate(mut self) -> (Option<i32>, String) {
        let id = self.program.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        (self.program.wait().unwrap().code(), rest)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.program.kill();
    }
}
