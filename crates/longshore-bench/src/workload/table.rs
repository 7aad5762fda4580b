//! Decides how a workload declares its tables: columns and indexes by name, once, as a struct of typed handles.
//!
//! A table is created empty, filled (`fill.rs`), and then opened: that builds its indexes over the rows.

use std::sync::Arc;

use longshore_storage::{Index, IndexKind, Relation, Uniqueness};

use crate::Failure;

/// Declares a table. The struct has the relation, a handle per column and one per index, named as declared.
macro_rules! table {
    (
        $(#[$about:meta])* $table:ident = $name:literal;
        columns { $($column:ident: $type:ty = $sql:expr $(, $null:ident)?;)* }
        indexes { $($index:ident: $kind:ident $uniqueness:ident ($($part:ident),*);)* }
    ) => {
        $(#[$about])*
        #[allow(dead_code, reason = "the columns that no transaction reads are declared all the same")]
        pub(super) struct $table {
            pub(super) relation: std::sync::Arc<longshore_storage::Relation>,
            $(pub(super) $column: longshore_storage::Field<$type>,)*
            $(pub(super) $index: std::sync::Arc<longshore_storage::Index>,)*
        }

        impl $table {
            /// The table without rows.
            pub(super) fn create(
                memory: &std::sync::Arc<longshore_storage::Memory>,
                transactions: &std::sync::Arc<longshore_storage::Transactions>,
            ) -> std::sync::Arc<longshore_storage::Relation> {
                let columns = vec![
                    $(longshore_storage::Column::new(
                        stringify!($column), $sql, <[&str]>::contains(&[$(stringify!($null))?], &"null"),
                    )),*
                ];
                let schema = std::sync::Arc::new(longshore_storage::Schema::new(columns));
                let memory = std::sync::Arc::clone(memory);
                let relation = longshore_storage::Relation::in_database(schema, memory, transactions);
                std::sync::Arc::new(relation.with_name($name))
            }

            /// The table with its rows: builds the indexes.
            ///
            /// # Errors
            ///
            /// When a key that must be unique is there twice, or memory is short.
            pub(super) fn open(
                relation: std::sync::Arc<longshore_storage::Relation>,
            ) -> Result<$table, $crate::Failure> {
                Ok($table {
                    $($column: relation.column(stringify!($column))?,)*
                    $($index: $crate::workload::table::index(
                        &relation,
                        concat!($name, "_", stringify!($index)),
                        &[$(stringify!($part)),*],
                        longshore_storage::IndexKind::$kind,
                        longshore_storage::Uniqueness::$uniqueness,
                    )?,)*
                    relation,
                })
            }
        }
    };
}

pub(super) use table;

/// Builds an index over the columns of these names.
///
/// # Errors
///
/// When there is no such column, a key that must be unique is there twice, or memory is short.
pub(super) fn index(
    relation: &Arc<Relation>,
    name: &str,
    columns: &[&str],
    kind: IndexKind,
    uniqueness: Uniqueness,
) -> Result<Arc<Index>, Failure> {
    let position = |column: &&str| relation.schema().index_of(column).ok_or_else(|| format!("no column {column}"));
    let columns: Vec<usize> = columns.iter().map(position).collect::<Result<_, _>>()?;
    Ok(relation.create_index(name, &columns, kind, uniqueness)?)
}
