//! What an operator reads about a failed send.

use outbox_core::{Failure, FailureKind};

fn summary(text: &str) -> String {
    Failure::new(FailureKind::Transient, text).summary().to_owned()
}

#[test]
fn control_characters_become_spaces() {
    assert_eq!(summary("one\ntwo\r\n\x1b[31mthree\0four\u{85}"), "one two   [31mthree four");
}

#[test]
fn surrounding_blanks_are_dropped() {
    assert_eq!(summary("\0 \t refused \u{7}\n"), "refused");
}

#[test]
fn a_summary_is_never_empty() {
    for text in ["", "  ", "\n\t", "\0", "\u{7} \u{1b}"] {
        assert_eq!(summary(text), "transient", "{text:?}");
    }
    assert_eq!(Failure::new(FailureKind::Message, "").summary(), "message");
}

#[test]
fn a_summary_of_the_longest_length_stays_whole() {
    let text = "x".repeat(Failure::SUMMARY);

    assert_eq!(summary(&text), text);
    assert_eq!(summary(&(text.clone() + "y")), text);
}

#[test]
fn a_long_summary_is_cut_between_characters() {
    // Four bytes each, shifted by one: the cut would fall into a character.
    let text = format!("x{}", "\u{1F980}".repeat(600));

    let summary = summary(&text);

    assert_eq!(summary.len(), 1 + 4 * 511);
    assert!(text.starts_with(&summary));
}

#[test]
fn it_shows_kind_code_and_summary() {
    let failure = Failure::new(FailureKind::Destination, "no such topic");
    assert_eq!(failure.to_string(), "destination: no such topic");

    let failure = failure.with_code("NotFound");
    assert_eq!(failure.to_string(), "destination: NotFound: no such topic");
}

#[test]
fn every_kind_has_a_word_of_its_own() {
    use FailureKind::{Ambiguous, Credentials, Destination, Message, Throttled, Transient};

    let words = [Ambiguous, Credentials, Destination, Message, Throttled, Transient]
        .map(FailureKind::as_str);

    let expected = ["ambiguous", "credentials", "destination", "message", "throttled", "transient"];
    assert_eq!(words, expected);
}
