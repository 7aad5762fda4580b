//! Tables of known types.

use longshore_testing::Random;

/// How decimals are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    Point,
    Comma,
}

/// A column and its values; `None` is NULL.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// What it is to be found as.
    pub(crate) value_type: &'static str,
    pub(crate) values: Vec<Option<String>>,
}

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
}

const NAMES: [&str; 20] = [
    "id",
    "customer",
    "Order Date",
    "amount",
    "unit_price",
    "City",
    "zip",
    "note",
    "active",
    "created_at",
    "uuid",
    "Ship-To",
    "qty",
    "ratio",
    "time",
    "Größe",
    "x",
    "y2",
    "Total (EUR)",
    "parent id",
];

const WORDS: [&str; 16] = [
    "Anna",
    "Berlin",
    "pending",
    "Los Angeles",
    "blue",
    "O'Neil",
    "5th Avenue",
    "Müller",
    "A-17",
    "x",
    "Paris",
    "done",
    "San José",
    "north west",
    "B/2",
    "tbd",
];

/// Makes a value for a row.
type MakeValue = fn(&mut Random, usize, Numbers) -> String;

/// The kinds of columns: their type, and a value of them.
const KINDS: [(&str, MakeValue); 18] = [
    ("INTEGER", |_, row, _| (row + 1).to_string()),
    ("INTEGER", |random, _, _| (random.below(200_000) as i64 - 100_000).to_string()),
    ("INTEGER", |random, _, _| random.below(2).to_string()),
    ("BIGINT", |random, _, _| (4_000_000_000 + random.below(9_000_000_000)).to_string()),
    ("DECIMAL(18,2)", |random, _, numbers| decimal(random, numbers)),
    ("DOUBLE PRECISION", |random, row, numbers| {
        if row % 3 == 0 { format!("{}e{}", random.below(9) + 1, random.below(12)) } else { decimal(random, numbers) }
    }),
    ("DATE", |random, _, _| date(random)),
    ("TIMESTAMP", |random, _, _| format!("{} {}", date(random), time(random))),
    ("TIMESTAMP", |random, _, _| format!("{}T{}.{:03}", date(random), time(random), random.below(1000))),
    ("TIMESTAMP WITH TIME ZONE", |random, _, _| format!("{}T{}Z", date(random), time(random))),
    ("TIME", |random, _, _| time(random)),
    ("BOOLEAN", |random, _, _| random.pick(&["true", "false"]).to_owned()),
    ("UUID", |random, _, _| {
        format!(
            "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
            random.below(1 << 32),
            random.below(1 << 16),
            random.below(1 << 12),
            random.below(1 << 12),
            random.below(1 << 48)
        )
    }),
    ("TEXT", |random, row, _| if row == 0 { "00501".to_owned() } else { format!("{:05}", random.below(99_999)) }),
    ("TEXT", |random, _, _| format!("+49 {} {}", random.below(900) + 100, random.below(900_000) + 100_000)),
    ("TEXT", |random, row, _| if row == 0 { "Berlin".to_owned() } else { random.pick(&WORDS).to_owned() }),
    ("TEXT", |random, row, _| {
        format!("{} {}", if row == 0 { "Anna" } else { random.pick(&WORDS) }, random.pick(&WORDS))
    }),
    ("DATE", |random, row, _| {
        let day = if row == 0 { 25 } else { random.below(28) + 1 };
        format!("{day:02}/{:02}/{}", random.below(12) + 1, 1990 + random.below(40))
    }),
];

fn decimal(random: &mut Random, numbers: Numbers) -> String {
    let point = if numbers == Numbers::Comma { ',' } else { '.' };
    format!("{}{point}{:02}", random.below(10_000), random.below(100))
}

fn date(random: &mut Random) -> String {
    format!("{}-{:02}-{:02}", 1990 + random.below(40), random.below(12) + 1, random.below(28) + 1)
}

fn time(random: &mut Random) -> String {
    format!("{:02}:{:02}:{:02}", random.below(24), random.below(60), random.below(60))
}

impl Table {
    /// A table of 2 to 8 columns, of which one at least has a type.
    pub(crate) fn random(seed: u64, numbers: Numbers) -> Table {
        let mut random = Random::new(seed.wrapping_add(77));
        let rows = 4 + random.below(60);
        let width = 2 + random.below(7);
        let first_name = random.below(NAMES.len());
        let columns = (0..width)
            .map(|index| {
                let kinds = if index == 0 { 13 } else { KINDS.len() };
                // With decimal commas, one column at least shows them.
                let kind = if index == 1 && numbers == Numbers::Comma { 4 } else { random.below(kinds) };
                let (value_type, value) = KINDS[kind];
                let nulls = random.once_in(4);
                let values = (0..rows)
                    .map(|row| {
                        Some(value(&mut random, row, numbers)).filter(|_| !nulls || row == 0 || !random.once_in(5))
                    })
                    .collect();
                Column { name: NAMES[(first_name + index) % NAMES.len()].to_owned(), value_type, values }
            })
            .collect();
        Table { columns }
    }

    pub(crate) fn rows(&self) -> usize {
        self.columns[0].values.len()
    }
}
