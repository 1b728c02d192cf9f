//! Many-to-many: junction rows are rows of an aggregate like any other.

use sea_orm::{
    ActiveModelTrait, ConnectionTrait, DatabaseTransaction, IntoActiveModel, IsolationLevel,
    Schema, Set, TransactionTrait,
};

use crate::database::{TestDatabase, count, on_mariadb};
use crate::on_all;
use crate::staged::{payloads, types};

on_all!(junction:
    a_failed_insert_leaves_nothing_for_the_next,
    a_junction_row_that_goes_stages,
    a_junction_row_that_was_there_already_stages_nothing,
    a_junction_row_with_a_key_of_its_own_that_was_there_already_stages_nothing,
    an_update_of_nothing_but_its_key_stages_nothing,
    junction_rows_stage_when_both_ends_are_new,
    junction_rows_that_go_with_their_parent_stage_nothing,
);

mod article {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "article")]
    pub(crate) struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub title: String,
        #[sea_orm(has_many, via = "labelling")]
        pub labels: HasMany<super::label::Entity>,
        #[sea_orm(has_many, via = "filing")]
        pub folders: HasMany<super::folder::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

mod label {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "label")]
    pub(crate) struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub name: String,
        #[sea_orm(has_many, via = "labelling")]
        pub articles: HasMany<super::article::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

mod folder {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "folder")]
    pub(crate) struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub name: String,
        #[sea_orm(has_many, via = "filing")]
        pub articles: HasMany<super::article::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

/// Its key is that of both ends: an insert that meets a row does nothing.
mod labelling {
    use outbox_seaorm::{Change, Events, OutboxAggregate, OutboxError, OutboxEvent, outbox_hooks};
    use sea_orm::entity::prelude::*;

    #[derive(serde::Serialize, OutboxEvent)]
    #[serde(tag = "kind")]
    #[outbox(topic = "articles", key = article)]
    enum LabelEvent {
        #[outbox(type = "articles.labelled")]
        Labelled { article: i32, label: i32 },
        #[outbox(type = "articles.unlabelled")]
        Unlabelled { article: i32, label: i32 },
    }

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "labelling")]
    pub(crate) struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub article_id: i32,
        #[sea_orm(primary_key, auto_increment = false)]
        pub label_id: i32,
        #[sea_orm(belongs_to, from = "article_id", to = "id")]
        pub article: BelongsTo<super::article::Entity>,
        #[sea_orm(belongs_to, from = "label_id", to = "id")]
        pub label: BelongsTo<super::label::Entity>,
    }

    #[outbox_hooks]
    impl ActiveModelBehavior for ActiveModel {}

    impl OutboxAggregate for ActiveModel {
        fn outbox_events(change: Change<'_, Self>, out: &mut Events) -> Result<(), OutboxError> {
            let &Model { article_id: article, label_id: label } = change.model();
            match change {
                Change::Deleted(_) => out.push(LabelEvent::Unlabelled { article, label }),
                _ => out.push(LabelEvent::Labelled { article, label }),
            }
        }
    }
}

/// It has a key of its own: SeaORM looks which rows are there.
mod filing {
    use outbox_seaorm::{Change, Events, OutboxAggregate, OutboxError, OutboxEvent, outbox_hooks};
    use sea_orm::entity::prelude::*;

    #[derive(serde::Serialize, OutboxEvent)]
    #[outbox(type = "articles.filed", topic = "articles", key = article)]
    struct Filed {
        article: i32,
    }

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "filing")]
    pub(crate) struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub article_id: i32,
        pub folder_id: i32,
        #[sea_orm(belongs_to, from = "article_id", to = "id")]
        pub article: BelongsTo<super::article::Entity>,
        #[sea_orm(belongs_to, from = "folder_id", to = "id")]
        pub folder: BelongsTo<super::folder::Entity>,
    }

    #[outbox_hooks]
    impl ActiveModelBehavior for ActiveModel {}

    impl OutboxAggregate for ActiveModel {
        fn outbox_events(change: Change<'_, Self>, out: &mut Events) -> Result<(), OutboxError> {
            out.push(Filed { article: change.model().article_id })
        }
    }
}

async fn written(shop: &TestDatabase) -> (DatabaseTransaction, article::ModelEx) {
    let schema = Schema::new(shop.db.get_database_backend());
    for table in [
        schema.create_table_from_entity(article::Entity),
        schema.create_table_from_entity(label::Entity),
        schema.create_table_from_entity(folder::Entity),
        schema.create_table_from_entity(labelling::Entity),
        schema.create_table_from_entity(filing::Entity),
    ] {
        shop.db.execute(&table).await.unwrap();
    }
    let txn = shop.db.begin().await.unwrap();
    let article = article::ActiveModel::builder()
        .set_title("Lanes")
        .add_label(label::ActiveModel::builder().set_name("sql"))
        .add_label(label::ActiveModel::builder().set_name("rust"))
        .add_folder(folder::ActiveModel::builder().set_name("drafts"))
        .insert(&txn)
        .await
        .unwrap();
    (txn, article)
}

