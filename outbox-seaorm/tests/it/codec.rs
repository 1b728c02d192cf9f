//! Payloads reach the worker byte for byte, whatever their codec.

use bytes::Bytes;
use outbox_seaorm::{BoxError, Codec, OutboxError, OutboxEvent, Stage};
use sea_orm::{DbErr, TransactionTrait};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::database::TestDatabase;
use crate::on_all;
use crate::shop::OrderPlaced;
use crate::staged::{texts, types};
use crate::store_fixture::Outbox;

on_all!(codec:
    a_codec_that_fails_stages_nothing,
    a_payload_of_another_codec_is_read_as_it_was_written,
    json_is_read_as_it_was_written,
);

/// A field in the way of protobuf: its number, and a number in groups of seven bits.
struct Varint;

impl Codec<StockCounted> for Varint {
    const CONTENT_TYPE: &'static str = "application/x-protobuf";

    fn encode(event: &StockCounted) -> Result<Vec<u8>, BoxError> {
        let mut bytes = vec![0x08];
        let mut rest = u64::try_from(event.quantity)?;
        while rest > 0x7f {
            bytes.push(0x80 | u8::try_from(rest & 0x7f)?);
            rest >>= 7;
        }
        bytes.push(u8::try_from(rest)?);
        Ok(bytes)
    }
}

#[derive(OutboxEvent)]
#[outbox(type = "stock.counted", topic = "stock", codec = Varint)]
struct StockCounted {
    quantity: i64,
}

/// Payload and media type of each record, in the order of staging.
async fn read(shop: TestDatabase) -> Vec<(Bytes, String)> {
    let lanes: Vec<u8> = (0..64).collect();
    let mut records = Outbox::new(shop).read(&lanes).await.records;
    records.sort_by_key(|record| record.reference.position);
    records
        .into_iter()
        .map(|record| (record.message.payload, record.message.content_type.to_string()))
        .collect()
}

async fn a_payload_of_another_codec_is_read_as_it_was_written(shop: TestDatabase) {
    let quantities = [0, 300, 255, i64::MAX];
    let txn = shop.db.begin().await.unwrap();

    for quantity in quantities {
        txn.stage(StockCounted { quantity }).await.unwrap();
    }
    txn.stage(OrderPlaced { order_id: 7, total: 1 }).await.unwrap();
    txn.commit().await.unwrap();

    let mut columns = texts(&shop.db, "content_type").await;
    assert_eq!(columns.pop().as_deref(), Some("application/json"));
    assert_eq!(columns, ["application/x-protobuf"; 4]);
    let records = read(shop).await;
    let payloads: Vec<&[u8]> = records.iter().map(|(payload, _)| &payload[..]).collect();
    assert_eq!(payloads[..3], [&b"\x08\x00"[..], b"\x08\xac\x02", b"\x08\xff\x01"]);
    assert_eq!(payloads[3], b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
    assert!(std::str::from_utf8(payloads[1]).is_err());
    assert!(records[..4].iter().all(|(_, media_type)| media_type == "application/x-protobuf"));
    assert_eq!(records[4].1, "application/json");
}

async fn a_codec_that_fails_stages_nothing(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let error: DbErr = txn.stage(StockCounted { quantity: -1 }).await.unwrap_err();
    txn.commit().await.unwrap();

    let outbox = OutboxError::of(&error).unwrap();
    let text = "payload of event stock.counted does not serialize to application/x-protobuf";
    assert_eq!(outbox.to_string(), text);
    assert!(std::error::Error::source(outbox).unwrap().to_string().contains("out of range"));
    assert_eq!(types(&shop.db).await, [""; 0]);
}

/// JSON that is written as it stands here.
#[derive(Serialize, OutboxEvent)]
#[serde(transparent)]
#[outbox(type = "documents.stored", topic = "documents")]
struct Stored(Box<RawValue>);

async fn json_is_read_as_it_was_written(shop: TestDatabase) {
    let texts = [
        r#"{"id":9007199254740993,"big":123456789012345678901234567890,"exact":1.10,"exp":1E+2}"#,
        r#"{"zeta":1,"alpha":{"b":1,"a":2},"zeta":3}"#,
        r#"{"nul":"a\u0000b","emoji":"😀","pair":"\ud83d\ude00","lone":"\ud800"}"#,
        "{ \"spaces\" :\t[ 1 ,\r\n 2 ] }",
        "null",
        "\"\"",
    ];
    let txn = shop.db.begin().await.unwrap();

    for text in texts {
        let raw = serde_json::from_str(text).unwrap();
        txn.stage(Stored(raw)).await.unwrap();
    }
    txn.commit().await.unwrap();

    let payloads: Vec<Bytes> = read(shop).await.into_iter().map(|(payload, _)| payload).collect();
    assert_eq!(payloads, texts);
}
