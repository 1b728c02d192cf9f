//! The names of the settings, and which of them somebody may have meant.

use serde::Deserialize;
use toml::{Table, Value};

use crate::settings::Settings;

/// A name that no setting has.
const NOBODY: &str = "?";

/// The setting that this key resembles: the same letters with dots and underscores elsewhere, or a
/// few letters off.
pub(crate) fn meant(key: &str) -> Option<String> {
    let wanted = letters(key);
    let distance = |name: &String| strsim::damerau_levenshtein(&letters(name), &wanted);
    let nearest = all().into_iter().min_by_key(distance)?;
    (distance(&nearest) <= wanted.len() / 5).then_some(nearest)
}

/// The innermost section that this key stands in, also where a dot was taken for an underscore.
pub(crate) fn section(key: &str) -> Option<&str> {
    let ends = key.match_indices(['.', '_']).map(|(end, _)| end).chain([key.len()]);
    let sections = ends.map(|end| &key[..end]);
    sections.rev().find(|section| !names(section).is_empty())
}

/// What stands in this section; nothing if it is no section. The top level has no name.
pub(crate) fn names(section: &str) -> Vec<String> {
    let nobody = Table::from_iter([(NOBODY.to_owned(), Value::Boolean(true))]);
    let inside = |inner, part: &str| Table::from_iter([(part.to_owned(), Value::Table(inner))]);
    let parts = section.rsplit('.').filter(|part| !part.is_empty());
    let asked = parts.fold(nobody, inside);
    // Told by the settings themselves, so that no list of names can go stale.
    let refused = Settings::deserialize(asked).err().map(|error| error.message().to_owned());
    // Another field that is unknown would be the section itself.
    let unknown = format!("unknown field `{NOBODY}`, expected ");
    let names = refused.as_deref().and_then(|refused| refused.strip_prefix(&unknown));
    names.unwrap_or_default().split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn all() -> Vec<String> {
    let of_section = |name: String| {
        let inner = names(&name);
        let sole = inner.is_empty().then(|| name.clone());
        inner.into_iter().map(move |inner| format!("{name}.{inner}")).chain(sole)
    };
    names("").into_iter().flat_map(of_section).collect()
}

fn letters(key: &str) -> String {
    key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}
