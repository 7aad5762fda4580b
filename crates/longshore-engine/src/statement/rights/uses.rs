//! What a query uses: tables and views, the columns of them that it may mean, and whether it reads files.
//!
//! Columns are told by their names alone, without planning: a name without a table may mean the column of any table that has
//! one of this name. So a query may seem to use more than it does, and never less.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Join, JoinConstraint, JoinOperator, ObjectName,
    ObjectNamePart, OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableAlias,
    TableFactor, TableWithJoins, Visitor,
};

use crate::catalog::{Catalog, Entry};
use crate::sql::names;
use crate::sql::visit::Visit;
use crate::sql::with_scopes::WithScopes;

/// Functions in FROM that read files.
const OF_FILES: [&str; 6] = ["read_csv", "read_json", "read_text", "sniff_csv", "read_parquet", "read_arrow"];

/// What a query uses.
#[derive(Default)]
pub(super) struct Uses {
    /// What it reads.
    pub(super) relations: BTreeSet<String>,
    /// The names by which it says columns.
    scanned: Vec<Scanned>,
    /// Names of columns, with what stands before them.
    columns: BTreeSet<(Option<String>, String)>,
    /// Of what it takes whole rows.
    whole: BTreeSet<String>,
    /// Names that stand for no table, as those of subqueries.
    derived: BTreeSet<String>,
    /// Whether it may mean all columns of everything.
    pub(super) all: bool,
    pub(super) reads_files: bool,
    /// Whether it locks rows.
    pub(super) locks: bool,
    scopes: WithScopes,
    /// Where expressions are that name columns of the result.
    of_result: BTreeSet<*const Expr>,
}

/// A table and what it is called in the query.
struct Scanned {
    relation: String,
    alias: String,
    /// The names that the query gives to its first columns.
    renamed: Vec<String>,
}

fn name_of(ident: &Ident) -> String {
    names::identifier(ident).unwrap_or_default()
}

/// All columns of a table, or those that a view names.
pub(super) fn all_columns(catalog: &Catalog, name: &str) -> Option<Vec<String>> {
    match catalog.get(name)? {
        Entry::Table(table) => {
            Some(table.relation.schema().columns().iter().map(|column| column.name.clone()).collect())
        }
        Entry::View(view) => (!view.columns.is_empty()).then(|| view.columns.clone()),
    }
}

impl Uses {
    /// Nothing yet, where a WITH has defined these names.
    pub(super) fn within(defined: &[String]) -> Self {
        Self { scopes: WithScopes::within(defined), ..Self::default() }
    }

    /// Takes in what a part of a statement uses.
    pub(super) fn look_at(&mut self, part: &impl Visit) {
        let _ = part.visit(self);
    }

    /// A table whose columns may be said, which is not read by that alone.
    pub(super) fn add_target(&mut self, relation: &str, alias: Option<&TableAlias>) {
        let renamed = alias.map_or_else(Vec::new, |alias| alias.columns.iter().map(|c| name_of(&c.name)).collect());
        let alias = alias.map_or_else(|| names::own(relation).to_owned(), |alias| name_of(&alias.name));
        self.scanned.push(Scanned { relation: relation.to_owned(), alias, renamed });
    }

    /// The same, under another name.
    pub(super) fn add_target_as(&mut self, relation: &str, alias: &Ident) {
        self.scanned.push(Scanned { relation: relation.to_owned(), alias: name_of(alias), renamed: Vec::new() });
    }

    /// A table that is read, of which these columns are; all of them, if none is named.
    pub(super) fn add_table(&mut self, relation: &str, columns: &[String]) {
        self.add_target(relation, None);
        self.relations.insert(relation.to_owned());
        let own = names::own(relation);
        if columns.is_empty() {
            self.whole.insert(own.to_owned());
        }
        self.columns.extend(columns.iter().map(|column| (Some(own.to_owned()), column.clone())));
    }

