//! What may be taken out of a stranger's headers.

use http::{HeaderMap, HeaderName};

const LONGEST_ID: usize = 128;
/// What the W3C specification asks everyone to propagate at least.
const LONGEST_STATE: usize = 512;
/// Version, trace id, parent id and flags of version 00, the length of all versions so far.
const TRACEPARENT: usize = 55;

/// A value that is there and cannot be taken.
#[derive(Debug)]
pub(super) struct Unfit {
    pub(super) header: String,
}

type Field = Result<Option<String>, Unfit>;

/// An id of the caller's: visible ASCII, so that it passes through every store, log and broker.
pub(super) fn id(headers: &HeaderMap, name: &HeaderName) -> Field {
    only(headers, name, |id| {
        (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
    })
}

/// The W3C trace context of the caller.
///
/// A later version may append fields behind a dash; what it has in front is read as version 00,
/// as <https://www.w3.org/TR/trace-context/#versioning-of-traceparent> asks.
pub(super) fn traceparent(headers: &HeaderMap, name: &HeaderName) -> Field {
    let taken = only(headers, name, is_traceparent)?;
    Ok(taken.map(|mut text| {
        text.truncate(TRACEPARENT);
        text
    }))
}

/// The vendors' part of the trace context, all lines of it as one.
pub(super) fn tracestate(headers: &HeaderMap) -> Field {
    let unfit = || Unfit { header: "tracestate".to_owned() };
    let mut state = String::new();
    for value in headers.get_all("tracestate") {
        let value = value.to_str().map_err(|_| unfit())?.trim_matches([' ', '\t']);
        if !value.is_empty() {
            state.push_str(if state.is_empty() { "" } else { "," });
            state.push_str(value);
        }
    }
    let printable = state.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if state.len() > LONGEST_STATE || !printable {
        return Err(unfit());
    }
    Ok((!state.is_empty()).then_some(state))
}

fn only(headers: &HeaderMap, name: &HeaderName, fits: impl Fn(&str) -> bool) -> Field {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| values.next().is_none() && fits(text));
    text.map(|text| Some(text.to_owned())).ok_or_else(|| Unfit { header: name.to_string() })
}

fn is_traceparent(text: &str) -> bool {
    if !text.is_ascii() || text.len() < TRACEPARENT {
        return false;
    }
    let (known, more) = text.split_at(TRACEPARENT);
    let parts: Vec<&str> = known.split('-').collect();
    let [version, trace, parent, flags] = parts[..] else { return false };
    let longer = version != "00" && more.starts_with('-');
    let hex = |part: &str, length: usize| {
        let lower = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        part.len() == length && part.bytes().all(lower)
    };
    let named = |part: &str, length: usize| hex(part, length) && part.bytes().any(|b| b != b'0');
    hex(version, 2)
        && version != "ff"
        && named(trace, 32)
        && named(parent, 16)
        && hex(flags, 2)
        && (more.is_empty() || longer)
}