const WRITTEN: [&str; 3] = ["articles.labelled", "articles.labelled", "articles.filed"];

async fn junction_rows_stage_when_both_ends_are_new(shop: TestDatabase) {
    let (txn, article) = written(&shop).await;
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await, WRITTEN);
    let expected = format!(r#"{{"kind":"Labelled","article":{},"label":1}}"#, article.id);
    assert_eq!(payloads(&shop.db).await[0], expected);
}

/// As from a form in which nothing was filled in: SeaORM sends no UPDATE then.
async fn an_update_of_nothing_but_its_key_stages_nothing(shop: TestDatabase) {
    let (txn, _) = written(&shop).await;
    shop.sent("");

    let key = filing::ActiveModel { id: Set(1), ..Default::default() };
    let found = key.update(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(found.article_id, 1);
    assert_eq!(shop.sent("UPDATE"), [""; 0]);
    assert_eq!(types(&shop.db).await, WRITTEN);
}

/// The transaction's snapshot still shows the row, and its insert writes it anew.
#[tokio::test]
async fn a_junction_row_that_went_meanwhile_stages_on_mariadb() {
    on_mariadb(|shop| async move {
        let (txn, article) = written(&shop).await;
        txn.commit().await.unwrap();
        let repeatable = Some(IsolationLevel::RepeatableRead);
        let txn = shop.db.begin_with_config(repeatable, None).await.unwrap();
        assert_eq!(count(&txn, "labelling").await, 2);
        shop.db.execute_unprepared("DELETE FROM labelling WHERE label_id = 1").await.unwrap();

        let mut article = article.into_active_model();
        article.labels.append(label::ActiveModel::builder().set_name("outbox"));
        article.save(&txn).await.unwrap();
        txn.commit().await.unwrap();

        assert_eq!(count(&shop.db, "labelling").await, 3);
        assert_eq!(types(&shop.db).await[3..], ["articles.labelled", "articles.labelled"]);
    })
    .await;
}

async fn a_junction_row_that_was_there_already_stages_nothing(shop: TestDatabase) {
    let (txn, article) = written(&shop).await;

    // Both labels are there; the third is new.
    let mut article = article.into_active_model();
    article.labels.append(label::ActiveModel::builder().set_name("outbox"));
    article.save(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await[3..], ["articles.labelled"]);
    let expected = r#"{"kind":"Labelled","article":1,"label":3}"#;
    assert_eq!(payloads(&shop.db).await[3], expected);
    assert_eq!(count(&shop.db, "labelling").await, 3);
}

async fn a_junction_row_with_a_key_of_its_own_that_was_there_already_stages_nothing(
    shop: TestDatabase,
) {
    let (txn, article) = written(&shop).await;

    let mut article = article.into_active_model();
    article.labels.take();
    article.folders.append(folder::ActiveModel::builder().set_name("sent"));
    article.save(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await[3..], ["articles.filed"]);
    assert_eq!(count(&shop.db, "filing").await, 2);
}

async fn a_failed_insert_leaves_nothing_for_the_next(shop: TestDatabase) {
    let (txn, article) = written(&shop).await;
    let row = labelling::ActiveModel { article_id: Set(article.id), label_id: Set(1) };
    txn.execute_unprepared("SAVEPOINT before_insert").await.unwrap();

    row.clone().insert(&txn).await.unwrap_err();
    txn.execute_unprepared("ROLLBACK TO SAVEPOINT before_insert").await.unwrap();
    txn.execute_unprepared("DELETE FROM labelling").await.unwrap();
    row.insert(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await[3..], ["articles.labelled"]);
}

async fn a_junction_row_that_goes_stages(shop: TestDatabase) {
    let (txn, article) = written(&shop).await;

    let mut article = article.into_active_model();
    let kept = article.labels.as_slice()[1].clone();
    article.labels.replace_all([kept]);
    article.save(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await[3..], ["articles.unlabelled"]);
    let expected = r#"{"kind":"Unlabelled","article":1,"label":1}"#;
    assert_eq!(payloads(&shop.db).await[3], expected);
    assert_eq!(count(&shop.db, "labelling").await, 1);
}

/// SeaORM deletes them in bulk; the table at the top of the crate's documentation says so.
async fn junction_rows_that_go_with_their_parent_stage_nothing(shop: TestDatabase) {
    let (txn, article) = written(&shop).await;

    article.delete(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(count(&shop.db, "labelling").await, 0);
    assert_eq!(types(&shop.db).await, WRITTEN);
}
