//! Identities.

use outbox_core::{ClaimToken, EventId, LeaseToken, StoreErrorKind, WorkerId};
use uuid::Uuid;

#[test]
fn no_identity_is_nil() {
    let errors = [
        ClaimToken::from_uuid(Uuid::nil()).unwrap_err(),
        EventId::from_uuid(Uuid::nil()).unwrap_err(),
        LeaseToken::from_uuid(Uuid::nil()).unwrap_err(),
        WorkerId::from_uuid(Uuid::nil()).unwrap_err(),
    ];

    let kinds = errors.each_ref().map(outbox_core::StoreError::kind);
    assert_eq!(kinds, [StoreErrorKind::InvalidArgument; 4]);
    let [claim, event, lease, worker] = errors.map(|error| error.to_string());
    assert_eq!(claim, "a claim token must not be the nil UUID: invalid argument");
    assert_eq!(event, "an event id must not be the nil UUID: invalid argument");
    assert_eq!(lease, "a lease token must not be the nil UUID: invalid argument");
    assert_eq!(worker, "a worker id must not be the nil UUID: invalid argument");
}

#[test]
fn a_nil_identity_is_not_deserialized() {
    let nil = serde_json::json!(Uuid::nil());

    assert!(serde_json::from_value::<EventId>(nil.clone()).is_err());
    assert!(serde_json::from_value::<LeaseToken>(nil.clone()).is_err());
    assert!(serde_json::from_value::<WorkerId>(nil).is_err());
}

#[test]
fn an_identity_is_serialized_as_its_plain_uuid() {
    let uuid = Uuid::from_u128(7);
    let id = EventId::from_uuid(uuid).unwrap();

    assert_eq!(serde_json::to_value(id).unwrap(), serde_json::json!(uuid));
    assert_eq!(serde_json::from_value::<EventId>(serde_json::json!(uuid)).unwrap(), id);
    assert_eq!(Uuid::from(id), uuid);
}

#[test]
fn fresh_identities_differ() {
    assert_ne!(EventId::new(), EventId::new());
    assert_ne!(ClaimToken::new(), ClaimToken::new());
    assert_ne!(LeaseToken::new(), LeaseToken::new());
    assert_ne!(WorkerId::new(), WorkerId::new());
}

#[test]
fn event_ids_carry_their_time_and_tokens_do_not() {
    assert_eq!(EventId::new().uuid().get_version_num(), 7);
    assert_eq!(LeaseToken::new().uuid().get_version_num(), 4);
}

#[test]
fn an_identity_shows_its_uuid() {
    let id = EventId::from_uuid(Uuid::from_u128(7)).unwrap();

    assert_eq!(id.to_string(), "00000000-0000-0000-0000-000000000007");
    assert_eq!(format!("{id:?}"), "EventId(00000000-0000-0000-0000-000000000007)");
}
