//! DuckDB's `* RENAME (a AS b)` and `COLUMNS(...)`, written out: the columns of FROM take their place.
//!
//! `COLUMNS(*)`, `COLUMNS(* EXCLUDE (a))`, `COLUMNS(t.*)`, `COLUMNS(['a', 'b'])` and `COLUMNS('pattern')` stand for several
//! columns. An expression with one in the list of a SELECT is repeated for each of them, under the column's name; an alias may
//! take parts of the name that the pattern has matched (`AS '\1'`). A condition with one must hold for each.

use std::ops::ControlFlow;

use regex::Regex;
use sqlparser::ast::{
    ExcludeSelectItem, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Insert, ObjectName,
    RenameSelectItem, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Statement, Value, Visitor,
    WildcardAdditionalOptions,
};

use super::merged_columns::from_items::{FromColumn, FromItems, each_select, folded};
use super::planner::Planner;
use crate::Error;
use crate::sql::expressions::each_own;
use crate::sql::visit::Visit;
use crate::sql::{build, headings};

/// Writes out what stands for several columns in `statement`.
pub(in crate::datafusion) fn written_out(planner: &Planner, statement: &mut Statement) -> Result<(), Error> {
    if let Statement::Insert(Insert { source: Some(source), .. }) = statement
        && matches!(source.body.as_ref(), SetExpr::Values(_))
    {
        // May be long.
        return Ok(());
    }
    if Visit::visit(&*statement, &mut Needed).is_continue() {
        return Ok(());
    }
    each_select(planner, statement, |select, _, items| Writer { items }.select(select))
}

/// Finds out whether there is something to do at all.
struct Needed;

impl Visitor for Needed {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if select.projection.iter().any(renames) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if headings::columns_call(expr).is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn renames(item: &SelectItem) -> bool {
    match item {
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => options.opt_rename.is_some(),
        _ => false,
    }
}

struct Writer<'a> {
    items: &'a FromItems<'a>,
}

impl Writer<'_> {
    fn select(&self, select: &mut Select) -> Result<(), Error> {
        let conditions = [&select.selection, &select.having, &select.qualify];
        let has_call = |item: &SelectItem| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => call_in(expr).is_some(),
            _ => false,
        };
        let in_condition = conditions.into_iter().flatten().any(|expr| call_in(expr).is_some());
        if !in_condition && !select.projection.iter().any(|item| renames(item) || has_call(item)) {
            return Ok(());
        }
        let columns = self.items.columns_of_all(&select.from)?;
        let mut list = List { items: Vec::new(), names: Vec::new() };
        for item in std::mem::take(&mut select.projection) {
            match item {
                SelectItem::Wildcard(options) if options.opt_rename.is_some() => {
                    list.renamed(columns.iter().collect(), &options)?;
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(table), options)
                    if options.opt_rename.is_some() =>
                {
                    list.renamed(of_table(&columns, &table), &options)?;
                }
                SelectItem::UnnamedExpr(expr) if call_in(&expr).is_some() => list.repeated(&expr, None, &columns)?,
                SelectItem::ExprWithAlias { expr, alias } if call_in(&expr).is_some() => {
                    list.repeated(&expr, Some(&alias), &columns)?;
                }
                item => list.items.push(item),
            }
        }
        select.projection = list.items;
        for condition in [&mut select.selection, &mut select.having, &mut select.qualify].into_iter().flatten() {
            if let Some(call) = call_in(condition) {
                let each = matched(&call, &columns)?;
                let each = each.iter().map(|found| with_column(condition, &call, &found.column.expr));
                *condition = build::all(each.collect::<Result<_, _>>()?);
            }
        }
        Ok(())
    }
}

/// The list of a SELECT that is written.
struct List {
    items: Vec<SelectItem>,
    /// The names of what is repeated.
    names: Vec<String>,
}

