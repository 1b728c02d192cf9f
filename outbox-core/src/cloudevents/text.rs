//! What SNS and the queues behind it allow in names and texts.

const LONGEST_NAME: usize = 256;

/// The first character that a body must not hold.
///
/// SNS accepts a message with it and the delivery to SQS then drops the message without a word.
pub(crate) fn illegal_in_body(text: &str) -> Option<char> {
    text.chars().find(|&c| !is_xml(c))
}

/// The first character that an attribute's value must not hold.
///
/// SNS accepts tabs and line breaks and then ignores the attribute in filters.
pub(crate) fn illegal_in_attribute(text: &str) -> Option<char> {
    text.chars().find(|&c| !is_xml(c) || c.is_control())
}

/// Checks the name of an attribute that an operator chose; the error is what it must be.
pub(crate) fn check_attribute_name(name: &str) -> Result<(), &'static str> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(legal) {
        return Err("names of 1 to 256 of A-Z a-z 0-9 _ - .");
    }
    if name.starts_with('.') || name.ends_with('.') || name.contains("..") {
        return Err("names that neither begin nor end with a dot nor have two in a row");
    }
    let lower = name.to_ascii_lowercase();
    if lower.starts_with("aws.") || lower.starts_with("amazon.") {
        return Err("names outside of `AWS.` and `Amazon.`, which are reserved");
    }
    if lower.starts_with("ce_") || lower == "content-type" || lower == "traceparent" {
        return Err(
            "names other than `ce_*`, `content-type` and `traceparent`, which the envelope takes",
        );
    }
    Ok(())
}

/// The characters of XML 1.0, which are those of an SQS message.
fn is_xml(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        c => c >= ' ',
    }
}
