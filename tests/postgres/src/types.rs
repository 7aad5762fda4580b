//! The types of columns and expressions, and values of them as SQL writes them.

use crate::random::Random;

/// A type of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `BOOLEAN`.
    Boolean,
    /// `SMALLINT`.
    SmallInt,
    /// `INTEGER`.
    Integer,
    /// `BIGINT`.
    BigInt,
    /// `DECIMAL(10,2)`.
    Decimal,
    /// `NUMERIC`.
    Numeric,
    /// `DOUBLE PRECISION`.
    Double,
    /// `TEXT`.
    Text,
    /// `DATE`.
    Date,
    /// `TIMESTAMP`.
    Timestamp,
}

impl Type {
    /// All types.
    pub const ALL: [Self; 10] = [
        Self::Boolean,
        Self::SmallInt,
        Self::Integer,
        Self::BigInt,
        Self::Decimal,
        Self::Numeric,
        Self::Double,
        Self::Text,
        Self::Date,
        Self::Timestamp,
    ];

    /// How SQL spells it.
    #[must_use]
    pub fn sql(self) -> &'static str {
        match self {
            Self::Boolean => "BOOLEAN",
            Self::SmallInt => "SMALLINT",
            Self::Integer => "INTEGER",
            Self::BigInt => "BIGINT",
            Self::Decimal => "DECIMAL(10,2)",
            Self::Numeric => "NUMERIC",
            Self::Double => "DOUBLE PRECISION",
            Self::Text => "TEXT",
            Self::Date => "DATE",
            Self::Timestamp => "TIMESTAMP",
        }
    }

    /// Whether its values are numbers without a fraction.
    #[must_use]
    pub fn is_whole(self) -> bool {
        matches!(self, Self::SmallInt | Self::Integer | Self::BigInt)
    }

    /// Whether its values are numbers.
    #[must_use]
    pub fn is_number(self) -> bool {
        self.is_whole() || matches!(self, Self::Decimal | Self::Numeric | Self::Double)
    }

    /// A value of a row, as INSERT takes it. Few values are different, so that rows meet in joins and groups.
    #[must_use]
    pub fn value(self, random: &mut Random) -> String {
        let plain: &[&str] = match self {
            Self::Boolean => &["true", "false"],
            Self::SmallInt => &["0", "1", "2", "3", "-1"],
            Self::Integer => &["0", "1", "2", "3", "4", "-1", "-7", "100"],
            Self::BigInt => &["0", "1", "2", "3", "-1", "5000000000"],
            Self::Decimal => &["0", "0.50", "1.00", "1.25", "2.50", "-1.50", "3", "99.99"],
            Self::Numeric => {
                &["0", "1", "1.0", "1.00", "2.5", "-1.50", "0.001", "3", "1e3", "12345678901234567890.5", "'NaN'"]
            }
            Self::Double => &["0", "0.5", "1", "1.5", "2", "-0.25", "3", "1e3", "0.1", "'-0'"],
            Self::Text => &["''", "'a'", "'A'", "'ab'", "'b'", "'1'", "'B c'", "'%'", "'é'"],
            Self::Date => &["'2020-02-28'", "'2020-02-29'", "'1999-12-31'", "'2024-01-01'"],
            Self::Timestamp => {
                &["'2020-02-28 00:00:00'", "'2020-02-29 13:14:15'", "'1999-12-31 23:59:59'", "'2024-01-01 00:00:00.5'"]
            }
        };
        random.pick(plain).to_owned()
    }

    /// A literal of the type for an expression, which has this type wherever it stands.
    #[must_use]
    pub fn literal(self, random: &mut Random) -> String {
        if random.chance(8) {
            return if random.chance(50) {
                format!("NULL::{}", self.sql())
            } else {
                format!("CAST(NULL AS {})", self.sql())
            };
        }
        let value = self.value(random);
        match self {
            Self::Boolean | Self::Integer if !value.starts_with('-') => value,
            Self::Integer => format!("({value})"),
            Self::Decimal if value.contains('.') && !value.starts_with('-') => value,
            Self::Decimal if random.chance(20) => random.pick(&["1e0", "15e-1", ".5", "2.", "1.5e0"]).to_owned(),
            Self::Text if random.chance(10) => random.pick(&["E'a\\tb'", "E'a'", "$$b$$", "'it''s'"]).to_owned(),
            Self::Text => random.pick(&[value.clone(), value.clone(), format!("{value}::text")]),
            Self::Date => {
                random.pick(&[format!("DATE {value}"), format!("{value}::date"), format!("CAST({value} AS DATE)")])
            }
            Self::Timestamp => random.pick(&[format!("TIMESTAMP {value}"), format!("{value}::timestamp")]),
            _ if random.chance(30) => format!("CAST({value} AS {})", self.sql()),
            _ => format!("'{}'::{}", value.trim_matches('\''), self.sql().to_lowercase()),
        }
    }
}
