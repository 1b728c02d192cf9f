//! Whether a message fits, without putting it into its envelope where that is plain.
//!
//! Staging asks this for every event, inside of the application's transaction. Nearly all events are
//! far below the limit and have nothing but plain text in their metadata: for them a sum of lengths
//! and a glance at the bytes must do.

use super::form::EnvelopeForm;
use super::topic_profile::TopicProfile;
use crate::cloudevents::illegal_in_attribute;
use crate::message::OutboxMessage;
use crate::unsendable::Unsendable;

/// More than all names, marks and values of fixed length in a document and its attributes take.
const FRAME: usize = 1024;
/// A text of metadata stands in an attribute as it is and in a document with up to seven bytes for
/// one: a control character in a header, which is escaped twice.
const GROWTH: usize = 8;
/// More than the marks around one header and its name take.
const HEADER: usize = 16;

/// Whether this profile would wrap the message.
pub(super) fn check(profile: &TopicProfile, message: &OutboxMessage) -> Result<(), Unsendable> {
    if at_most(message, profile) <= profile.limit() && is_plain(profile, message) {
        return profile.form().check_body(message);
    }
    profile.wrap(message).map(drop)
}

/// Whether a message for a topic without a profile would be wrapped in whatever form, by the limit
/// that a topic has if nobody raised it.
pub(super) fn check_unknown(message: &OutboxMessage) -> Result<(), Unsendable> {
    let profile = TopicProfile::default();
    if at_most(message, &profile) <= profile.limit() && is_plain(&profile, message) {
        return Ok(());
    }
    // What only the other form would refuse, its consumers may never see.
    EnvelopeForm::Structured.attributes(message).check()?;
    let size = EnvelopeForm::Structured.size(message).max(EnvelopeForm::Binary.size(message));
    check_size(size, profile.limit())
}

pub(super) fn check_size(size: usize, limit: usize) -> Result<(), Unsendable> {
    if size <= limit { Ok(()) } else { Err(Unsendable::TooLarge { size, limit }) }
}

/// No less than the bytes that the message takes in either form.
fn at_most(message: &OutboxMessage, profile: &TopicProfile) -> usize {
    let payload = message.payload.len();
    let metadata = message.size() - payload;
    let chosen: usize = profile.filter_headers().iter().map(|name| name.len() + HEADER).sum();
    // In base64 three bytes become four.
    let body = payload + payload / 3 + 4;
    FRAME + GROWTH * metadata + HEADER * message.headers.len() + chosen + body
}

/// Whether no attribute can be to blame: every text that stands in one as it is, is plain.
fn is_plain(profile: &TopicProfile, message: &OutboxMessage) -> bool {
    let plain = |text: &str| illegal_in_attribute(text).is_none();
    let needed = [&*message.source, &*message.event_type];
    let in_form = match profile.form() {
        EnvelopeForm::Binary => [Some(&*message.content_type), message.subject.as_deref()],
        EnvelopeForm::Structured => [None, None],
    };
    needed.into_iter().all(|text| !text.is_empty() && plain(text))
        && in_form.into_iter().flatten().all(plain)
        && profile.chosen_headers(message).all(|(_, value)| plain(value))
}
