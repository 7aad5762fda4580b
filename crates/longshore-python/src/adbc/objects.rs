//! What there is in a database, as ADBC asks for it: the catalog, its schemas, their tables, and the columns and constraints of these,
//! each level a list within the one above.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Int16Array, Int32Array, ListArray, RecordBatch, StringArray, StructArray, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema};

use super::problem::Problem;
use super::session::{Session, TextRow};

/// What is asked for; names are patterns of LIKE.
pub(super) struct Asked<'a> {
    pub(super) depth: c_int,
    pub(super) catalog: Option<&'a str>,
    pub(super) schema: Option<&'a str>,
    pub(super) table: Option<&'a str>,
    pub(super) kinds: Option<Vec<&'a str>>,
    pub(super) column: Option<&'a str>,
}

const CATALOGS: c_int = 1;
const SCHEMAS: c_int = 2;
const TABLES: c_int = 3;

/// Kinds of tables, as the information schema has them.
const KINDS: [&str; 3] = ["BASE TABLE", "VIEW", "LOCAL TEMPORARY"];

/// The fields of a column; those that are known are filled in.
static COLUMN: [(&str, DataType); 19] = [
    ("column_name", DataType::Utf8),
    ("ordinal_position", DataType::Int32),
    ("remarks", DataType::Utf8),
    ("xdbc_data_type", DataType::Int16),
    ("xdbc_type_name", DataType::Utf8),
    ("xdbc_column_size", DataType::Int32),
    ("xdbc_decimal_digits", DataType::Int16),
    ("xdbc_num_prec_radix", DataType::Int16),
    ("xdbc_nullable", DataType::Int16),
    ("xdbc_column_def", DataType::Utf8),
    ("xdbc_sql_data_type", DataType::Int16),
    ("xdbc_datetime_sub", DataType::Int16),
    ("xdbc_char_octet_length", DataType::Int32),
    ("xdbc_is_nullable", DataType::Utf8),
    ("xdbc_scope_catalog", DataType::Utf8),
    ("xdbc_scope_schema", DataType::Utf8),
    ("xdbc_scope_table", DataType::Utf8),
    ("xdbc_is_autoincrement", DataType::Boolean),
    ("xdbc_is_generatedcolumn", DataType::Boolean),
];

const OF_COLUMNS: &str = "SELECT table_schema, table_name, column_name, ordinal_position, data_type, column_default, is_nullable \
     FROM information_schema.columns WHERE table_schema LIKE $1 AND table_name LIKE $2 AND column_name LIKE $3 \
     ORDER BY table_schema, table_name, ordinal_position";

const OF_CONSTRAINTS: &str = "SELECT c.table_schema, c.table_name, c.constraint_name, c.constraint_type, k.column_name, \
            f.table_schema, f.table_name, f.column_name \
     FROM information_schema.table_constraints c \
     LEFT JOIN information_schema.key_column_usage k \
       ON k.constraint_schema = c.constraint_schema AND k.constraint_name = c.constraint_name \
       AND k.table_name = c.table_name \
     LEFT JOIN information_schema.referential_constraints r \
       ON r.constraint_schema = c.constraint_schema AND r.constraint_name = c.constraint_name \
       AND c.constraint_type = 'FOREIGN KEY' \
     LEFT JOIN information_schema.key_column_usage f \
       ON f.constraint_schema = r.unique_constraint_schema AND f.constraint_name = r.unique_constraint_name \
       AND f.ordinal_position = k.position_in_unique_constraint \
     WHERE c.table_schema LIKE $1 AND c.table_name LIKE $2 \
       AND (k.column_name IS NOT NULL OR c.constraint_name NOT LIKE '%not_null') \
     ORDER BY c.table_schema, c.table_name, c.constraint_name, k.ordinal_position";

/// Rows of one table.
type ByTable = BTreeMap<(String, String), Vec<TextRow>>;

fn by_table(rows: Vec<TextRow>) -> ByTable {
    let mut tables = ByTable::new();
    for row in rows {
        let [Some(schema), Some(table)] = &row[..2] else { continue };
        tables.entry((schema.clone(), table.clone())).or_default().push(row[2..].to_vec());
    }
    tables
}

fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