    /// A column of a table.
    pub(super) fn add_column(&mut self, column: &str) {
        self.columns.insert((None, column.to_owned()));
    }

    /// Takes in RETURNING.
    pub(super) fn look_at_items(&mut self, items: &[SelectItem]) {
        let all: Vec<String> = self.scanned.iter().map(|scanned| scanned.alias.clone()).collect();
        for item in items {
            self.item(item, &all);
            self.look_at(item);
        }
    }

    /// The columns of a table or view that are used; `None` for all of them, or if they are not known.
    pub(super) fn columns_of(&self, catalog: &Catalog, relation: &str) -> Option<BTreeSet<String>> {
        let scanned: Vec<&Scanned> = self.scanned.iter().filter(|scanned| scanned.relation == relation).collect();
        if self.all || scanned.is_empty() {
            return None;
        }
        let known = all_columns(catalog, relation);
        let mut found = BTreeSet::new();
        for Scanned { alias, renamed, .. } in scanned {
            if self.whole.contains(alias) {
                return known.map(BTreeSet::from_iter).filter(|_| !self.all);
            }
            for (qualifier, column) in &self.columns {
                let may_mean = match qualifier {
                    Some(qualifier) => qualifier == alias || !self.is_known(qualifier),
                    None => true,
                };
                if !may_mean {
                    continue;
                }
                let at = renamed.iter().position(|name| name == column);
                match (&known, at) {
                    (Some(known), Some(at)) => found.extend(known.get(at).cloned()),
                    (Some(known), None) if known.contains(column) => drop(found.insert(column.clone())),
                    // The name of the table alone is a whole row.
                    (_, None) if qualifier.is_none() && column == alias => return known.map(BTreeSet::from_iter),
                    (Some(_), None) => {}
                    (None, _) => {
                        let is_of_other = qualifier.is_none() && self.is_column_of_other(catalog, relation, column);
                        if !is_of_other {
                            found.insert(column.clone());
                        }
                    }
                }
            }
        }
        Some(found)
    }

    fn is_known(&self, qualifier: &str) -> bool {
        self.derived.contains(qualifier) || self.scanned.iter().any(|scanned| scanned.alias == qualifier)
    }

    fn is_column_of_other(&self, catalog: &Catalog, relation: &str, column: &String) -> bool {
        let others = self.scanned.iter().filter(|scanned| scanned.relation != relation);
        others.filter_map(|scanned| all_columns(catalog, &scanned.relation)).any(|columns| columns.contains(column))
    }

    /// An item of a list, where `*` means the columns of these.
    fn item(&mut self, item: &SelectItem, all: &[String]) {
        match item {
            SelectItem::Wildcard(_) => self.whole.extend(all.iter().cloned()),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                let last = name.0.last().and_then(ObjectNamePart::as_ident);
                self.whole.extend(last.map(name_of));
            }
            _ => {}
        }
    }

    /// What joins of a FROM say of columns.
    fn joins(&mut self, from: &TableWithJoins) {
        for Join { join_operator, .. } in &from.joins {
            let (JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::Left(constraint)
            | JoinOperator::LeftOuter(constraint)
            | JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::FullOuter(constraint)
            | JoinOperator::CrossJoin(constraint)
            | JoinOperator::Semi(constraint)
            | JoinOperator::LeftSemi(constraint)
            | JoinOperator::RightSemi(constraint)
            | JoinOperator::Anti(constraint)
            | JoinOperator::LeftAnti(constraint)
            | JoinOperator::RightAnti(constraint)) = join_operator
            else {
                continue;
            };
            match constraint {
                JoinConstraint::Using(columns) => {
                    let names = columns.iter().filter_map(|column| column.0.last()?.as_ident().map(name_of));
                    self.columns.extend(names.map(|name| (None, name)));
                }
                // Which columns have the same names is not known here.
                JoinConstraint::Natural => self.all = true,
                JoinConstraint::On(_) | JoinConstraint::None => {}
            }
        }
    }
}

