//! Cases about calls that no store can do.

use std::time::Duration;

use outbox_core::{DeadReason, LeaseToken, OutcomeKind, StoreErrorKind};

use super::fixture::StoreFixture;
use super::outbox::Outbox;
use super::sample::{failed, keyed, message, strangers};

/// A dead letter without an error text is refused, and nothing of the call takes effect.
pub async fn an_empty_error_text_is_refused(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let (first, second) = strangers();
    outbox.stage([keyed(&first), keyed(&second)]).await;
    let records = outbox.read().await;
    let mute =
        OutcomeKind::Dead { reason: DeadReason::Rejected, error: String::new(), parks_key: false };
    let outcomes =
        [outbox.outcome(&records[0], OutcomeKind::Published), outbox.outcome(&records[1], mute)];

    let error = outbox.store.settle(&outcomes).await.unwrap_err();

    assert_eq!(error.kind(), StoreErrorKind::InvalidArgument);
    assert_eq!(outbox.read().await, records);
}

/// A delay that ends beyond the calendar is refused or cut; it never holds up the innocent.
pub async fn a_delay_beyond_the_calendar_is_refused_or_cut(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([message()]).await;
    let record = outbox.read_one().await;
    let outcome = outbox.outcome(&record, failed(Duration::MAX));

    let answer = outbox.store.settle(&[outcome]).await;

    match answer {
        Ok(settled) => {
            assert_eq!(settled.applied, [record.reference]);
            assert_eq!(outbox.read().await, []);
        }
        Err(error) => {
            assert_eq!(error.kind(), StoreErrorKind::InvalidArgument);
            assert_eq!(outbox.read_one().await, record);
        }
    }
}

/// A lease that ends beyond the calendar is refused or cut.
pub async fn a_lease_beyond_the_calendar_is_refused_or_cut(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);

    let answer = outbox.store.lease(&outbox.lease_request(1, Duration::MAX)).await;

    match answer {
        Ok(leases) => assert_eq!(outbox.renew(&leases, Duration::from_secs(1)).await, leases),
        Err(error) => assert_eq!(error.kind(), StoreErrorKind::InvalidArgument),
    }
}

/// Calls about no lanes at all are no error.
pub async fn calls_about_no_lanes_are_no_error(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);

    let renewed = outbox.renew(&[], Duration::from_secs(1)).await;
    outbox.release(&[]).await;
    let told = outbox.store.acquired(&[]).await.unwrap();

    assert_eq!(renewed, []);
    assert!(told.is_empty());
}

/// A token that no store ever gave has no right and does no harm.
pub async fn an_invented_token_has_no_right(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([message()]).await;
    let record = outbox.read_one().await;
    let mut invented = outbox.leases.clone();
    for lease in &mut invented {
        lease.token = LeaseToken::new();
    }
    let mut outcome = outbox.outcome(&record, OutcomeKind::Published);
    outcome.token = LeaseToken::new();

    let renewed = outbox.renew(&invented, Duration::from_secs(1)).await;
    outbox.release(&invented).await;
    let settled = outbox.settle_all(&[outcome]).await;

    assert_eq!(renewed, []);
    assert_eq!(settled.applied, []);
    assert_eq!(outbox.renew(&outbox.leases, Duration::from_secs(1)).await.len(), 64);
}
