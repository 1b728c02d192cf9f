//! The web API. It never talks to the broker: what it commits, the worker sends.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use sea_orm::ActiveValue::{Set, Unchanged};
use sea_orm::{ActiveModelTrait, DatabaseConnection, DbErr, EntityTrait, ModelTrait};
use serde::Deserialize;
use serde_json::json;

use crate::{database, order, stock};

pub(crate) fn routes(db: DatabaseConnection) -> Router {
    Router::new()
        .route("/orders", post(place))
        .route("/orders/{id}", get(show).patch(reprice).delete(cancel))
        .with_state(db)
}

#[derive(Deserialize)]
struct NewOrder {
    customer: String,
    sku: String,
    quantity: i32,
    total: i64,
}

#[derive(Deserialize)]
struct NewPrice {
    total: i64,
}

async fn place(
    State(db): State<DatabaseConnection>,
    Json(new): Json<NewOrder>,
) -> Result<(StatusCode, Json<order::Model>), Refusal> {
    if new.quantity < 1 || new.total < 0 {
        return Err(Refusal::Nonsense);
    }
    let order = order::ActiveModel {
        customer: Set(new.customer),
        sku: Set(new.sku),
        quantity: Set(new.quantity),
        total: Set(new.total),
        ..Default::default()
    };

    let txn = database::begin(&db).await?;
    let order = order.insert(&txn).await?;
    // The order and its event are written by now. Without the commit neither ever was.
    if !stock::take(&txn, &order.sku, order.quantity).await? {
        txn.rollback().await?;
        return Err(Refusal::TooLittleStock);
    }
    txn.commit().await?;
    Ok((StatusCode::CREATED, Json(order)))
}

async fn reprice(
    State(db): State<DatabaseConnection>,
    Path(id): Path<i32>,
    Json(new): Json<NewPrice>,
) -> Result<Json<order::Model>, Refusal> {
    if new.total < 0 {
        return Err(Refusal::Nonsense);
    }
    let order =
        order::ActiveModel { id: Unchanged(id), total: Set(new.total), ..Default::default() };

    let txn = database::begin(&db).await?;
    let order = order.update(&txn).await?;
    txn.commit().await?;
    Ok(Json(order))
}

async fn cancel(
    State(db): State<DatabaseConnection>,
    Path(id): Path<i32>,
) -> Result<StatusCode, Refusal> {
    let txn = database::begin(&db).await?;
    let order = order::Entity::find_by_id(id).one(&txn).await?.ok_or(Refusal::NotFound)?;
    if order.clone().delete(&txn).await?.rows_affected == 0 {
        // Another request was faster. Dropped without a commit, the transaction rolls back.
        return Err(Refusal::NotFound);
    }
    stock::put_back(&txn, &order.sku, order.quantity).await?;
    txn.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn show(
    State(db): State<DatabaseConnection>,
    Path(id): Path<i32>,
) -> Result<Json<order::Model>, Refusal> {
    let order = order::Entity::find_by_id(id).one(&db).await?;
    order.map(Json).ok_or(Refusal::NotFound)
}

/// Why a request changed nothing.
enum Refusal {
    Database(DbErr),
    Nonsense,
    NotFound,
    TooLittleStock,
}

impl From<DbErr> for Refusal {
    fn from(error: DbErr) -> Self {
        match error {
            DbErr::RecordNotUpdated => Self::NotFound,
            other => Self::Database(other),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, reason) = match self {
            Self::Database(error) => {
                tracing::error!(%error, "a request failed");
                (StatusCode::INTERNAL_SERVER_ERROR, "the database failed")
            }
            Self::Nonsense => {
                (StatusCode::UNPROCESSABLE_ENTITY, "quantity is 1 or more, total 0 or more")
            }
            Self::NotFound => (StatusCode::NOT_FOUND, "there is no such order"),
            Self::TooLittleStock => (StatusCode::CONFLICT, "too little stock"),
        };
        (status, Json(json!({ "error": reason }))).into_response()
    }
}