impl List {
    /// `*` with RENAME, and perhaps EXCLUDE and REPLACE.
    fn renamed(&mut self, columns: Vec<&FromColumn>, options: &WildcardAdditionalOptions) -> Result<(), Error> {
        let renames = match &options.opt_rename {
            Some(RenameSelectItem::Single(rename)) => std::slice::from_ref(rename),
            Some(RenameSelectItem::Multiple(renames)) => renames.as_slice(),
            None => &[],
        };
        let excluded = excluded(options);
        let named = renames.iter().map(|rename| folded(&rename.ident)).chain(excluded.iter().cloned());
        for name in named {
            if !columns.iter().any(|column| column.name == name) {
                return Err(Error::no_column(format!("column \"{name}\" of * does not exist")));
            }
        }
        for column in columns.into_iter().filter(|column| !excluded.contains(&column.name)) {
            let replaced = options.opt_replace.iter().flat_map(|replace| &replace.items);
            let replaced = replaced.into_iter().find(|item| folded(&item.column_name) == column.name);
            let expr = replaced.map_or_else(|| column.expr.clone(), |item| item.expr.clone());
            let renamed = renames.iter().find(|rename| folded(&rename.ident) == column.name);
            let alias = renamed.map(|rename| Ident::with_quote('"', folded(&rename.alias)));
            let alias = alias.or_else(|| replaced.map(|_| Ident::with_quote('"', &column.name)));
            self.items.push(match alias {
                Some(alias) => SelectItem::ExprWithAlias { expr, alias },
                None => SelectItem::UnnamedExpr(expr),
            });
        }
        Ok(())
    }

    /// An expression for each of the columns that its COLUMNS stands for.
    fn repeated(&mut self, expr: &Expr, alias: Option<&Ident>, columns: &[FromColumn]) -> Result<(), Error> {
        let Some(call) = call_in(expr) else { return Ok(()) };
        for found in matched(&call, columns)? {
            let written = with_column(expr, &call, &found.column.expr)?;
            let name = match alias {
                Some(alias) => found.named(&folded(alias)),
                None if headings::columns_call(expr).is_some() && !self.has(&found.column.name, &written) => {
                    self.names.push(found.column.name.clone());
                    self.items.push(SelectItem::UnnamedExpr(written));
                    continue;
                }
                None => found.column.name.clone(),
            };
            let shown =
                if self.names.contains(&name) { headings::numbered(&name, self.names.len()) } else { name.clone() };
            self.names.push(name);
            self.items.push(SelectItem::ExprWithAlias { expr: written, alias: Ident::with_quote('"', shown) });
        }
        Ok(())
    }

    /// Whether `column` is in the list, or a value that is called `name` as it is.
    fn has(&self, name: &str, column: &Expr) -> bool {
        self.items.iter().any(|item| match item {
            SelectItem::UnnamedExpr(expr) => expr == column,
            SelectItem::ExprWithAlias { alias, .. } => folded(alias) == name,
            _ => false,
        })
    }
}

/// A column that COLUMNS stands for.
struct Found<'a> {
    column: &'a FromColumn,
    /// Parts of its name that the pattern has matched; the first is all of it.
    parts: Vec<String>,
}

impl Found<'_> {
    /// `alias` with those parts in it.
    fn named(&self, alias: &str) -> String {
        let parts = self.parts.iter().enumerate();
        parts.fold(alias.to_owned(), |name, (number, part)| name.replace(&format!("\\{number}"), part))
    }
}

/// The COLUMNS in `expr`, not in a query within it.
fn call_in(expr: &Expr) -> Option<Function> {
    let mut found = None;
    let looked = each_own(&mut expr.clone(), |expr| {
        if let (None, Some(call)) = (&found, headings::columns_call(expr)) {
            found = Some(call.clone());
        }
        Ok::<_, Error>(())
    });
    looked.ok().and(found)
}

