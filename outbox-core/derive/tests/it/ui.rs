//! What a user is told about each mistake.

#[test]
fn every_mistake_is_explained_where_it_stands() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
