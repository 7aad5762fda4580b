//! What a table demands of its rows, and what it puts where a statement gives no value.
//!
//! The rules of a table are one value that never changes: a statement takes them once ([`super::Table::rules`]) and
//! follows them to its end; DDL puts others in their place. Not here: who keeps them (`statement/rows`,
//! `datafusion/planning/rules`), keys (`statement/create/keys`).

use std::ops::ControlFlow;

use longshore_storage::{Column, ColumnType, ReferenceMatch, ReferenceTiming};
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart, ReferentialAction, Value, Visitor,
    VisitorMut,
};

use super::{Catalog, Key, SequenceDefinition};
use crate::sql::visit::{Visit, VisitMut};
use crate::sql::{build, in_text, names};

/// The rules of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    /// In the order in which they were made; each has an index of its name in the relation.
    pub(crate) keys: Vec<Key>,
    /// One for each column.
    pub(crate) columns: Vec<ColumnRule>,
    /// In the order of their names, which is the one in which they are checked, as in PostgreSQL.
    pub(crate) checks: Vec<Check>,
    /// In the order in which they were made.
    pub(crate) references: Vec<Reference>,
}

/// What holds for a column beside its type and whether it may be NULL.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnRule {
    /// What it gets where a statement gives it no value.
    pub(crate) origin: Origin,
    /// The name that its NOT NULL was given.
    pub(crate) not_null: Option<String>,
}

/// Where the value of a column comes from that a statement does not give.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// There is none.
    #[default]
    Null,
    /// DEFAULT: an expression over no columns.
    Default(Box<Expr>),
    /// GENERATED AS IDENTITY: the next value of a sequence, known by its name.
    Identity {
        sequence: String,
        /// Whether a statement must not give a value.
        always: bool,
    },
    /// GENERATED ALWAYS AS (...) STORED: an expression over the other columns of its row.
    Generated(Box<Expr>),
}

/// CHECK: what must not be false of a row.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) condition: Expr,
    /// The columns that it reads, in their order.
    pub(crate) columns: Vec<usize>,
    /// Whether rows that were there before it have been looked at: not with NOT VALID.
    pub(crate) is_valid: bool,
}

/// FOREIGN KEY: a row of another table that must be there.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(crate) name: String,
    pub(crate) columns: Vec<usize>,
    /// The name of the table that is referenced.
    pub(crate) table: String,
    /// The names of its columns, one for each of `columns`; none until it is known which they are.
    pub(crate) referenced: Vec<String>,
    pub(crate) matching: ReferenceMatch,
    pub(crate) timing: ReferenceTiming,
    pub(crate) on_delete: ReferentialAction,
    pub(crate) on_update: ReferentialAction,
    /// Whether rows that were there before it have been looked at: not with NOT VALID.
    pub(crate) is_valid: bool,
}

/// The origin of columns of which nothing is said.
const NULL: &Origin = &Origin::Null;

impl Rules {
    /// Where a column's value comes from that a statement does not give.
    pub(crate) fn origin(&self, column: usize) -> &Origin {
        self.columns.get(column).map_or(NULL, |rule| &rule.origin)
    }

    /// Whether the table has a constraint of this name.
    pub(crate) fn has_constraint(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.name == name)
            || self.checks.iter().any(|check| check.name == name)
            || self.references.iter().any(|reference| reference.name == name)
            || self.columns.iter().any(|rule| rule.not_null.as_deref() == Some(name))
    }

    /// The expressions of defaults, generated columns, checks and indexes.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let defaults = self.columns.iter().filter_map(|rule| match &rule.origin {
            Origin::Default(expr) | Origin::Generated(expr) => Some(expr.as_ref()),
            Origin::Null | Origin::Identity { .. } => None,
        });
        let of_indexes = self.keys.iter().filter_map(|key| key.definition.as_ref());
        let checks = self.checks.iter().map(|check| &check.condition);
        defaults.chain(checks).chain(of_indexes.flat_map(|definition| definition.expressions()))
    }

    /// The columns that are generated, with the expressions of their values.
    pub(crate) fn generated(&self) -> impl Iterator<Item = (usize, &Expr)> {
        self.columns.iter().enumerate().filter_map(|(column, rule)| match &rule.origin {
            Origin::Generated(expr) => Some((column, expr.as_ref())),
            _ => None,
        })
    }

    /// Whether a column has its values from others of its row.
    pub(crate) fn is_generated(&self, column: usize) -> bool {
        matches!(self.origin(column), Origin::Generated(_))
    }

    /// Puts a check where its name belongs.
    pub(crate) fn add_check(&mut self, check: Check) {
        let place = self.checks.partition_point(|before| before.name <= check.name);
        self.checks.insert(place, check);
    }
}

impl Origin {
    /// The expression of a value that is not given; `None` for NULL, and for what is computed when the row is complete.
    pub(crate) fn expression(&self) -> Option<Expr> {
        match self {
            Self::Null | Self::Generated(_) => None,
            Self::Default(expr) => Some(expr.as_ref().clone()),
            Self::Identity { sequence, .. } => Some(next_of(sequence)),
        }
    }

    /// The same, NULL included, as a value of this type.
    pub(crate) fn value(&self, column_type: ColumnType) -> Expr {
        build::cast(self.expression().unwrap_or_else(|| build::value(Value::Null)), column_type)
    }

