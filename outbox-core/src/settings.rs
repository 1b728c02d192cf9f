//! Reading settings from the environment, when asked to.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

/// A setting that cannot be used. It names the key and never the value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("setting {key} must be {wanted}")]
pub struct SettingsError {
    key: String,
    wanted: &'static str,
}

impl SettingsError {
    /// The value of `key` is not what is `wanted`.
    pub fn new(key: impl Into<String>, wanted: &'static str) -> Self {
        Self { key: key.into(), wanted }
    }

    /// The setting's name as the user wrote it.
    pub fn key(&self) -> &str {
        &self.key
    }
}

/// Variables under one prefix.
///
/// No library of this project reads the environment by itself; a `from_env(prefix)` that is called
/// explicitly does, through this type.
#[derive(Clone, Default)]
pub struct Environment {
    prefix: String,
    variables: BTreeMap<String, String>,
}

impl Environment {
    /// The variables of this process that begin with `prefix`.
    pub fn process(prefix: &str) -> Self {
        let own = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            Some((name, value.to_string_lossy().into_owned()))
        });
        Self::new(prefix, own)
    }

    /// Supplied variables; those without the prefix are left out.
    pub fn new(prefix: &str, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let variables =
            variables.into_iter().filter(|(name, _)| name.starts_with(prefix)).collect();
        Self { prefix: prefix.to_owned(), variables }
    }

    /// The text of a variable, named without the prefix.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(&self.key(name)).map(String::as_str)
    }

    /// A parsed value, `None` if the variable is absent.
    ///
    /// # Errors
    /// [`SettingsError`] if it is present and does not parse.
    pub fn parsed<T: FromStr>(
        &self,
        name: &str,
        wanted: &'static str,
    ) -> Result<Option<T>, SettingsError> {
        let parse = |text: &str| text.trim().parse().map_err(|_| self.refuse(name, wanted));
        self.text(name).map(parse).transpose()
    }

    /// Overwrites `target` if the variable is present, and says whether it was.
    ///
    /// # Errors
    /// [`SettingsError`] if it is present and is no duration above zero.
    pub fn duration(&self, name: &str, target: &mut Duration) -> Result<bool, SettingsError> {
        let Some(text) = self.text(name) else { return Ok(false) };
        *target = duration(text)
            .filter(|duration| !duration.is_zero())
            .ok_or_else(|| self.refuse(name, "a duration like 500ms, 30s, 5m or 2h"))?;
        Ok(true)
    }

    /// Overwrites `target` with the names between the commas, if the variable is present.
    pub fn list(&self, name: &str, target: &mut Vec<String>) {
        if let Some(text) = self.text(name) {
            let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
            *target = names.map(str::to_owned).collect();
        }
    }

    /// The error for a variable, named without the prefix.
    pub fn refuse(&self, name: &str, wanted: &'static str) -> SettingsError {
        SettingsError::new(self.key(name), wanted)
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

/// Names only: a value may be a secret.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let seconds = |factor: u64| number.checked_mul(factor).map(Duration::from_secs);
    match unit.trim() {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" | "min" => seconds(60),
        "h" => seconds(3600),
        "d" => seconds(86_400),
        _ => None,
    }
}
