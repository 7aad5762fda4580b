//! `information_schema`, as the SQL standard and PostgreSQL have it: tables of what the catalog holds, made when a statement
//! names them.
//!
//! Columns that say nothing here are left out, but for those that programs ask for. What is temporary is shown to its own
//! session only. Functions and settings are described by `DataFusion`'s own tables.

mod columns;
mod measures;
mod privileges;

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::Result;
use longshore_storage::{ColumnType, ReferenceMatch, ReferenceTiming};
use sqlparser::ast::ReferentialAction;

use columns::{
    CHECK_CONSTRAINTS, COLUMNS, CONSTRAINT_COLUMN_USAGE, Cell, KEY_COLUMN_USAGE, REFERENTIAL_CONSTRAINTS, SCHEMATA,
    SEQUENCES, TABLE_CONSTRAINTS, TABLES, VIEWS,
};
use measures::Measures;

use super::planner::Planner;
use crate::catalog::{Commented, Entry, Key, Origin, Role, Rules, SYSTEM_SCHEMAS, Table};
use crate::datafusion::type_name::type_name;
use crate::sql::names::{self, CATALOG, SCHEMA};

/// The table of this name, if it is one of these.
pub(super) fn table(planner: &Planner, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
    let described = Described { planner };
    let (columns, rows) = match name {
        "tables" => (TABLES, described.tables()),
        "views" => (VIEWS, described.views()),
        "schemata" => (SCHEMATA, described.schemata()),
        "columns" => (COLUMNS, described.columns()),
        "table_constraints" => (TABLE_CONSTRAINTS, described.table_constraints()),
        "key_column_usage" => (KEY_COLUMN_USAGE, described.key_columns()),
        "constraint_column_usage" => (CONSTRAINT_COLUMN_USAGE, described.constraint_columns()),
        "referential_constraints" => (REFERENTIAL_CONSTRAINTS, described.references()),
        "check_constraints" => (CHECK_CONSTRAINTS, described.checks()),
        "sequences" => (SEQUENCES, described.sequences()),
        "table_privileges" => (privileges::TABLE_PRIVILEGES, described.table_privileges(false)),
        "role_table_grants" => (privileges::TABLE_PRIVILEGES, described.table_privileges(true)),
        "column_privileges" => (privileges::COLUMN_PRIVILEGES, described.column_privileges()),
        "enabled_roles" => (privileges::ENABLED_ROLES, described.enabled_roles()),
        "applicable_roles" => (privileges::APPLICABLE_ROLES, described.applicable_roles()),
        _ => return Ok(None),
    };
    Ok(Some(columns::made(columns, &rows)?))
}

/// What there is to describe.
struct Described<'a> {
    planner: &'a Planner,
}

fn yes(value: bool) -> &'static str {
    if value { "YES" } else { "NO" }
}

/// The catalog, the schema and the name of something.
fn place(name: &str) -> [Cell; 3] {
    let (schema, own) = names::parts(name);
    [CATALOG.into(), schema.into(), own.into()]
}

/// The catalog, the schema and the name of a constraint of a table.
fn constraint(table: &Table, name: &str) -> [Cell; 3] {
    [CATALOG.into(), names::parts(&table.name).0.into(), name.into()]
}

fn row<const N: usize>(parts: [&mut dyn Iterator<Item = Cell>; N]) -> Vec<Cell> {
    parts.into_iter().flatten().collect()
}