    /// Whether a statement must not give a value.
    pub(crate) fn is_always(&self) -> bool {
        matches!(self, Self::Identity { always: true, .. } | Self::Generated(_))
    }

    /// The sequence that gives nothing but its next number, where that is all that the value is.
    pub(crate) fn sequence(&self) -> Option<String> {
        match self {
            Self::Null | Self::Generated(_) => None,
            Self::Default(expr) => sequence_of(expr),
            Self::Identity { sequence, .. } => Some(sequence.clone()),
        }
    }

    /// The names of all sequences that it takes numbers of.
    pub(crate) fn sequences(&self) -> Vec<String> {
        match self {
            Self::Null | Self::Generated(_) => Vec::new(),
            Self::Default(expr) => {
                let mut found = Sequences(Vec::new());
                let _ = expr.visit(&mut found);
                found.0
            }
            Self::Identity { sequence, .. } => vec![sequence.clone()],
        }
    }

    /// As DESCRIBE shows it; `None` for NULL.
    pub(crate) fn described(&self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::Default(expr) => Some(expr.to_string()),
            Self::Generated(expr) => Some(generated(expr)),
            Self::Identity { always, .. } => Some(identity(*always).to_owned()),
        }
    }

    /// As CREATE TABLE says it, with a space before it; `column_type` is that of the column.
    pub(crate) fn sql(&self, catalog: &Catalog, column_type: ColumnType) -> String {
        match self {
            Self::Null => String::new(),
            Self::Default(expr) => format!(" DEFAULT {expr}"),
            Self::Generated(expr) => format!(" {}", generated(expr)),
            Self::Identity { sequence, always } => {
                let definition = catalog.sequence(sequence).map(|sequence| sequence.definition());
                let options = definition.map(|definition: SequenceDefinition| definition.options(column_type));
                match options.filter(|options| !options.is_empty()) {
                    None => format!(" {}", identity(*always)),
                    Some(options) => format!(" {} ({options})", identity(*always)),
                }
            }
        }
    }
}

fn generated(expr: &Expr) -> String {
    format!("GENERATED ALWAYS AS ({expr}) STORED")
}

fn identity(always: bool) -> &'static str {
    if always { "GENERATED ALWAYS AS IDENTITY" } else { "GENERATED BY DEFAULT AS IDENTITY" }
}

/// `nextval` of a sequence.
pub(crate) fn next_of(sequence: &str) -> Expr {
    build::call("nextval", vec![build::value(Value::SingleQuotedString(names::quoted(sequence)))])
}

impl Check {
    /// As a statement says it.
    pub(crate) fn sql(&self) -> String {
        format!("CONSTRAINT {}", self.described())
    }

    /// As the shell shows it.
    pub(crate) fn described(&self) -> String {
        let not_valid = if self.is_valid { "" } else { " NOT VALID" };
        format!("{} CHECK ({}){not_valid}", names::quoted(&self.name), self.condition)
    }
}

/// The sequence of which an expression is the next number.
fn sequence_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Nested(inner) => sequence_of(inner),
        Expr::Function(function) => sequence_called(function),
        _ => None,
    }
}

/// The sequence that is named by a text in a call of `nextval`.
fn sequence_called(function: &Function) -> Option<String> {
    let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = list.args.as_slice() else { return None };
    let is_next = names::identifier(name).is_ok_and(|name| name == "nextval");
    let mut argument = argument;
    // PostgreSQL's own spelling is nextval('s'::regclass).
    while let Expr::Cast { expr, .. } | Expr::Nested(expr) = argument {
        argument = expr;
    }
    match argument {
        Expr::Value(value) if is_next => match &value.value {
            Value::SingleQuotedString(text) => in_text::relation(text).ok(),
            _ => None,
        },
        _ => None,
    }
}

/// Gives the sequence `from` another name in the calls of `nextval` of an expression.
pub(crate) fn rename_sequence(expr: &mut Expr, from: &str, to: &str) {
    struct Calls<'a>(&'a str, &'a str);
    impl VisitorMut for Calls<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Function(function) = expr
                && sequence_called(function).is_some_and(|name| name == self.0)
            {
                *expr = next_of(self.1);
            }
            ControlFlow::Continue(())
        }
    }
    let _ = VisitMut::visit(expr, &mut Calls(from, to));
}

/// The sequences that are named in calls of `nextval`.
struct Sequences(Vec<String>);

impl Visitor for Sequences {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr {
            self.0.extend(sequence_called(function));
        }
        ControlFlow::Continue(())
    }
}

/// The columns that an expression names, in their order.
pub(crate) fn columns_read(expr: &Expr, columns: &[Column]) -> Vec<usize> {
    struct Columns<'a> {
        columns: &'a [Column],
        found: Vec<usize>,
    }
    impl Visitor for Columns<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let name = match expr {
                Expr::Identifier(name) => Some(name),
                Expr::CompoundIdentifier(parts) => parts.last(),
                _ => None,
            };
            let name = name.and_then(|name| names::identifier(name).ok());
            let position = name.and_then(|name| self.columns.iter().position(|column| column.name == name));
            self.found.extend(position);
            ControlFlow::Continue(())
        }
    }
    let mut columns = Columns { columns, found: Vec::new() };
    let _ = expr.visit(&mut columns);
    columns.found.sort_unstable();
    columns.found.dedup();
    columns.found
}
