//! Headers keep what they were given.

use outbox_core::Headers;

fn headers() -> Headers {
    Headers::from_iter([("Zeta", "1"), ("alpha", "2"), ("zeta", "3"), ("Zeta", "4")])
}

#[test]
fn order_letter_case_and_repetition_are_kept() {
    let headers = headers();

    let pairs: Vec<_> = headers.iter().collect();
    assert_eq!(pairs, [("Zeta", "1"), ("alpha", "2"), ("zeta", "3"), ("Zeta", "4")]);
    assert_eq!(headers.len(), 4);
}

#[test]
fn a_name_finds_its_first_value_in_its_own_letter_case() {
    let headers = headers();

    assert_eq!(headers.value("Zeta"), Some("1"));
    assert_eq!(headers.value("zeta"), Some("3"));
    assert_eq!(headers.value("ZETA"), None);
}

#[test]
fn headers_are_stored_as_an_array_of_pairs() {
    let headers = Headers::from_iter([("b", "1"), ("A", "quote \" and \u{1F980}")]);

    let json = serde_json::to_string(&headers).unwrap();

    assert_eq!(json, "[[\"b\",\"1\"],[\"A\",\"quote \\\" and \u{1F980}\"]]");
    assert_eq!(serde_json::from_str::<Headers>(&json).unwrap(), headers);
}

#[test]
fn others_are_added_behind() {
    let mut headers = Headers::from_iter([("a", "1")]);

    headers.extend_from(&Headers::from_iter([("a", "2"), ("b", "3")]));
    headers.push("c", "4");

    let pairs: Vec<_> = headers.iter().collect();
    assert_eq!(pairs, [("a", "1"), ("a", "2"), ("b", "3"), ("c", "4")]);
}

#[test]
fn no_headers_are_empty() {
    assert!(Headers::new().is_empty());
    assert!(!headers().is_empty());
}

#[test]
fn debug_shows_names_and_no_values() {
    let headers = Headers::from_iter([("authorization", "t0ken")]);

    assert_eq!(format!("{headers:?}"), r#"["authorization"]"#);
}
