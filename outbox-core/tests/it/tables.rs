//! Names of the tables.

use outbox_core::TableNames;

#[test]
fn the_default_is_the_connections_schema_and_a_prefix() {
    let names = TableNames::default();

    assert_eq!(names.schema(), None);
    assert_eq!(names.prefix(), "outbox_");
    assert_eq!(names.identifier("message"), "outbox_message");
    assert_eq!(names.quoted("message", '"'), "\"outbox_message\"");
}

#[test]
fn a_schema_qualifies_every_name() {
    let names = TableNames::new(Some("sales"), "").unwrap();

    assert_eq!(names.schema(), Some("sales"));
    assert_eq!(names.identifier("message"), "message");
    assert_eq!(names.quoted("message", '`'), "`sales`.`message`");
}

#[test]
fn letter_case_and_punctuation_are_kept() {
    let names = TableNames::new(Some("Sales.EU"), "My-Outbox ").unwrap();

    assert_eq!(names.quoted("message", '"'), "\"Sales.EU\".\"My-Outbox message\"");
}

#[test]
fn a_quote_within_a_name_does_not_end_it() {
    let names = TableNames::new(Some("a\"b`c"), "d\"e`f").unwrap();

    assert_eq!(names.quoted("g", '"'), "\"a\"\"b`c\".\"d\"\"e`fg\"");
    assert_eq!(names.quoted("g", '`'), "`a\"b``c`.`d\"e``fg`");
}

#[test]
fn a_name_takes_the_bytes_that_every_database_keeps() {
    let (schema, prefix) = ("s".repeat(63), "ü".repeat(19) + "p");

    let names = TableNames::new(Some(&schema), &prefix).unwrap();

    assert_eq!(prefix.len(), 39);
    // The longest word behind the prefix has 24 bytes.
    assert_eq!(names.identifier(&"w".repeat(24)).len(), 63);
}

#[test]
fn a_longer_schema_is_refused() {
    let error = TableNames::new(Some(&"ü".repeat(32)), "outbox_").unwrap_err();

    assert_eq!(error.to_string(), "setting schema must be 1 to 63 bytes without NUL");
}

#[test]
fn a_longer_prefix_is_refused() {
    let error = TableNames::new(None, &"ü".repeat(20)).unwrap_err();

    assert_eq!(error.to_string(), "setting prefix must be at most 39 bytes without NUL");
}

#[test]
fn an_empty_schema_is_refused() {
    assert_eq!(TableNames::new(Some(""), "outbox_").unwrap_err().key(), "schema");
}

#[test]
fn a_nul_is_refused() {
    assert_eq!(TableNames::new(Some("sa\0les"), "outbox_").unwrap_err().key(), "schema");
    assert_eq!(TableNames::new(Some("sales"), "outbox\0_").unwrap_err().key(), "prefix");
}
