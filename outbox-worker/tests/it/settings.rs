//! Settings that cannot work are refused with the name of the key.

use std::time::Duration;

use outbox_core::Environment;
use outbox_worker::DispatcherSettings;

fn from(variables: &[(&str, &str)]) -> Result<DispatcherSettings, outbox_core::SettingsError> {
    let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    DispatcherSettings::from_environment(&Environment::new("SHOP_", owned))
}

#[test]
fn absent_variables_leave_the_defaults() {
    assert_eq!(from(&[("LEASE", "1s")]).unwrap(), DispatcherSettings::default());
}

#[test]
fn present_variables_are_taken() {
    let settings = from(&[
        ("SHOP_LEASE", "30s"),
        ("SHOP_CONCURRENCY", "100"),
        ("SHOP_SKIP_DEAD", "audit, mails,"),
    ])
    .unwrap();

    assert_eq!(settings.lease, Duration::from_secs(30));
    assert_eq!(settings.skip_dead, ["audit", "mails"]);
    assert_eq!(settings.concurrency.get(), 100);
}

#[test]
fn a_bad_value_names_its_variable_and_stays_hidden() {
    let error = from(&[("SHOP_LEASE", "hunter2")]).unwrap_err();

    assert_eq!(error.key(), "SHOP_LEASE");
    assert!(!error.to_string().contains("hunter2"), "{error}");
    assert_eq!(from(&[("SHOP_READERS", "0")]).unwrap_err().key(), "SHOP_READERS");
}

#[test]
fn times_and_sizes_that_cannot_work_are_refused() {
    for (variable, value) in [
        ("SHOP_LEASE", "5000000h"),
        ("SHOP_IDLE_POLL", "25h"),
        ("SHOP_HELD_BYTES", "0"),
        ("SHOP_PUBLISH_TIMEOUT", "0s"),
    ] {
        assert!(from(&[(variable, value)]).is_err(), "{variable}={value}");
    }
}

#[test]
fn a_publish_timeout_too_long_for_the_lease_is_refused() {
    let error = from(&[("SHOP_PUBLISH_TIMEOUT", "9s")]).unwrap_err();

    assert_eq!(error.key(), "publish_timeout");
    assert!(from(&[("SHOP_PUBLISH_TIMEOUT", "9s"), ("SHOP_LEASE", "16s")]).is_ok());
}
