//! Reading the settings from file and environment.
//!
//! An error names the key and never shows a value: a value may be a secret.

use std::collections::HashMap;
use std::path::Path;

use config::{Config, Environment, File, FileFormat};
use toml::Table;

use crate::exit_reason::ExitReason;
use crate::known;
use crate::settings::Settings;

const PREFIX: &str = "OUTBOX_";
/// Variables with our prefix that are no settings of the worker.
const OTHERS: [&str; 2] = ["OUTBOX_CONFIG", "OUTBOX_TEST_"];

/// Settings from this file, if one is named, overridden by the environment.
pub(crate) fn load(file: Option<&Path>) -> Result<Settings, ExitReason> {
    let mut builder = Config::builder();
    if let Some(path) = file {
        builder = builder.add_source(File::from_str(&read(path)?, FileFormat::Toml));
    }
    let variables = Environment::with_prefix("OUTBOX")
        .prefix_separator("_")
        .separator("__")
        .try_parsing(true)
        .list_separator(",")
        .with_list_parse_key("dispatcher.skip_dead")
        .with_list_parse_key("sns.filter_headers")
        .source(Some(variables(std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        }))));
    let merged = builder.add_source(variables).build().and_then(Config::try_deserialize);
    let merged: Table = merged
        .map_err(|_| ExitReason::plain("settings: file and environment do not fit together"))?;
    let mut settings: Settings = serde_path_to_error::deserialize(merged.clone())
        .map_err(|error| explain(&merged, &error.path().to_string(), error.inner().message()))?;
    // The environment wins over the file here too; our own variable over the customary one.
    if std::env::var_os("OUTBOX_DATABASE_URL").is_none()
        && let Ok(url) = std::env::var("DATABASE_URL")
    {
        settings.database_url = Some(url.into());
    }
    settings.dispatcher.check().map_err(|error| ExitReason::new("dispatcher settings", error))?;
    Ok(settings)
}

fn read(path: &Path) -> Result<String, ExitReason> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| ExitReason::new(format!("settings file {shown} cannot be read"), error))?;
    match toml::from_str::<Table>(&text) {
        Ok(_) => Ok(text),
        Err(error) => {
            let before = error.span().map_or(0, |span| span.start).min(text.len());
            let line = text.get(..before).unwrap_or_default().lines().count().max(1);
            Err(ExitReason::plain(format!(
                "settings file {shown} is not valid TOML at line {line}"
            )))
        }
    }
}

/// Our variables, without those that Kubernetes makes for a service of the same name.
fn variables(all: impl Iterator<Item = (String, String)>) -> HashMap<String, String> {
    let made_for_service = |name: &str| {
        name.ends_with("_SERVICE_HOST")
            || name.contains("_SERVICE_PORT")
            || name.contains("_PORT_")
            || name.ends_with("_PORT")
    };
    all.filter(|(name, _)| name.starts_with(PREFIX))
        .filter(|(name, _)| !OTHERS.iter().any(|other| name.starts_with(other)))
        .filter(|(name, _)| !made_for_service(name))
        .collect()
}

/// Says what is wanted, and nothing of what was found.
fn explain(found: &Table, path: &str, error: &str) -> ExitReason {
    if error.starts_with("unknown field") {
        return unknown(&whole(found, path));
    }
    let wanted = match error.rsplit_once(", expected ") {
        Some((_, "a duration")) => "must be a duration like 500ms, 15s or 5m".to_owned(),
        Some((_, wanted)) if wanted.starts_with("struct ") || wanted == "a map" => {
            let first = known::names(path).into_iter().next();
            let example = first.unwrap_or_else(|| "name".to_owned());
            format!("is a section: set {} and the like", variable(&format!("{path}.{example}")))
        }
        Some((_, "usize")) => "must be a whole number".to_owned(),
        Some((_, wanted)) if wanted.starts_with("a nonzero ") => {
            "must be a whole number above zero".to_owned()
        }
        Some((_, wanted)) => format!("must be {wanted}"),
        None => "has a value that cannot be used".to_owned(),
    };
    ExitReason::plain(format!("settings: {} {wanted}", both(path)))
}

/// A setting that does not exist, with the one that was meant or those that there are.
fn unknown(key: &str) -> ExitReason {
    let cure = match (known::meant(key), known::section(key)) {
        (Some(meant), _) => format!("did you mean {}?", both(&meant)),
        (None, Some(section)) => {
            let aws = if section == "sns" { "; AWS_REGION and the like are AWS's own" } else { "" };
            format!("{section} has {}{aws}", known::names(section).join(", "))
        }
        (None, None) => format!("there are {}", known::names("").join(", ")),
    };
    ExitReason::plain(format!("unknown setting {}: {cure}", both(key)))
}

/// The whole key where only a section of it was looked at, as it was not known either.
fn whole(found: &Table, path: &str) -> String {
    let mut key = path.to_owned();
    let mut at = path.split('.').try_fold(found, |table, part| table.get(part)?.as_table());
    while let Some((part, value)) = at.and_then(|table| table.iter().next()) {
        key = format!("{key}.{part}");
        at = value.as_table();
    }
    key
}

/// A key as a file and as the environment name it.
pub(crate) fn both(key: &str) -> String {
    format!("{key} ({})", variable(key))
}

/// The variable that sets this key.
fn variable(path: &str) -> String {
    format!("{PREFIX}{}", path.replace('.', "__").to_uppercase())
}
