//! A case: tables and a query, and how it is told when it goes wrong.

use crate::query::{Expr, Query};
use crate::rows::{Answer, shown};
use crate::schema::Schema;

/// Tables, a query over them, and what else is needed to compare it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The tables.
    pub schema: Schema,
    /// The query.
    pub query: Query,
    /// What the query is split by.
    pub split: Option<Expr>,
}

/// Something that must not be.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What sort of thing it is: a smaller case must show the same.
    pub kind: String,
    /// Both statements with their answers.
    pub text: String,
}

impl Finding {
    /// Two answers that should be the same.
    #[must_use]
    pub fn differs(kind: &str, one: (&str, &Answer), other: (&str, &Answer)) -> Self {
        let side = |(sql, answer): (&str, &Answer)| format!("  {sql}\n  gives {}", shown(answer));
        Self { kind: kind.to_owned(), text: format!("{}\n{}", side(one), side(other)) }
    }
}

impl Case {
    /// The case as a person reads it.
    #[must_use]
    pub fn told(&self, seed: u64, finding: &Finding) -> String {
        let tables: Vec<_> = self.schema.statements(true).iter().map(|sql| format!("  {sql};")).collect();
        format!("seed {seed}: {}\n{}\n{}", finding.kind, tables.join("\n"), finding.text)
    }
}
