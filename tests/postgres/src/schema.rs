//! Tables with rows: what queries are made over.

use crate::random::Random;
use crate::types::Type;

/// Names of columns with the type that most tables give them. They are few, so that tables share them.
const COLUMNS: [(&str, Type); 12] = [
    ("k", Type::Integer),
    ("g", Type::Integer),
    ("h", Type::BigInt),
    ("m", Type::SmallInt),
    ("b", Type::Boolean),
    ("s", Type::Text),
    ("u", Type::Text),
    ("d", Type::Decimal),
    ("n", Type::Numeric),
    ("f", Type::Double),
    ("e", Type::Date),
    ("z", Type::Timestamp),
];

/// Rows of a table, at most.
const ROWS_MAX: usize = 9;

/// Tables with their rows.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The tables.
    pub tables: Vec<Table>,
}

/// A table with its rows.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns; the first one, `id`, is different in every row.
    pub columns: Vec<(String, Type)>,
    /// Its rows, values as SQL writes them.
    pub rows: Vec<Vec<String>>,
    /// Columns that have an index of their own where tables have indexes.
    pub indexed: Vec<String>,
}

impl Schema {
    /// Two to four tables.
    #[must_use]
    pub fn generate(random: &mut Random) -> Self {
        let tables = 2 + random.below(3);
        Self { tables: (0..tables).map(|number| Table::generate(random, format!("t{number}"))).collect() }
    }

    /// The statements that make the tables, with keys and indexes or without.
    #[must_use]
    pub fn statements(&self, indexes: bool) -> Vec<String> {
        self.tables.iter().flat_map(|table| table.statements(indexes)).collect()
    }
}

impl Table {
    fn generate(random: &mut Random, name: String) -> Self {
        let mut columns = vec![("id".to_owned(), Type::Integer)];
        let mut left = COLUMNS.to_vec();
        for _ in 0..2 + random.below(4) {
            // The first names are taken more often than the last ones.
            let at = random.below(left.len()).min(random.below(left.len()));
            let (name, usual) = left.remove(at);
            let other = random.chance(10) && usual.is_number();
            let data_type = if other {
                random.pick(&[Type::SmallInt, Type::Integer, Type::BigInt, Type::Decimal, Type::Numeric, Type::Double])
            } else {
                usual
            };
            columns.push((name.to_owned(), data_type));
        }
        let nulls = random.pick(&[0, 15, 30, 60]);
        let rows = if random.chance(7) { 0 } else { 1 + random.below(ROWS_MAX) };
        let rows = (1..=rows).map(|id| {
            let mut row = vec![id.to_string()];
            for (_, data_type) in &columns[1..] {
                row.push(if random.chance(nulls) { "NULL".to_owned() } else { data_type.value(random) });
            }
            row
        });
        let rows = rows.collect();
        let indexed = columns[1..].iter().filter(|_| random.chance(40)).map(|(name, _)| name.clone()).collect();
        Self { name, columns, rows, indexed }
    }

    fn statements(&self, indexes: bool) -> Vec<String> {
        let Self { name, columns, rows, indexed } = self;
        let key = |at: usize| if indexes && at == 0 { " PRIMARY KEY" } else { "" };
        let columns = columns.iter().enumerate();
        let columns: Vec<_> =
            columns.map(|(at, (column, data_type))| format!("{column} {}{}", data_type.sql(), key(at))).collect();
        let mut statements = vec![format!("CREATE TABLE {name} ({})", columns.join(", "))];
        if indexes {
            statements
                .extend(indexed.iter().map(|column| format!("CREATE INDEX {name}_{column} ON {name} ({column})")));
        }
        if !rows.is_empty() {
            let rows: Vec<_> = rows.iter().map(|row| format!("({})", row.join(", "))).collect();
            statements.push(format!("INSERT INTO {name} VALUES {}", rows.join(", ")));
        }
        statements
    }
}