fn structs(fields: Vec<(&str, ArrayRef, bool)>) -> Result<ArrayRef, Problem> {
    let made = fields.iter().map(|(name, array, nullable)| Field::new(*name, array.data_type().clone(), *nullable));
    let made: Fields = made.collect();
    let arrays = fields.into_iter().map(|(_, array, _)| array).collect();
    Ok(Arc::new(StructArray::try_new(made, arrays, None)?))
}

/// Lists of so many values each; `None` for NULL.
fn lists(values: ArrayRef, lengths: &[Option<usize>]) -> Result<ArrayRef, Problem> {
    let item = Arc::new(Field::new("item", values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lengths.iter().map(|length| length.unwrap_or(0)));
    let nulls: NullBuffer = lengths.iter().map(Option::is_some).collect();
    Ok(Arc::new(ListArray::try_new(item, offsets, values, Some(nulls))?))
}

fn cell(row: &[Option<String>], at: usize) -> Option<&str> {
    row.get(at).and_then(Option::as_deref)
}

/// The columns of tables, one after the other.
fn columns(rows: &[&TextRow]) -> Result<ArrayRef, Problem> {
    let of = |at: usize| texts(rows.iter().map(|row| cell(row, at)));
    let positions: Int32Array = rows.iter().map(|row| cell(row, 1)?.parse().ok()).collect();
    let nullable: Int16Array = rows.iter().map(|row| Some(i16::from(cell(row, 4)? == "YES"))).collect();
    let known = |name: &str| -> Option<ArrayRef> {
        Some(match name {
            "column_name" => of(0),
            "ordinal_position" => Arc::new(positions.clone()),
            "xdbc_type_name" => of(2),
            "xdbc_column_def" => of(3),
            "xdbc_is_nullable" => of(4),
            "xdbc_nullable" => Arc::new(nullable.clone()),
            _ => return None,
        })
    };
    let fields = COLUMN.iter().map(|(name, data_type)| {
        (*name, known(name).unwrap_or_else(|| new_null_array(data_type, rows.len())), *name != "column_name")
    });
    structs(fields.collect())
}

/// The constraints of tables, one after the other; each comes with the rows of its columns.
fn constraints(all: &[&[TextRow]]) -> Result<ArrayRef, Problem> {
    let first = |at: usize| texts(all.iter().map(move |rows| rows.first().and_then(|row| cell(row, at))));
    let named = || all.iter().flat_map(|rows| rows.iter().filter(|row| cell(row, 2).is_some()));
    let names = texts(named().map(|row| cell(row, 2)));
    let counts = all.iter().map(|rows| Some(rows.iter().filter(|row| cell(row, 2).is_some()).count()));
    let names = lists(names, &counts.collect::<Vec<_>>())?;
    let referring = || all.iter().flat_map(|rows| rows.iter().filter(|row| cell(row, 4).is_some()));
    let of = |at: usize| texts(referring().map(|row| cell(row, at)));
    let usage = structs(vec![
        ("fk_catalog", new_null_array(&DataType::Utf8, referring().count()), true),
        ("fk_db_schema", of(3), true),
        ("fk_table", of(4), false),
        ("fk_column_name", of(5), false),
    ])?;
    let counts = all.iter().map(|rows| Some(rows.iter().filter(|row| cell(row, 4).is_some()).count()));
    let usage = lists(usage, &counts.collect::<Vec<_>>())?;
    structs(vec![
        ("constraint_name", first(0), true),
        ("constraint_type", first(1), false),
        ("constraint_column_names", names, false),
        ("constraint_column_usage", usage, true),
    ])
}

/// The rows of each constraint, which stand one after the other.
fn by_constraint(rows: &[TextRow]) -> Vec<&[TextRow]> {
    rows.chunk_by(|one, next| cell(one, 0) == cell(next, 0)).collect()
}

/// The tables of schemas, one after the other.
fn tables(rows: &[&TextRow], columns_of: Option<&ByTable>, constraints_of: &ByTable) -> Result<ArrayRef, Problem> {
    let keys: Vec<_> = rows
        .iter()
        .map(|row| (cell(row, 0).unwrap_or_default().to_owned(), cell(row, 1).unwrap_or_default().to_owned()))
        .collect();
    let of_columns: Vec<_> = keys.iter().map(|key| columns_of?.get(key).map(Vec::as_slice)).collect();
    let of_constraints: Vec<_> =
        keys.iter().map(|key| by_constraint(constraints_of.get(key).map_or(&[][..], Vec::as_slice))).collect();
    let is_deep = columns_of.is_some();
    let lengths: Vec<_> = of_columns.iter().map(|rows| is_deep.then(|| rows.map_or(0, <[_]>::len))).collect();
    let all_columns: Vec<_> = of_columns.into_iter().flatten().flatten().collect();
    let column_lists = lists(columns(&all_columns)?, &lengths)?;
    let lengths: Vec<_> = of_constraints.iter().map(|rows| is_deep.then_some(rows.len())).collect();
    let constraint_lists = lists(constraints(&of_constraints.concat())?, &lengths)?;
    structs(vec![
        ("table_name", texts(rows.iter().map(|row| cell(row, 1))), false),
        ("table_type", texts(rows.iter().map(|row| cell(row, 2))), false),
        ("table_columns", column_lists, true),
        ("table_constraints", constraint_lists, true),
    ])
}

/// What there is, of what is asked for.
pub(super) fn objects(session: &Session, asked: &Asked) -> Result<RecordBatch, Problem> {
    let sql = "SELECT current_database() WHERE current_database() LIKE $1";
    let found = session.texts(sql, &[asked.catalog.unwrap_or("%")])?;
    let catalog = found.first().and_then(|row| cell(row, 0)).map(str::to_owned);
    let (schema, table) = (asked.schema.unwrap_or("%"), asked.table.unwrap_or("%"));
    let mut schemas = Vec::new();
    let mut of_schemas: Vec<Vec<TextRow>> = Vec::new();
    let (mut of_columns, mut of_constraints) = (ByTable::new(), ByTable::new());
    let (has_schemas, has_tables) = (asked.depth != CATALOGS, !matches!(asked.depth, CATALOGS | SCHEMAS));
    let is_deep = has_tables && asked.depth != TABLES;
    if catalog.is_some() && has_schemas {
        let sql = "SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname LIKE $1 ORDER BY nspname";
        schemas = session.texts(sql, &[schema])?;
    }
    if catalog.is_some() && has_tables {
        let sql = "SELECT table_schema, table_name, table_type FROM information_schema.tables \
                   WHERE table_schema LIKE $1 AND table_name LIKE $2 ORDER BY table_schema, table_name";
        let rows = session.texts(sql, &[schema, table])?;
        let is_asked = |row: &TextRow| match &asked.kinds {
            Some(kinds) => cell(row, 2).is_some_and(|kind| kinds.contains(&kind)),
            None => true,
        };
        let mut of_schema = BTreeMap::<_, Vec<TextRow>>::new();
        for row in rows.into_iter().filter(is_asked) {
            of_schema.entry(row[0].clone()).or_default().push(row);
        }
        of_schemas = schemas.iter().map(|row| of_schema.remove(&row[0]).unwrap_or_default()).collect();
    }
    if catalog.is_some() && is_deep {
        of_columns = by_table(session.texts(OF_COLUMNS, &[schema, table, asked.column.unwrap_or("%")])?);
        of_constraints = by_table(session.texts(OF_CONSTRAINTS, &[schema, table])?);
    }
    let all: Vec<_> = of_schemas.iter().flatten().collect();
    let made = tables(&all, is_deep.then_some(&of_columns), &of_constraints)?;
    let lengths: Vec<_> =
        (0..schemas.len()).map(|at| has_tables.then(|| of_schemas.get(at).map_or(0, Vec::len))).collect();
    let made = structs(vec![
        ("db_schema_name", texts(schemas.iter().map(|row| cell(row, 0))), true),
        ("db_schema_tables", lists(made, &lengths)?, true),
    ])?;
    let lengths: Vec<_> = catalog.iter().map(|_| has_schemas.then_some(schemas.len())).collect();
    let (made, names) = (lists(made, &lengths)?, texts(catalog.iter().map(|name| Some(name.as_str()))));
    let schema = Schema::new(vec![
        Field::new("catalog_name", DataType::Utf8, true),
        Field::new("catalog_db_schemas", made.data_type().clone(), true),
    ]);
    Ok(RecordBatch::try_new(Arc::new(schema), vec![names, made])?)
}

/// The kinds of tables that there are.
pub(super) fn table_types() -> Result<RecordBatch, Problem> {
    let schema = Schema::new(vec![Field::new("table_type", DataType::Utf8, false)]);
    Ok(RecordBatch::try_new(Arc::new(schema), vec![texts(KINDS.iter().map(|kind| Some(*kind)))])?)
}
