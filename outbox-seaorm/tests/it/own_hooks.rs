//! Hooks that the application wrote itself.

use sea_orm::{ActiveModelTrait, DbErr, Set, TransactionTrait};

use crate::database::{TestDatabase, count};
use crate::on_all;
use crate::staged::{payloads, types};

on_all!(own_hooks:
    a_refusal_by_an_own_hook_stages_nothing,
    an_early_return_ends_the_own_hook_alone,
    an_update_that_assigns_nothing_never_reaches_the_aggregate,
    own_hooks_run_around_the_write,
    the_events_are_those_of_the_model_that_the_own_hook_returned,
);

/// An aggregate with hooks of its own, in all the ways that arguments can be written.
pub(crate) mod parcel {
    use outbox_seaorm::{Change, Events, OutboxAggregate, OutboxError, OutboxEvent, outbox_hooks};
    use sea_orm::entity::prelude::*;
    use sea_orm::{ActiveValue::Set, Statement};

    #[derive(serde::Serialize, OutboxEvent)]
    #[outbox(type = "parcels.changed", topic = "parcels", key = id)]
    struct ParcelChanged {
        id: i32,
        label: String,
        weighed: bool,
    }

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "parcels")]
    pub(crate) struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub label: String,
        pub weight: i32,
    }

    #[outbox_hooks]
    impl ActiveModelBehavior for ActiveModel {
        /// Gives a new parcel a label; a negative weight is refused with `?`.
        async fn before_save<C>(mut self, _: &C, insert: bool) -> Result<Self, DbErr>
        where
            C: ConnectionTrait,
        {
            u32::try_from(*self.weight.as_ref()).map_err(|_| DbErr::Custom("weightless".into()))?;
            if !insert {
                return Ok(self);
            }
            self.label = Set("new".into());
            Ok(self)
        }

        /// The caller sees the label in capitals.
        async fn after_save<C: ConnectionTrait>(
            mut model: Model,
            _db: &C,
            _insert: bool,
        ) -> Result<Model, DbErr> {
            model.label = model.label.to_uppercase();
            Ok(model)
        }

        /// A heavy parcel stays.
        async fn before_delete<C: ConnectionTrait>(self, connection: &C) -> Result<Self, DbErr> {
            let backend = connection.get_database_backend();
            let sql = "SELECT id FROM parcels WHERE weight > 100";
            let heavy = Statement::from_string(backend, sql);
            match connection.query_one_raw(heavy).await? {
                Some(_) => Err(DbErr::Custom("too heavy to remove".into())),
                None => Ok(self),
            }
        }

        async fn after_delete<C: ConnectionTrait>(self, db: &C) -> Result<Self, DbErr> {
            db.execute_unprepared("INSERT INTO parcels (label, weight) VALUES ('ghost', 0)")
                .await?;
            Ok(self)
        }
    }

    impl OutboxAggregate for ActiveModel {
        fn outbox_events(change: Change<'_, Self>, out: &mut Events) -> Result<(), OutboxError> {
            let parcel = change.model();
            let weighed = change.changed(Column::Weight);
            out.push(ParcelChanged { id: parcel.id, label: parcel.label.clone(), weighed })
        }
    }
}

fn new_parcel(weight: i32) -> parcel::ActiveModel {
    parcel::ActiveModel { weight: Set(weight), ..Default::default() }
}

async fn own_hooks_run_around_the_write(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let parcel = new_parcel(7).insert(&txn).await.unwrap();
    let key = parcel::ActiveModel { id: Set(parcel.id), ..Default::default() };
    key.delete(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(parcel.label, "NEW");
    assert_eq!(types(&shop.db).await, ["parcels.changed"; 2]);
    assert_eq!(count(&shop.db, "parcels WHERE label = 'ghost'").await, 1);
}

async fn the_events_are_those_of_the_model_that_the_own_hook_returned(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let parcel = new_parcel(7).insert(&txn).await.unwrap();
    txn.commit().await.unwrap();

    let expected = format!(r#"{{"id":{},"label":"NEW","weighed":true}}"#, parcel.id);
    assert_eq!(payloads(&shop.db).await, [expected]);
}

async fn an_early_return_ends_the_own_hook_alone(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let parcel = new_parcel(7).insert(&txn).await.unwrap();

    let mut change: parcel::ActiveModel = parcel.into();
    change.label = Set("old".into());
    let parcel = change.update(&txn).await.unwrap();
    txn.commit().await.unwrap();

    let expected = format!(r#"{{"id":{},"label":"OLD","weighed":false}}"#, parcel.id);
    assert_eq!(payloads(&shop.db).await[1], expected);
}

/// This aggregate has an event for every change that it hears of.
async fn an_update_that_assigns_nothing_never_reaches_the_aggregate(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let parcel = new_parcel(7).insert(&txn).await.unwrap();

    parcel::ActiveModel::from(parcel).update(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await, ["parcels.changed"]);
}

async fn a_refusal_by_an_own_hook_stages_nothing(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let parcel = new_parcel(700).insert(&txn).await.unwrap();

    let light = new_parcel(-1).insert(&txn).await.unwrap_err();
    let heavy = parcel::ActiveModel { id: Set(parcel.id), ..Default::default() };
    let heavy = heavy.delete(&txn).await.unwrap_err();
    txn.commit().await.unwrap();

    assert_eq!(light, DbErr::Custom("weightless".into()));
    assert_eq!(heavy, DbErr::Custom("too heavy to remove".into()));
    assert_eq!(types(&shop.db).await, ["parcels.changed"]);
    assert_eq!(count(&shop.db, "parcels").await, 1);
}
