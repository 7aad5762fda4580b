//! Queries as trees, so that they can be written, split and made smaller.

mod columns;
mod written;

pub use columns::Columns;

use crate::types::Type;

/// A query.
#[derive(Clone, Debug)]
pub struct Query {
    /// `WITH`.
    pub ctes: Vec<Cte>,
    /// What it selects.
    pub body: Body,
    /// `ORDER BY`: places of columns or expressions, with their directions.
    pub order: Vec<Order>,
    /// `LIMIT`.
    pub limit: Option<usize>,
    /// `OFFSET`.
    pub offset: Option<usize>,
}

/// A query with a name.
#[derive(Clone, Debug)]
pub struct Cte {
    /// Its name.
    pub name: String,
    /// Whether it reads itself.
    pub is_recursive: bool,
    /// The query.
    pub query: Query,
}

/// What a query selects.
#[derive(Clone, Debug)]
pub enum Body {
    /// `SELECT`.
    Select(Box<Select>),
    /// `UNION` and its kin.
    Set {
        /// `UNION ALL` and so on.
        operator: &'static str,
        /// The first query.
        left: Box<Query>,
        /// The second query.
        right: Box<Query>,
    },
    /// `VALUES`.
    Values(Vec<Vec<Expr>>),
}

/// `SELECT`.
#[derive(Clone, Debug)]
pub struct Select {
    /// `DISTINCT`.
    pub distinct: bool,
    /// The columns.
    pub items: Vec<Item>,
    /// `FROM`.
    pub from: Option<From>,
    /// `WHERE`.
    pub filter: Option<Expr>,
    /// `GROUP BY`.
    pub group: Group,
    /// `HAVING`.
    pub having: Option<Expr>,
    /// `WINDOW`: names and definitions.
    pub windows: Vec<(String, Vec<Expr>, String)>,
}

/// A column of a `SELECT`.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its value.
    pub expr: Expr,
    /// Its name, where it is given one.
    pub alias: Option<String>,
}

/// `GROUP BY`.
#[derive(Clone, Debug)]
pub enum Group {
    /// There is none.
    No,
    /// Expressions.
    By(Vec<Expr>),
    /// `GROUPING SETS`, `ROLLUP` or `CUBE`, over expressions.
    Sets(&'static str, Vec<Vec<Expr>>),
}

/// A relation of `FROM`.
#[derive(Clone, Debug)]
pub enum From {
    /// A table, a view or a query of `WITH`.
    Table {
        /// Its name.
        name: String,
        /// The name that it has here.
        alias: String,
    },
    /// A subquery.
    Derived {
        /// The query.
        query: Box<Query>,
        /// Its name.
        alias: String,
        /// Whether it may name what stands before it: `LATERAL`.
        is_lateral: bool,
    },
    /// A join.
    Join {
        /// `LEFT JOIN` and so on.
        kind: &'static str,
        /// What stands left.
        left: Box<From>,
        /// What stands right.
        right: Box<From>,
        /// Which rows meet.
        on: On,
    },
}

/// Which rows of a join meet.
#[derive(Clone, Debug)]
pub enum On {
    /// All, or those of NATURAL.
    None,
    /// `ON`.
    Expr(Expr),
    /// `USING`.
    Using(Vec<String>),
}

/// A part of `ORDER BY`.
#[derive(Clone, Debug)]
pub struct Order {
    /// What is ordered by.
    pub key: Expr,
    /// `DESC NULLS LAST` and so on.
    pub direction: &'static str,
}

/// An expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A value.
    Literal(Type, String),
    /// A column, with the name of its relation or without.
    Column(Type, Option<String>, String),
    /// Anything with parts: texts, with parts between them.
    Call(Type, Vec<String>, Vec<Part>),
}

/// A part of an expression.
#[derive(Clone, Debug)]
pub enum Part {
    /// An expression.
    Expr(Expr),
    /// A query.
    Query(Box<Query>),
}

impl Expr {
    /// An expression of type `data_type`: `template` with the parts at each `{}`.
    #[must_use]
    pub fn call(data_type: Type, template: &str, parts: Vec<Self>) -> Self {
        Self::parts(data_type, template, parts.into_iter().map(Part::Expr).collect())
    }

    /// The same, with queries among the parts.
    ///
    /// # Panics
    /// When there are not as many parts as places.
    #[must_use]
    pub fn parts(data_type: Type, template: &str, parts: Vec<Part>) -> Self {
        let texts: Vec<_> = template.split("{}").map(str::to_owned).collect();
        assert_eq!(texts.len(), parts.len() + 1, "{template} has as many places as parts");
        Self::Call(data_type, texts, parts)
    }

    /// Its type.
    #[must_use]
    pub fn data_type(&self) -> Type {
        match self {
            Self::Literal(data_type, _) | Self::Column(data_type, ..) | Self::Call(data_type, ..) => *data_type,
        }
    }
}

impl Query {
    /// A query without ORDER BY and LIMIT.
    #[must_use]
    pub fn of(body: Body) -> Self {
        Self { ctes: Vec::new(), body, order: Vec::new(), limit: None, offset: None }
    }

    /// Its `SELECT`, if it is one.
    #[must_use]
    pub fn select(&self) -> Option<&Select> {
        match &self.body {
            Body::Select(select) => Some(select),
            _ => None,
        }
    }

    /// Its `SELECT`, if it is one.
    pub fn select_mut(&mut self) -> Option<&mut Select> {
        match &mut self.body {
            Body::Select(select) => Some(select),
            _ => None,
        }
    }
}
