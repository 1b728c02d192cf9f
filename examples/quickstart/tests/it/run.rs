//! A run that drives itself.

use std::process::Output;

use crate::quickstart;

#[test]
fn a_run_delivers_what_was_committed_and_nothing_else() {
    let output = quickstart(&[]).output().unwrap();

    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let last = last_line(&output);
    let counted = "delivered 35 of 35 committed events, 0 of 8 rolled back, ";
    assert!(last.starts_with(counted) && last.ends_with(" duplicates"), "{last}");
}

#[test]
fn a_run_needs_no_proxy() {
    let nowhere = "http://127.0.0.1:9";

    let output = quickstart(&[]).envs([("HTTP_PROXY", nowhere), ("http_proxy", nowhere)]).output();

    assert!(output.unwrap().status.success());
}

#[test]
fn a_run_without_an_answer_from_sns_fails_and_says_so() {
    let aws = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(|name| (name, "none"));

    let output = quickstart(&[])
        .envs([("AWS_ENDPOINT_URL", "http://127.0.0.1:9"), ("AWS_REGION", "us-east-1")])
        .envs(aws)
        .output()
        .unwrap();

    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("SNS did not create the topic"));
}

#[test]
fn a_database_url_is_never_shown_with_its_password() {
    for url in ["postgres://shop:hush@127.0.0.1:port/shop", "hush://shop"] {
        let output = quickstart(&[]).env("DATABASE_URL", url).output().unwrap();

        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert_eq!(output.status.code(), Some(1));
        assert!(said.contains("DATABASE_URL") && !said.contains("hush"), "{said}");
    }
}

fn last_line(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().to_owned()
}
