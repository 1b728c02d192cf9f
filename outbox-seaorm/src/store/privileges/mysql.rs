//! What a user must be allowed on MariaDB and MySQL.
//!
//! Neither server tells what roles and patterns of names add up to, so each privilege is tried by a
//! statement that touches no row.

use outbox_core::TableNames;

use super::NEEDED;
use crate::entity::Table;

/// A statement that needs one privilege on one table, and does nothing.
#[derive(Debug)]
pub(in crate::store) struct Trial {
    pub(in crate::store) privilege: &'static str,
    /// As it stands in a `GRANT`.
    pub(in crate::store) table: String,
    pub(in crate::store) statement: String,
}

/// The trials of these privileges, those of one table one after the other.
///
/// A privilege on single columns passes where the store needs no other ones.
pub(in crate::store) fn trials(names: &TableNames, privileges: &[&str]) -> Vec<Trial> {
    let needed = NEEDED.iter().flat_map(|(table, all)| all.iter().map(move |it| (table, *it)));
    let needed = needed.filter(|(_, privilege)| privileges.contains(privilege));
    needed.map(|(table, privilege)| trial(names, table, privilege)).collect()
}

fn trial(names: &TableNames, table: &Table, privilege: &'static str) -> Trial {
    let name = names.quoted(table.word, '`');
    let columns: Vec<&str> = table.columns().collect();
    let list = columns.join(", ");
    let statement = match privilege {
        "INSERT" => {
            let nothing = vec!["NULL"; columns.len()].join(", ");
            format!("INSERT INTO {name} ({list}) SELECT {nothing} FROM DUAL WHERE FALSE")
        }
        // Of a constant, because what is read needs another privilege.
        "UPDATE" => format!("UPDATE {name} SET {} = NULL WHERE FALSE", updated(table)),
        "DELETE" => format!("DELETE FROM {name} WHERE FALSE"),
        _ => format!("SELECT {list}{} FROM {name} LIMIT 0", computed(table)),
    };
    Trial { privilege, table: name, statement }
}

/// What the store reads beyond the columns that it writes.
fn computed(table: &Table) -> &'static str {
    if table.word == "message" { ", failed_lane" } else { "" }
}

/// A column that the store updates, of each table of which it updates any.
fn updated(table: &Table) -> &'static str {
    match table.word {
        "lane" => "token",
        "message" => "last_error",
        "worker" => "wants_lanes",
        _ => "lane",
    }
}
