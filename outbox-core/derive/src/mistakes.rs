//! All mistakes of the user at once.

use syn::Error;

/// Collects errors, so that one compilation shows every mistake.
#[derive(Default)]
pub(crate) struct Mistakes(Option<Error>);

impl Mistakes {
    pub(crate) fn add(&mut self, error: Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Keeps the error, gives back the value.
    pub(crate) fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    /// Ends the collection: the last result, unless something was wrong before it.
    pub(crate) fn finish<T>(self, last: syn::Result<T>) -> syn::Result<T> {
        match (self.0, last) {
            (None, last) => last,
            (Some(first), Ok(_)) => Err(first),
            (Some(mut first), Err(last)) => {
                first.combine(last);
                Err(first)
            }
        }
    }
}