impl Described<'_> {
    fn entries(&self) -> Vec<Entry> {
        let path = self.planner.transaction.numbers().path();
        let entries = self.planner.catalog.entries().into_iter().filter(|entry| path.may_see(entry.name()));
        entries.map(|entry| self.planner.transaction.seen(entry)).collect()
    }

    fn base_tables(&self) -> Vec<(Arc<Table>, Arc<Rules>)> {
        let tables = self.entries().into_iter().filter_map(|entry| entry.table());
        tables.map(|table| (Arc::clone(&table), table.rules())).collect()
    }

    fn tables(&self) -> Vec<Vec<Cell>> {
        let table = |entry: Entry| {
            let is_table = matches!(entry, Entry::Table(_));
            let is_temporary = crate::catalog::is_temporary(entry.name());
            let kind = match (is_table, is_temporary) {
                (false, _) => "VIEW",
                (true, true) => "LOCAL TEMPORARY",
                (true, false) => "BASE TABLE",
            };
            let further: [Cell; 4] = [kind.into(), yes(is_table).into(), "NO".into(), Cell::Null];
            row([&mut place(entry.name()).into_iter(), &mut further.into_iter()])
        };
        self.entries().into_iter().map(table).collect()
    }

    fn views(&self) -> Vec<Vec<Cell>> {
        let mut views = Vec::new();
        for entry in self.entries() {
            let Entry::View(view) = entry else { continue };
            let further: [Cell; 4] = [view.sql.as_str().into(), "NONE".into(), "NO".into(), "NO".into()];
            views.push(row([&mut place(&view.name).into_iter(), &mut further.into_iter()]));
        }
        views
    }

    fn schemata(&self) -> Vec<Vec<Cell>> {
        let definitions = self.planner.catalog.definitions(Clone::clone);
        let mut schemas: Vec<String> = definitions.schemas.iter().cloned().collect();
        schemas.extend(SYSTEM_SCHEMAS.map(str::to_owned));
        if !definitions.lacks_public {
            schemas.push(SCHEMA.to_owned());
        }
        schemas.sort_unstable();
        let owner = |schema: &str| definitions.roles.name(definitions.owner(&Commented::Schema(schema.to_owned())));
        schemas.into_iter().map(|schema| vec![CATALOG.into(), schema.as_str().into(), owner(&schema).into()]).collect()
    }

    fn columns(&self) -> Vec<Vec<Cell>> {
        let mut rows = Vec::new();
        for entry in self.entries() {
            match &entry {
                Entry::Table(table) => {
                    let rules = table.rules();
                    for at in 0..table.relation.schema().columns().len() {
                        rows.push(column_of_table(table, &rules, at));
                    }
                }
                Entry::View(view) => {
                    let Some(provider) = self.planner.names.lookup(&view.name) else { continue };
                    for (at, field) in provider.schema().fields().iter().enumerate() {
                        let further: [Cell; 5] =
                            [field.name().as_str().into(), (at + 1).into(), Cell::Null, "YES".into(), Cell::Null];
                        let mut cells = row([&mut place(&view.name).into_iter(), &mut further.into_iter()]);
                        cells[7] = type_name(field.data_type()).into();
                        cells.resize_with(COLUMNS.len(), || Cell::Null);
                        cells[20] = "NO".into();
                        cells[22] = "NEVER".into();
                        cells[24] = "NO".into();
                        rows.push(cells);
                    }
                }
            }
        }
        rows
    }

    fn table_constraints(&self) -> Vec<Vec<Cell>> {
        let mut rows = Vec::new();
        for (table, rules) in self.base_tables() {
            let mut add = |name: &str, kind: &str, nulls: Option<&str>, timing: ReferenceTiming| {
                let (is_deferrable, is_deferred) =
                    (timing != ReferenceTiming::Immediate, timing == ReferenceTiming::Deferred);
                let further: [Cell; 5] =
                    [kind.into(), yes(is_deferrable).into(), yes(is_deferred).into(), "YES".into(), nulls.into()];
                rows.push(row([
                    &mut constraint(&table, name).into_iter(),
                    &mut place(&table.name).into_iter(),
                    &mut further.into_iter(),
                ]));
            };
            for key in &rules.keys {
                match key.role {
                    Role::Primary => add(&key.name, "PRIMARY KEY", None, ReferenceTiming::Immediate),
                    Role::Unique => add(&key.name, "UNIQUE", Some("YES"), ReferenceTiming::Immediate),
                    Role::UniqueIndex | Role::Index => {}
                }
            }
            for reference in &rules.references {
                add(&reference.name, "FOREIGN KEY", None, reference.timing);
            }
            for check in rules.checks.iter().filter(|check| check.user_type().is_none()) {
                add(&check.name, "CHECK", None, ReferenceTiming::Immediate);
            }
            for (at, column) in table.relation.schema().columns().iter().enumerate().filter(|(_, of)| !of.nullable) {
                add(&not_null_name(&rules, at, &column.name), "CHECK", None, ReferenceTiming::Immediate);
            }
        }
        rows
    }

    fn key_columns(&self) -> Vec<Vec<Cell>> {
        let mut rows = Vec::new();
        for (table, rules) in self.base_tables() {
            let columns = table.relation.schema().columns();
            let mut add = |name: &str, of: &[usize], in_unique: &dyn Fn(usize) -> Cell| {
                for (at, column) in of.iter().enumerate() {
                    let further: [Cell; 3] = [columns[*column].name.as_str().into(), (at + 1).into(), in_unique(at)];
                    rows.push(row([
                        &mut constraint(&table, name).into_iter(),
                        &mut place(&table.name).into_iter(),
                        &mut further.into_iter(),
                    ]));
                }
            };
            for key in rules.keys.iter().filter(|key| is_constraint(key)) {
                add(&key.name, &key.columns, &|_| Cell::Null);
            }
            for reference in &rules.references {
                let unique = self.unique_of(reference);
                let place = |at: usize| {
                    let (parent, key) = unique.as_ref()?;
                    let name = reference.referenced.get(at)?;
                    let column = parent.relation.schema().index_of(name)?;
                    key.columns.iter().position(|of| *of == column).map(|at| at + 1)
                };
                add(&reference.name, &reference.columns, &|at| place(at).into());
            }
        }
        rows
    }

    /// The table that a foreign key refers to, and the key of it.
    fn unique_of(&self, reference: &crate::catalog::Reference) -> Option<(Arc<Table>, Key)> {
        let parent = self.planner.catalog.table(&reference.table)?;
        let schema = parent.relation.schema();
        let mut columns: Vec<usize> = reference.referenced.iter().filter_map(|name| schema.index_of(name)).collect();
        columns.sort_unstable();
        let rules = parent.rules();
        let is_it = |key: &&Key| {
            let mut of = key.columns.clone();
            of.sort_unstable();
            key.role.is_unique() && of == columns
        };
        let key = rules.keys.iter().find(is_it)?.clone();
        Some((parent, key))
    }

    fn constraint_columns(&self) -> Vec<Vec<Cell>> {
        let mut rows = Vec::new();
        for (table, rules) in self.base_tables() {
            let mut add = |of: &Table, name: &str, column: &str| {
                let column: [Cell; 1] = [column.into()];
                rows.push(row([
                    &mut place(&of.name).into_iter(),
                    &mut column.into_iter(),
                    &mut constraint(&table, name).into_iter(),
                ]));
            };
            let columns = table.relation.schema().columns();
            for key in rules.keys.iter().filter(|key| is_constraint(key)) {
                key.columns.iter().for_each(|column| add(&table, &key.name, &columns[*column].name));
            }
            for check in rules.checks.iter().filter(|check| check.user_type().is_none()) {
                check.columns.iter().for_each(|column| add(&table, &check.name, &columns[*column].name));
            }
            for reference in &rules.references {
                if let Some((parent, _)) = self.unique_of(reference) {
                    reference.referenced.iter().for_each(|column| add(&parent, &reference.name, column));
                }
            }
        }
        rows
    }

    fn references(&self) -> Vec<Vec<Cell>> {
        let action = |action: ReferentialAction| action.to_string();
        let mut rows = Vec::new();
        for (table, rules) in self.base_tables() {
            for reference in &rules.references {
                let unique = self.unique_of(reference);
                let unique = match &unique {
                    Some((parent, key)) => constraint(parent, &key.name),
                    None => [Cell::Null, Cell::Null, Cell::Null],
                };
                let matching = if reference.matching == ReferenceMatch::Full { "FULL" } else { "NONE" };
                let further: [Cell; 3] =
                    [matching.into(), action(reference.on_update).into(), action(reference.on_delete).into()];
                rows.push(row([
                    &mut constraint(&table, &reference.name).into_iter(),
                    &mut unique.into_iter(),
                    &mut further.into_iter(),
                ]));
            }
        }
        rows
    }

    fn checks(&self) -> Vec<Vec<Cell>> {
        let mut rows = Vec::new();
        for (table, rules) in self.base_tables() {
            let mut add = |name: &str, clause: String| {
                let clause: [Cell; 1] = [clause.into()];
                rows.push(row([&mut constraint(&table, name).into_iter(), &mut clause.into_iter()]));
            };
            for check in rules.checks.iter().filter(|check| check.user_type().is_none()) {
                add(&check.name, format!("({})", check.condition));
            }
            for (at, column) in table.relation.schema().columns().iter().enumerate().filter(|(_, of)| !of.nullable) {
                add(&not_null_name(&rules, at, &column.name), format!("{} IS NOT NULL", column.name));
            }
        }
        rows
    }

    fn sequences(&self) -> Vec<Vec<Cell>> {
        let path = self.planner.transaction.numbers().path();
        let sequences = self.planner.catalog.sequences().into_iter().filter(|sequence| path.may_see(&sequence.name));
        let sequence = |sequence: Arc<crate::catalog::Sequence>| {
            let definition = sequence.definition();
            let (name, bits) = match definition.column_type {
                ColumnType::SmallInt => ("smallint", 16),
                ColumnType::Integer => ("integer", 32),
                _ => ("bigint", 64),
            };
            let further: [Cell; 9] = [
                name.into(),
                Cell::Number(bits),
                Cell::Number(2),
                Cell::Number(0),
                definition.start.to_string().into(),
                definition.min.to_string().into(),
                definition.max.to_string().into(),
                definition.increment.to_string().into(),
                yes(definition.cycle).into(),
            ];
            row([&mut place(&sequence.name).into_iter(), &mut further.into_iter()])
        };
        sequences.map(sequence).collect()
    }
}

