//! What is refused when it is staged, because it could not be stored or sent.

use outbox_core::{OutboxMessage, StagedMessage};
use outbox_seaorm::{
    Context, Emit, EncodeError, Envelope, EnvelopeForm, EventExt, EventId, Headers, OutboxError,
    OutboxEvent, OutboxSettings, Schedule, ScopeContext, Stage, TextFault, TopicProfile,
    Unsendable, scope,
};
use sea_orm::{ActiveModelTrait, DatabaseTransaction, DbErr, TransactionTrait};
use serde::Serialize;

use crate::database::{SOURCE, TestDatabase, count};
use crate::on_all;
use crate::shop::{OrderPlaced, ReportRequested, new_order, new_stock};
use crate::staged::{texts, types};

on_all!(limits:
    a_message_from_elsewhere_is_checked_and_normalized,
    a_text_with_a_nul_character_is_refused_everywhere_alike,
    a_topic_takes_what_its_profile_says,
    an_emitted_event_that_is_too_large_keeps_the_row_from_being_written,
    an_empty_text_is_stored_as_none,
    an_event_that_is_too_large_is_refused_before_anything_is_sent,
    an_illegal_topic_in_the_settings_is_refused,
    the_event_of_a_hook_is_checked_too,
    the_longest_key_and_topic_are_stored,
);

/// An event of any size and with any texts.
#[derive(Clone, Default, Serialize, OutboxEvent)]
#[outbox(
    type = "documents.scanned",
    topic = "documents",
    key = key,
    tenant = tenant,
    subject = subject
)]
struct Scanned {
    page: String,
    #[serde(skip)]
    key: Option<String>,
    #[serde(skip)]
    tenant: Option<String>,
    #[serde(skip)]
    subject: Option<String>,
}

impl Scanned {
    /// As a bridge from elsewhere would put it together.
    fn into_staged(self) -> StagedMessage {
        let payload = serde_json::to_vec(&self).unwrap().into();
        let id = EventId::new();
        let message = OutboxMessage::new(id, "documents.scanned", "documents", SOURCE, payload);
        StagedMessage { message, schedule: Schedule::Now }
    }
}

fn scanned(bytes: usize) -> Scanned {
    Scanned { page: "x".repeat(bytes), ..Scanned::default() }
}

const LARGE: usize = 300_000;

fn reason(error: &DbErr) -> &EncodeError {
    match OutboxError::of(error) {
        Some(OutboxError::Encode(error)) => error,
        other => panic!("{other:?}"),
    }
}

fn assert_too_large(error: &DbErr) {
    let reason = reason(error);
    assert!(
        matches!(reason, EncodeError::Unsendable { reason: Unsendable::TooLarge { .. }, .. }),
        "{reason:?}"
    );
}

async fn begun(shop: &TestDatabase) -> DatabaseTransaction {
    let txn = shop.db.begin().await.unwrap();
    shop.sent("");
    txn
}

async fn an_event_that_is_too_large_is_refused_before_anything_is_sent(shop: TestDatabase) {
    let staged = scanned(LARGE).into_staged();
    let txn = begun(&shop).await;

    let one = txn.stage(scanned(LARGE)).await.unwrap_err();
    let all = txn.stage_all([scanned(1), scanned(LARGE)]).await.unwrap_err();
    let encoded = txn.stage_encoded([scanned(1).into_staged(), staged]).await.unwrap_err();

    assert_eq!(shop.sent("outbox_message"), [""; 0]);
    for error in [&one, &all, &encoded] {
        assert_too_large(error);
        let said = error.to_string();
        for word in ["documents.scanned", "topic documents", "262144", "make it smaller"] {
            assert!(said.contains(word), "{word} is not in {said}");
        }
        assert!(!said.contains("xxx"), "{said}");
    }
    // The transaction is none the worse for it.
    txn.stage(scanned(1)).await.unwrap();
    txn.commit().await.unwrap();
    assert_eq!(types(&shop.db).await, ["documents.scanned"]);
}

async fn a_topic_takes_what_its_profile_says(shop: TestDatabase) {
    let profile = |limit| TopicProfile::default().with_limit(limit).unwrap();
    let settings = OutboxSettings::new(SOURCE)
        .topic("documents", profile(TopicProfile::LARGEST_LIMIT))
        .default_profile(profile(TopicProfile::SMALLEST_LIMIT));
    let txn = begun(&shop).await;

    let (large, elsewhere, small) = scope(settings, async {
        (
            txn.stage(scanned(LARGE)).await,
            txn.stage(scanned(1_000).to_topic("elsewhere")).await,
            txn.stage(ReportRequested).await,
        )
    })
    .await;

    large.unwrap();
    assert_too_large(&elsewhere.unwrap_err());
    small.unwrap();
    txn.commit().await.unwrap();
    assert_eq!(types(&shop.db).await, ["documents.scanned", "reports.requested"]);
}

async fn an_emitted_event_that_is_too_large_keeps_the_row_from_being_written(shop: TestDatabase) {
    let txn = begun(&shop).await;

    let known = new_stock("A1", 2).emit(scanned(LARGE)).insert(&txn).await.unwrap_err();
    assert_eq!(shop.sent(""), [""; 0]);
    let from_row = new_stock("A1", 2).emit_with(|_| scanned(LARGE)).insert(&txn).await.unwrap_err();

    assert_too_large(&known);
    assert_too_large(&from_row);
    assert!(from_row.to_string().contains("roll it back"), "{from_row}");
    assert_eq!(shop.sent("outbox_message"), [""; 0]);
    txn.rollback().await.unwrap();
    assert_eq!(count(&shop.db, "stock").await, 0);
}

