//! What fills the tables and views of `pg_catalog`.

mod activity;
mod columns;
pub(in crate::datafusion::planning) mod comments;
mod constraints;
mod databases;
mod dependencies;
mod indexes;
mod locks;
mod relations;
pub(in crate::datafusion::planning) mod roles;
mod sequences;
mod sessions;
mod settings;
mod statements;
mod statistics;
mod types;
mod views;
mod zones;

use super::Fill;

/// What fills the table of this name; `None` if nothing does, beside what is fixed.
pub(super) fn fill(name: &str) -> Option<Fill> {
    Some(match name {
        "pg_attrdef" => columns::pg_attrdef,
        "pg_attribute" => columns::pg_attribute,
        "pg_auth_members" | "pg_authid" | "pg_db_role_setting" | "pg_group" | "pg_roles" | "pg_shadow" | "pg_user" => {
            roles::fill(name)?
        }
        "pg_class" => relations::pg_class,
        "pg_constraint" => constraints::pg_constraint,
        "pg_cursors" => sessions::pg_cursors,
        "pg_database" => databases::pg_database,
        "pg_depend" => dependencies::pg_depend,
        "pg_description" => comments::pg_description,
        "pg_enum" => types::pg_enum,
        "pg_index" => indexes::pg_index,
        "pg_indexes" => views::pg_indexes,
        "pg_namespace" => databases::pg_namespace,
        "pg_rewrite" => relations::pg_rewrite,
        "pg_sequence" => sequences::pg_sequence,
        "pg_sequences" => sequences::pg_sequences,
        "pg_settings" => settings::pg_settings,
        "pg_shdescription" => comments::pg_shdescription,
        "pg_locks" => locks::pg_locks,
        "pg_stat_activity" => activity::pg_stat_activity,
        "pg_stat_all_indexes" | "pg_stat_user_indexes" | "pg_statio_all_indexes" | "pg_statio_user_indexes" => {
            statistics::indexes
        }
        "pg_stat_all_tables" | "pg_stat_user_tables" => statistics::tables,
        "pg_stat_database" => activity::pg_stat_database,
        "pg_stat_progress_copy" => activity::pg_stat_progress_copy,
        "pg_stat_statements" => statements::pg_stat_statements,
        "pg_stat_statements_info" => statements::pg_stat_statements_info,
        "pg_statio_all_tables" | "pg_statio_user_tables" => statistics::tables_read,
        "pg_statio_all_sequences" | "pg_statio_user_sequences" => statistics::sequences_read,
        "pg_tables" => views::pg_tables,
        "pg_timezone_names" => zones::pg_timezone_names,
        "pg_type" => types::pg_type,
        "pg_views" => views::pg_views,
        _ => return None,
    })
}