/// The names by which a FROM says its columns.
fn aliases(from: &TableWithJoins, found: &mut Vec<String>) {
    let factors = std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation));
    for factor in factors {
        match factor {
            TableFactor::Table { name, alias, .. } => {
                let own = name.0.last().and_then(ObjectNamePart::as_ident).map(name_of);
                found.extend(alias.as_ref().map(|alias| name_of(&alias.name)).or(own));
            }
            TableFactor::NestedJoin { table_with_joins, .. } => aliases(table_with_joins, found),
            _ => {}
        }
    }
}

impl Visitor for Uses {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.scopes.enter(query);
        self.locks |= !query.locks.is_empty();
        if let (Some(order), SetExpr::Select(select)) = (&query.order_by, query.body.as_ref())
            && let OrderByKind::Expressions(keys) = &order.kind
        {
            for key in keys {
                let Expr::Identifier(name) = &key.expr else { continue };
                let is_alias = |item: &SelectItem| {
                    matches!(item, SelectItem::ExprWithAlias { alias, .. }
                    if name_of(alias) == name_of(name))
                };
                if select.projection.iter().any(is_alias) {
                    self.of_result.insert(std::ptr::from_ref(&key.expr));
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.scopes.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        if !self.scopes.defines(relation)
            && let Ok(name) = names::relation(relation)
        {
            self.relations.insert(name);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        let mut derived = |alias: &Option<TableAlias>| {
            self.derived.extend(alias.iter().map(|alias| name_of(&alias.name)));
        };
        match factor {
            TableFactor::Table { name, alias, args, .. } => {
                let is_file =
                    name.0.iter().any(|part| part.as_ident().is_some_and(|name| name.quote_style == Some('\'')));
                let is_function_of_files = args.is_some() && {
                    let last = name.0.last().and_then(ObjectNamePart::as_ident).map(name_of);
                    last.is_some_and(|name| OF_FILES.contains(&name.as_str()))
                };
                if is_file || is_function_of_files {
                    derived(alias);
                    self.reads_files = true;
                } else if args.is_some() {
                    derived(alias);
                } else if self.scopes.defines(name) {
                    let own = name.0.last().and_then(ObjectNamePart::as_ident).map(name_of);
                    self.derived.extend(alias.as_ref().map(|alias| name_of(&alias.name)).or(own));
                } else if let Ok(relation) = names::relation(name) {
                    self.add_target(&relation, alias.as_ref());
                }
            }
            TableFactor::Derived { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. } => derived(alias),
            TableFactor::NestedJoin { table_with_joins, .. } => self.joins(table_with_joins),
            _ => self.all = true,
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let mut all = Vec::new();
        for from in &select.from {
            self.joins(from);
            aliases(from, &mut all);
        }
        for item in &select.projection {
            self.item(item, &all);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(_) if self.of_result.contains(&std::ptr::from_ref(expr)) => {}
            Expr::Identifier(name) => drop(self.columns.insert((None, name_of(name)))),
            Expr::CompoundIdentifier(parts) => {
                for pair in parts.windows(2) {
                    self.columns.insert((Some(name_of(&pair[0])), name_of(&pair[1])));
                }
            }
            Expr::QualifiedWildcard(name, _) => {
                self.whole.extend(name.0.last().and_then(ObjectNamePart::as_ident).map(name_of));
            }
            Expr::Function(function) => {
                let is_columns = function.name.0.last().and_then(ObjectNamePart::as_ident);
                self.all |= is_columns.is_some_and(|name| name.value.eq_ignore_ascii_case("columns"));
                if let FunctionArguments::List(list) = &function.args {
                    for argument in &list.args {
                        if let FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) = argument {
                            self.whole.extend(name.0.last().and_then(ObjectNamePart::as_ident).map(name_of));
                        }
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
