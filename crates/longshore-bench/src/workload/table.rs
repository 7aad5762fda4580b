//! Decides how a workload declares its tables: columns and indexes by name, and typed handles of what it works with.
//!
//! A table is created empty, filled (`fill.rs`), and then opened: that builds its indexes over the rows.

use std::sync::Arc;

use longshore_storage::{Index, IndexKind, Relation, Uniqueness};

use crate::Failure;

/// Declares a table. The struct has the relation, and handles of the fields and of the indexes, named as declared.
/// Fields are those columns that transactions name.
macro_rules! table {
    (
        $(#[$about:meta])* $table:ident = $name:literal;
        columns { $($column:ident = $sql:expr $(, $null:ident)?;)* }
        fields { $($field:ident: $type:ty;)* }
        indexes { $($index:ident: $kind:ident $uniqueness:ident ($($part:ident),*);)* }
    ) => {
        $(#[$about])*
        pub(super) struct $table {
            pub(super) relation: std::sync::Arc<longshore_storage::Relation>,
            $(pub(super) $field: longshore_storage::Field<$type>,)*
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
                    $($field: relation.column(stringify!($field))?,)*
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

/// Declares the tables of a workload: `Tables`, which are empty and know how to be populated, and the `Database` that
/// they become. It knows how large it is.
macro_rules! database {
    ($size:ident: $sizes:ty; $($table:ident: $type:ident),* $(,)?) => {
        /// The tables, empty.
        pub(super) struct Tables {
            $(pub(super) $table: std::sync::Arc<longshore_storage::Relation>,)*
        }

        /// The database.
        pub(super) struct Database {
            pub(super) transactions: std::sync::Arc<longshore_storage::Transactions>,
            pub(super) $size: $sizes,
            $(pub(super) $table: $type,)*
        }

        impl Database {
            /// A database as the specification populates it, with indexes.
            ///
            /// # Errors
            ///
            /// When memory is short.
            pub(super) fn populated($size: $sizes) -> Result<Database, $crate::Failure> {
                Database::populated_in(longshore_storage::Transactions::new(), $size, |_| Ok(()))
            }

            /// The same among the transactions of a database. Before the tables are populated, `prepare` takes them, in the
            /// order in which they are declared.
            ///
            /// # Errors
            ///
            /// When memory is short, or those of `prepare`.
            pub(super) fn populated_in(
                transactions: std::sync::Arc<longshore_storage::Transactions>,
                $size: $sizes,
                prepare: impl FnOnce(&[&longshore_storage::Relation]) -> Result<(), $crate::Failure>,
            ) -> Result<Database, $crate::Failure> {
                let memory = longshore_storage::Memory::new(None);
                let tables = Tables { $($table: $type::create(&memory, &transactions),)* };
                prepare(&[$(&tables.$table),*])?;
                tables.populate($size)?;
                Ok(Database { transactions, $size, $($table: $type::open(tables.$table)?,)* })
            }

            /// The same of tables that were opened, in the order in which they are declared. Builds their indexes.
            ///
            /// # Errors
            ///
            /// When a table is missing, a key that must be unique is there twice, or memory is short.
            #[allow(dead_code, reason = "not every workload opens what it has stored")]
            pub(super) fn of_relations(
                transactions: std::sync::Arc<longshore_storage::Transactions>,
                $size: $sizes,
                relations: impl IntoIterator<Item = longshore_storage::Relation>,
            ) -> Result<Database, $crate::Failure> {
                let mut relations = relations.into_iter();
                let mut next = || relations.next().map(std::sync::Arc::new).ok_or("a table did not come back");
                Ok(Database { transactions, $size, $($table: $type::open(next()?)?,)* })
            }
        }
    };
}

pub(super) use database;

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