fn is_constraint(key: &Key) -> bool {
    matches!(key.role, Role::Primary | Role::Unique)
}

/// What the NOT NULL of a column is called.
fn not_null_name(rules: &Rules, at: usize, column: &str) -> String {
    let given = rules.columns.get(at).and_then(|rule| rule.not_null.clone());
    given.unwrap_or_else(|| format!("{column}_not_null"))
}

fn column_of_table(table: &Table, rules: &Rules, at: usize) -> Vec<Cell> {
    let column = &table.relation.schema().columns()[at];
    let origin = rules.origin(at);
    let is_array = rules.named_user_type(at).is_some_and(|name| name.ends_with("[]"));
    let named = rules.user_type(at).filter(|_| !is_array);
    let user_type = named.filter(|_| {
        // A domain is shown as what it is over, beside its name.
        rules.checks.iter().any(|check| check.user_type().is_some_and(|(_, constraint)| constraint.is_empty()))
    });
    let domain = named.filter(|_| user_type.is_none());
    let default = match origin {
        Origin::Default(expr) => Some(expr.to_string()),
        Origin::Null | Origin::Identity { .. } | Origin::Generated(_) => None,
    };
    let of = Measures::of(column.column_type);
    let (data_type, udt) = if user_type.is_some() { ("USER-DEFINED".to_owned(), "") } else { (of.name, of.udt) };
    let number = |value: Option<i32>| value.map_or(Cell::Null, Cell::Number);
    let in_domain: [Cell; 3] = domain.map_or([Cell::Null, Cell::Null, Cell::Null], place);
    let in_type: [Cell; 3] = match user_type {
        Some(name) => place(name),
        None => [CATALOG.into(), SYSTEM_SCHEMAS[1].into(), udt.into()],
    };
    let generation = match origin {
        Origin::Identity { always: true, .. } => Some("ALWAYS"),
        Origin::Identity { always: false, .. } => Some("BY DEFAULT"),
        _ => None,
    };
    let expression = match origin {
        Origin::Generated(expr) => Some(expr.to_string()),
        _ => None,
    };
    let first: [Cell; 11] = [
        column.name.as_str().into(),
        (at + 1).into(),
        default.into(),
        yes(column.nullable).into(),
        data_type.into(),
        number(of.characters),
        number(of.octets),
        number(of.precision),
        number(of.radix),
        number(of.scale),
        number(of.datetime),
    ];
    let last: [Cell; 5] = [
        yes(generation.is_some()).into(),
        generation.into(),
        if expression.is_some() { "ALWAYS".into() } else { "NEVER".into() },
        expression.into(),
        "YES".into(),
    ];
    row([
        &mut place(&table.name).into_iter(),
        &mut first.into_iter(),
        &mut in_domain.into_iter(),
        &mut in_type.into_iter(),
        &mut last.into_iter(),
    ])
}
