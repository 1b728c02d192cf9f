//! What holds on MariaDB alone.

mod broken;
mod lock;
mod role;
mod schemas;
mod values;

use outbox_migration::{Migrator, migrate};
use sea_orm_migration::{MigratorTrait, sea_orm::ConnectionTrait};

use outbox_test_databases::{number, on_mariadb, texts};

use crate::{
    catalogue::{columns, describe},
    promises::message,
};

#[tokio::test]
async fn the_first_migration_is_frozen() {
    on_mariadb(async |database| {
        let db = database.connect().await;

        migrate(&db).await.unwrap();

        assert_eq!(describe(&db).await, include_str!("../golden/mariadb.txt"));
    })
    .await;
}

#[tokio::test]
async fn nothing_is_taken_from_the_settings_of_the_application() {
    on_mariadb(async |database| {
        let db = database.connect_with(1).await;
        let name = database.name();
        let odd = format!("ALTER DATABASE {name} CHARACTER SET latin1 COLLATE latin1_german1_ci");
        db.execute_unprepared(&odd).await.unwrap();
        for setting in ["default_storage_engine = MyISAM", "sql_mode = 'ANSI_QUOTES'"] {
            db.execute_unprepared(&format!("SET SESSION {setting}")).await.unwrap();
        }

        // On the application's connection, as a spliced migration is run.
        Migrator::up(&db, None).await.unwrap();

        let db = database.connect().await;
        assert_eq!(describe(&db).await, include_str!("../golden/mariadb.txt"));
    })
    .await;
}

#[tokio::test]
async fn positions_come_from_one_counter_for_all_lanes() {
    on_mariadb(async |database| {
        let (one, other) = (database.connect().await, database.connect().await);
        migrate(&one).await.unwrap();

        for (db, lane) in [(&one, 5), (&other, 1), (&one, 9), (&other, 5)] {
            db.execute_unprepared(&message(lane)).await.unwrap();
        }

        let places = "SELECT CONCAT(position, ' ', lane) FROM outbox_message ORDER BY position";
        assert_eq!(texts(&one, places).await, ["1 5", "2 1", "3 9", "4 5"]);
    })
    .await;
}

#[tokio::test]
async fn a_position_is_not_given_again_when_its_row_is_gone() {
    on_mariadb(async |database| {
        let db = database.connect().await;
        migrate(&db).await.unwrap();
        db.execute_unprepared(&message(1)).await.unwrap();
        db.execute_unprepared(&message(1)).await.unwrap();
        db.execute_unprepared("DELETE FROM outbox_message WHERE position = 2").await.unwrap();

        db.execute_unprepared(&message(1)).await.unwrap();

        assert_eq!(number(&db, "SELECT max(position) FROM outbox_message").await, 3);
    })
    .await;
}

#[tokio::test]
async fn a_replay_can_insert_the_position_it_had() {
    on_mariadb(async |database| {
        let db = database.connect().await;
        migrate(&db).await.unwrap();
        db.execute_unprepared(&message(1)).await.unwrap();
        let columns = columns(&db, "outbox_message").await.join(", ");
        for sql in [
            &format!(
                "INSERT INTO outbox_dead_letter SELECT {columns}, 'test', UTC_TIMESTAMP(6)
                 FROM outbox_message"
            ),
            "DELETE FROM outbox_message",
            &message(1),
        ] {
            db.execute_unprepared(sql).await.unwrap();
        }

        let replay = format!(
            "INSERT INTO outbox_message ({columns}) SELECT {columns} FROM outbox_dead_letter"
        );
        db.execute_unprepared(&replay).await.unwrap();

        db.execute_unprepared(&message(1)).await.unwrap();
        let positions = "SELECT CAST(position AS CHAR) FROM outbox_message ORDER BY position";
        assert_eq!(texts(&db, positions).await, ["1", "2", "3"]);
    })
    .await;
}

#[tokio::test]
async fn a_record_is_created_at_the_database_clock_in_utc() {
    on_mariadb(async |database| {
        let db = database.connect_with(1).await;
        migrate(&db).await.unwrap();
        db.execute_unprepared("SET SESSION time_zone = '-03:00'").await.unwrap();
        db.execute_unprepared("SET @before = UTC_TIMESTAMP(6)").await.unwrap();

        db.execute_unprepared(&message(1)).await.unwrap();

        let at = "SELECT count(*) FROM outbox_message
                  WHERE created_at BETWEEN @before AND UTC_TIMESTAMP(6)";
        assert_eq!(number(&db, at).await, 1);
    })
    .await;
}
