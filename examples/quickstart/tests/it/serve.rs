//! A shop that keeps running.

use std::io::{BufRead, BufReader, Read};
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
fn a_shop_without_a_worker_says_how_to_start_one() {
    let mut serving = Serving::start(&["--serve", "--no-worker", "--port", "0"]);

    let first = serving.line();
    let (code, rest) = serving.terminate();

    assert!(first.starts_with("listening on http://127.0.0.1:"), "{first}");
    for part in ["DATABASE_URL=", "AWS_ENDPOINT_URL=", "OUTBOX_SNS__TOPIC_ARN_PREFIX="] {
        assert!(rest.contains(part), "{rest}");
    }
    assert!(rest.contains("cargo run -p outbox-worker -- run"), "{rest}");
    assert_eq!(code, Some(0));
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
