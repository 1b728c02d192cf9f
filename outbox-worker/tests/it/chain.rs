//! An error with its causes, as logs and operators see it.

use outbox_worker::Chain;

#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Link {
    text: &'static str,
    source: Option<Box<Link>>,
}

/// The first text is caused by the second one, and so on.
fn linked(texts: &[&'static str]) -> Link {
    let [text, causes @ ..] = texts else { unreachable!("a chain has a first link") };
    let source = (!causes.is_empty()).then(|| Box::new(linked(causes)));
    Link { text, source }
}

#[test]
fn it_says_the_error_and_all_its_causes() {
    let error = linked(&["cannot read", "no connection", "refused"]);

    assert_eq!(Chain(&error).to_string(), "cannot read: no connection: refused");
}

#[test]
fn it_leaves_out_a_cause_that_was_already_said() {
    let error = linked(&["cannot read (refused)", "refused", "by port 5432"]);

    assert_eq!(Chain(&error).to_string(), "cannot read (refused): by port 5432");
}
