//! A user of the server who may do little.

use sea_orm_migration::sea_orm::{ConnectionTrait, DatabaseConnection};

use outbox_test_databases::TestDatabase;

/// A user named like the test's database, and connections as this user and as its owner.
pub(super) struct Role {
    name: String,
    owner: DatabaseConnection,
    pub(super) db: DatabaseConnection,
}

impl Role {
    /// A user with this one right in the database: "SELECT ON orders".
    pub(super) async fn create(database: &TestDatabase, right: &str) -> Self {
        let (name, owner) = (database.name(), database.connect().await);
        owner.execute_unprepared(&format!("CREATE USER {name}@'%'")).await.unwrap();
        owner.execute_unprepared(&grant(right, &name)).await.unwrap();

        let (_, place) = database.url.split_once('@').unwrap();
        let db = TestDatabase { url: format!("mysql://{name}@{place}") }.connect().await;
        Self { name, owner, db }
    }

    pub(super) async fn may(&self, right: &str) {
        self.owner.execute_unprepared(&grant(right, &self.name)).await.unwrap();
    }

    /// Users outlive the database, so this comes before the assertions.
    pub(super) async fn drop(self) {
        self.db.close().await.unwrap();
        let sql = format!("DROP USER {}@'%'", self.name);
        self.owner.execute_unprepared(&sql).await.unwrap();
    }
}

/// The database and its user have one name.
fn grant(right: &str, name: &str) -> String {
    let (what, table) = right.split_once(" ON ").unwrap();
    format!("GRANT {what} ON {name}.{table} TO {name}@'%'")
}