async fn the_event_of_a_hook_is_checked_too(shop: TestDatabase) {
    let binary = TopicProfile::new(EnvelopeForm::Binary).with_filter_headers(["tier"]).unwrap();
    let settings = OutboxSettings::new(SOURCE).topic("orders", binary);
    let request = Context { headers: Headers::from_iter([("tier", "a\tb")]), ..Context::default() };
    let txn = begun(&shop).await;

    let error = scope(settings, request.scope(new_order(1).insert(&txn))).await.unwrap_err();
    txn.rollback().await.unwrap();

    let said = reason(&error).to_string();
    assert!(said.contains("orders.order_placed") && said.contains("`tier` holds U+0009"), "{said}");
    assert_eq!(shop.sent("outbox_message"), [""; 0]);
    assert_eq!(count(&shop.db, "orders").await, 0);
}

async fn a_text_with_a_nul_character_is_refused_everywhere_alike(shop: TestDatabase) {
    let nul = || Some("a\0b".to_owned());
    let context = |context: Context| scanned(1).with_context(context);
    let plain = Context::default;
    let txn = begun(&shop).await;

    for (what, event) in [
        ("key", Envelope::new(Scanned { key: nul(), ..scanned(1) })),
        ("tenant", Envelope::new(Scanned { tenant: nul(), ..scanned(1) })),
        ("subject", Envelope::new(Scanned { subject: nul(), ..scanned(1) })),
        ("header `note`", scanned(1).with_header("note", "a\0b")),
        ("name of a header", scanned(1).with_header("no\0te", "")),
        ("correlation id", context(Context { correlation_id: nul(), ..plain() })),
        ("causation id", context(Context { causation_id: nul(), ..plain() })),
        ("tracestate", context(Context { tracestate: nul(), ..plain() })),
    ] {
        let error = txn.stage(event).await.unwrap_err();

        match reason(&error) {
            EncodeError::Text { what: found, fault: TextFault::Nul, .. } => assert_eq!(found, what),
            other => panic!("{what}: {other:?}"),
        }
    }

    assert_eq!(shop.sent(""), [""; 0]);
    // In a payload it is a byte like any other.
    txn.stage(Scanned { page: "a\0b".into(), ..scanned(1) }).await.unwrap();
    txn.commit().await.unwrap();
}

async fn an_empty_text_is_stored_as_none(shop: TestDatabase) {
    let empty = || Some(String::new());
    let event = Scanned { key: empty(), tenant: empty(), subject: empty(), ..scanned(1) };
    let context = Context {
        correlation_id: empty(),
        causation_id: empty(),
        traceparent: empty(),
        tracestate: empty(),
        ..Context::default()
    };
    let mut foreign = scanned(1).into_staged();
    foreign.message.subject = empty();
    foreign.message.correlation_id = empty();
    let txn = begun(&shop).await;

    txn.stage(event.with_context(context)).await.unwrap();
    txn.stage_encoded([foreign]).await.unwrap();
    txn.commit().await.unwrap();

    for column in
        ["subject", "partition_key", "tenant", "causation_id", "traceparent", "tracestate"]
    {
        assert_eq!(texts(&shop.db, column).await, ["null", "null"], "{column}");
    }
    let correlation = texts(&shop.db, "correlation_id").await;
    assert_eq!((correlation[0].len(), &*correlation[1]), (36, "null"));
}

async fn a_message_from_elsewhere_is_checked_and_normalized(shop: TestDatabase) {
    let with = |change: fn(&mut OutboxMessage)| {
        let mut staged = scanned(1).into_staged();
        change(&mut staged.message);
        staged
    };
    let txn = begun(&shop).await;

    for staged in [
        with(|message| message.topic = "new documents".into()),
        with(|message| message.event_type = "".into()),
        with(|message| message.source = "".into()),
        with(|message| message.source = "two\nlines".into()),
        with(|message| message.ordering_key = Some(String::new())),
        with(|message| message.partition_key = Some("k".repeat(511))),
        with(|message| message.subject = Some("\0".into())),
        with(|message| message.headers.push("", "nameless")),
    ] {
        let error = txn.stage_encoded([scanned(1).into_staged(), staged]).await.unwrap_err();

        let _ = reason(&error);
    }

    assert_eq!(shop.sent(""), [""; 0]);
    txn.commit().await.unwrap();
}

async fn the_longest_key_and_topic_are_stored(shop: TestDatabase) {
    let (key, topic) = ("é".repeat(255), "t".repeat(256));
    let event = Scanned { key: Some(key.clone()), ..scanned(1) }.to_topic(topic.clone());
    let txn = begun(&shop).await;

    txn.stage(event).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(texts(&shop.db, "partition_key").await, [key]);
    assert_eq!(texts(&shop.db, "topic").await, [topic]);
}

async fn an_illegal_topic_in_the_settings_is_refused(shop: TestDatabase) {
    let settings = OutboxSettings::new(SOURCE).topic("new orders", TopicProfile::default());
    let txn = begun(&shop).await;

    let staged = txn.stage(OrderPlaced { order_id: 7, total: 1 });
    let error = scope(settings.clone(), staged).await.unwrap_err();

    let Some(OutboxError::Settings(error)) = OutboxError::of(&error) else { panic!("{error}") };
    assert_eq!(error.key(), "topic");
    assert!(matches!(settings.install(), Err(OutboxError::Settings(_))));
    assert_eq!(shop.sent(""), [""; 0]);
    txn.commit().await.unwrap();
}
