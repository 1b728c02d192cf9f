//! Settings from the environment.

use std::num::NonZeroU32;
use std::time::Duration;

use outbox_core::{Environment, ExponentialBackoff};

fn environment<const N: usize>(variables: [(&str, &str); N]) -> Environment {
    let owned = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Environment::new("APP_RETRY_", owned)
}

#[test]
fn an_absent_variable_leaves_the_default() {
    let backoff = ExponentialBackoff::from_environment(&environment([])).unwrap();

    assert_eq!(backoff, ExponentialBackoff::default());
    assert_eq!(backoff.base, Duration::from_millis(500));
    assert_eq!(backoff.cap, Duration::from_secs(300));
    assert_eq!(backoff.max_attempts, NonZeroU32::new(20));
    assert_eq!(backoff.max_age, None);
}

#[test]
fn a_variable_that_is_there_is_taken() {
    let backoff = ExponentialBackoff::from_environment(&environment([
        ("APP_RETRY_BASE", "250ms"),
        ("APP_RETRY_CAP", "10m"),
        ("APP_RETRY_MAX_ATTEMPTS", "5"),
        ("APP_RETRY_MAX_AGE", "2d"),
    ]))
    .unwrap();

    assert_eq!(backoff.base, Duration::from_millis(250));
    assert_eq!(backoff.cap, Duration::from_secs(600));
    assert_eq!(backoff.max_attempts, NonZeroU32::new(5));
    assert_eq!(backoff.max_age, Some(Duration::from_secs(172_800)));
}

#[test]
fn a_variable_of_another_prefix_is_not_seen() {
    let environment = environment([("OTHER_RETRY_BASE", "1s"), ("BASE", "1s")]);

    let backoff = ExponentialBackoff::from_environment(&environment).unwrap();

    assert_eq!(backoff, ExponentialBackoff::default());
    assert_eq!(format!("{environment:?}"), "{}");
}

#[test]
fn a_bad_value_is_refused_by_its_key_and_never_shown() {
    for name in ["BASE", "CAP", "MAX_ATTEMPTS", "MAX_AGE"] {
        let key = format!("APP_RETRY_{name}");
        let environment = environment([(&key, "hunter2")]);

        let error = ExponentialBackoff::from_environment(&environment).unwrap_err();

        assert_eq!(error.key(), key);
        assert!(error.to_string().starts_with(&format!("setting {key} must be ")), "{error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
}

#[test]
fn a_number_of_attempts_is_not_zero() {
    let environment = environment([("APP_RETRY_MAX_ATTEMPTS", "0")]);

    let error = ExponentialBackoff::from_environment(&environment).unwrap_err();

    assert_eq!(error.to_string(), "setting APP_RETRY_MAX_ATTEMPTS must be a number from 1");
}

fn duration(text: &str) -> Option<Duration> {
    let mut target = Duration::MAX;
    match environment([("APP_RETRY_BASE", text)]).duration("BASE", &mut target) {
        Ok(set) => set.then_some(target),
        Err(_) => None,
    }
}

#[test]
fn a_duration_is_a_number_with_its_unit() {
    let durations = ["7ms", "7s", " 7 s ", "7m", "7min", "7h", "7d"].map(duration);

    let expected = [7, 7_000, 7_000, 420_000, 420_000, 25_200_000, 604_800_000];
    assert_eq!(durations, expected.map(|milliseconds| Some(Duration::from_millis(milliseconds))));
}

#[test]
fn anything_else_is_no_duration() {
    let endless = format!("{}d", u64::MAX);
    for text in ["", "7", "s", "-7s", "7.5s", "7 weeks", "7s 5ms", "0s", "0ms", &endless] {
        assert_eq!(duration(text), None, "{text:?}");
    }
}

#[test]
fn a_duration_that_is_refused_leaves_the_target() {
    let mut target = Duration::from_secs(3);

    environment([("APP_RETRY_BASE", "soon")]).duration("BASE", &mut target).unwrap_err();

    assert_eq!(target, Duration::from_secs(3));
}

#[test]
fn an_absent_duration_is_reported_and_leaves_the_target() {
    let mut target = Duration::from_secs(3);

    let set = environment([]).duration("BASE", &mut target).unwrap();

    assert!(!set);
    assert_eq!(target, Duration::from_secs(3));
}

#[test]
fn debug_shows_names_and_no_values() {
    let environment = environment([("APP_RETRY_BASE", "hunter2")]);

    assert_eq!(format!("{environment:?}"), r#"{"APP_RETRY_BASE"}"#);
    assert_eq!(environment.text("BASE"), Some("hunter2"));
}

#[test]
fn the_process_gives_its_own_variables() {
    // Set by the build tool for every test.
    let environment = Environment::process("CARGO_MANIFEST_");

    assert_eq!(environment.text("DIR"), Some(env!("CARGO_MANIFEST_DIR")));
}

#[test]
fn a_process_without_the_variables_gets_the_defaults() {
    let backoff = ExponentialBackoff::from_env("OUTBOX_CORE_NOBODY_SETS_THIS_").unwrap();

    assert_eq!(backoff, ExponentialBackoff::default());
}