/// `expr` with a column in place of `call`.
fn with_column(expr: &Expr, call: &Function, column: &Expr) -> Result<Expr, Error> {
    let mut expr = expr.clone();
    each_own(&mut expr, |expr| {
        match headings::columns_call(expr) {
            None => return Ok(()),
            Some(other) if other == call => {}
            Some(other) => {
                return Err(Error::unsupported(format!("{call} and {other} in one expression; write one of them out")));
            }
        }
        *expr = column.clone();
        Ok(())
    })?;
    Ok(expr)
}

/// The columns that `call` stands for.
fn matched<'a>(call: &Function, columns: &'a [FromColumn]) -> Result<Vec<Found<'a>>, Error> {
    let whole = |column: &'a FromColumn| Found { column, parts: vec![column.name.clone()] };
    let FunctionArguments::List(list) = &call.args else { return Err(unknown(call)) };
    let [FunctionArg::Unnamed(argument)] = list.args.as_slice() else { return Err(unknown(call)) };
    let found: Vec<Found<'a>> = match argument {
        FunctionArgExpr::Wildcard => columns.iter().map(whole).collect(),
        FunctionArgExpr::WildcardWithOptions(options)
            if options.opt_replace.is_none() && options.opt_rename.is_none() =>
        {
            let excluded = excluded(options);
            columns.iter().filter(|column| !excluded.contains(&column.name)).map(whole).collect()
        }
        FunctionArgExpr::QualifiedWildcard(table) => of_table(columns, table).into_iter().map(whole).collect(),
        FunctionArgExpr::Expr(Expr::Array(array)) => {
            let names = array.elem.iter().map(|name| text(name).ok_or_else(|| unknown(call)));
            let the_column = |name: String| {
                let column = columns.iter().find(|column| column.name == name);
                column.map(whole).ok_or_else(|| Error::no_column(format!("column \"{name}\" of {call} does not exist")))
            };
            names.map(|name| name.and_then(the_column)).collect::<Result<_, _>>()?
        }
        FunctionArgExpr::Expr(expr) => {
            let pattern = text(expr).ok_or_else(|| unknown(call))?;
            let pattern = Regex::new(&pattern).map_err(|error| Error::invalid(format!("{call}: {error}")))?;
            let parts = |column: &'a FromColumn| {
                let captures = pattern.captures(&column.name)?;
                let part =
                    |part: Option<regex::Match<'_>>| part.map_or_else(String::new, |part| part.as_str().to_owned());
                Some(Found { column, parts: captures.iter().map(part).collect() })
            };
            columns.iter().filter_map(parts).collect()
        }
        FunctionArgExpr::WildcardWithOptions(_) => return Err(unknown(call)),
    };
    if found.is_empty() {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        return Err(Error::no_column(format!("{call} stands for no column; there are {}", names.join(", "))));
    }
    Ok(found)
}

fn unknown(call: &Function) -> Error {
    Error::unsupported(format!(
        "{call} is not supported; write COLUMNS(*), COLUMNS(* EXCLUDE (a)), COLUMNS(ARRAY['a', 'b']) or COLUMNS('pattern')"
    ))
}

fn text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn of_table<'a>(columns: &'a [FromColumn], table: &ObjectName) -> Vec<&'a FromColumn> {
    let table = build::last_name(table).map(|table| folded(&table)).unwrap_or_default();
    let is_of_it = |column: &&FromColumn| match &column.expr {
        Expr::CompoundIdentifier(parts) => parts.first().is_some_and(|part| part.value == table),
        _ => false,
    };
    columns.iter().filter(is_of_it).collect()
}

/// The columns that EXCLUDE names.
fn excluded(options: &WildcardAdditionalOptions) -> Vec<String> {
    let last = |name: &ObjectName| build::last_name(name).map(|name| folded(&name)).unwrap_or_default();
    match &options.opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => vec![last(name)],
        Some(ExcludeSelectItem::Multiple(names)) => names.iter().map(last).collect(),
        None => Vec::new(),
    }
}
