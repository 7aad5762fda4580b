//! Trees of SQL that statements run for their own sake: the rows that an UPDATE finds, what RETURNING asks for.
//!
//! They are built, not written as text and parsed, so that no name or value can be read as something else.
//! Not here: what the trees are for (`statement`).

use longshore_storage::ColumnType;
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, GroupByExpr, Ident, Insert, ObjectName, ObjectNamePart, OrderBy, OrderByExpr, OrderByKind,
    OrderByOptions, Parens, Query, Select, SelectFlavor, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    TableAlias, TableFactor, TableObject, TableWithJoins, Value, Values, WildcardAdditionalOptions,
};

use crate::Error;
use crate::sql::names;
use crate::sql::types::{data_type, texts_of_uuids};

/// An identifier that stands for just this name.
pub(crate) fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

/// The column `name` of the table that the statement calls `table`.
pub(crate) fn column(table: &Ident, name: &str) -> Expr {
    Expr::CompoundIdentifier(vec![table.clone(), quoted(name)])
}

/// A literal.
pub(crate) fn value(value: Value) -> Expr {
    Expr::Value(value.into())
}

/// A whole number.
pub(crate) fn number(number: usize) -> Expr {
    value(Value::Number(number.to_string(), false))
}

/// `CAST(expr AS type)`, of a text without its length, to which a cast would cut it.
pub(crate) fn cast(expr: Expr, column_type: ColumnType) -> Expr {
    let column_type = match column_type {
        ColumnType::Char(_) | ColumnType::Varchar(_) => ColumnType::Text,
        ColumnType::Array(ColumnType::Char(_) | ColumnType::Varchar(_), dimensions) => {
            (0..dimensions).try_fold(ColumnType::Text, |inner, _| inner.array()).unwrap_or(column_type)
        }
        other => other,
    };
    cast_as(expr, data_type(column_type))
}

/// The same with a type as a statement spells it. UUIDs are read by a function: Arrow has texts for them.
pub(crate) fn cast_as(expr: Expr, data_type: DataType) -> Expr {
    if let Some(texts) = texts_of_uuids(&data_type) {
        return call("uuid_in", vec![cast_as(expr, texts)]);
    }
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, array: false, format: None }
}

/// `left op right`
pub(crate) fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

/// `left = right`
pub(crate) fn equal(left: Expr, right: Expr) -> Expr {
    binary(left, BinaryOperator::Eq, right)
}

/// All `conditions` by AND, true where there are none; no deeper than the logarithm of their number.
pub(crate) fn all(mut conditions: Vec<Expr>) -> Expr {
    match conditions.len() {
        0 => value(Value::Boolean(true)),
        1 => conditions.swap_remove(0),
        several => {
            let behind = conditions.split_off(several / 2);
            binary(all(conditions), BinaryOperator::And, all(behind))
        }
    }
}

/// `CASE WHEN condition THEN result ... ELSE otherwise END`
pub(crate) fn case(conditions: Vec<CaseWhen>, otherwise: Option<Expr>) -> Expr {
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions,
        else_result: otherwise.map(Box::new),
    }
}

/// `name(arguments)`
pub(crate) fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let args = arguments.into_iter().map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)));
    let list = FunctionArgumentList { duplicate_treatment: None, args: args.collect(), clauses: Vec::new() };
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(list),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// `expr AS "alias"` in the list of a SELECT.
pub(crate) fn named(expr: Expr, alias: &str) -> SelectItem {
    SelectItem::ExprWithAlias { expr, alias: quoted(alias) }
}

/// `table.*` in the list of a SELECT.
pub(crate) fn all_of(table: &Ident) -> SelectItem {
    let name = ObjectName::from(vec![table.clone()]);
    SelectItem::QualifiedWildcard(
        SelectItemQualifiedWildcardKind::ObjectName(name),
        WildcardAdditionalOptions::default(),
    )
}

/// The name of a table, view or sequence, with its schema unless that is `public`.
pub(crate) fn object(name: &str) -> ObjectName {
    let (schema, own) = names::parts(name);
    let schema = (schema != names::SCHEMA).then(|| quoted(schema));
    ObjectName::from(schema.into_iter().chain([quoted(own)]).collect::<Vec<_>>())
}

/// The same as a person writes it: in quotes only where these are needed.
pub(crate) fn written(name: &str) -> ObjectName {
    let plain = |name: &str| if names::quoted(name) == name { Ident::new(name) } else { quoted(name) };
    let (schema, own) = names::parts(name);
    let schema = (schema != names::SCHEMA).then(|| plain(schema));
    ObjectName::from(schema.into_iter().chain([plain(own)]).collect::<Vec<_>>())
}

/// The table `name` behind FROM.
pub(crate) fn table(name: &str, alias: Option<&Ident>) -> TableFactor {
    TableFactor::Table {
        name: object(name),
        alias: alias.map(called),
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    }
}

/// `(query) AS alias` behind FROM.
pub(crate) fn derived(query: Query, alias: &Ident) -> TableFactor {
    TableFactor::Derived { lateral: false, subquery: Box::new(query), alias: Some(called(alias)), sample: None }
}

fn called(alias: &Ident) -> TableAlias {
    TableAlias { explicit: true, name: alias.clone(), columns: Vec::new(), at: None }
}

/// A table behind FROM that is not joined.
pub(crate) fn alone(relation: TableFactor) -> TableWithJoins {
    TableWithJoins { relation, joins: Vec::new() }
}

/// `SELECT projection FROM from`, without any further clause.
pub(crate) fn select(projection: Vec<SelectItem>, from: Vec<TableWithJoins>) -> Select {
    Select {
        select_token: AttachedToken::empty(),
        optimizer_hints: Vec::new(),
        distinct: None,
        select_modifiers: None,
        top: None,
        top_before_distinct: false,
        projection,
        exclude: None,
        into: None,
        from,
        lateral_views: Vec::new(),
        prewhere: None,
        selection: None,
        connect_by: Vec::new(),
        group_by: GroupByExpr::Expressions(Vec::new(), Vec::new()),
        cluster_by: Vec::new(),
        distribute_by: Vec::new(),
        sort_by: Vec::new(),
        having: None,
        named_window: Vec::new(),
        qualify: None,
        window_before_qualify: false,
        value_table_mode: None,
        flavor: SelectFlavor::Standard,
    }
}

/// A query that is nothing but this SELECT.
pub(crate) fn query_of(select: Select) -> Query {
    query(SetExpr::Select(Box::new(select)))
}

/// `INSERT INTO "table" ("column", ...) query`
pub(crate) fn insert(table: &str, columns: &[&str], query: Box<Query>) -> Insert {
    Insert {
        insert_token: AttachedToken::empty(),
        optimizer_hints: Vec::new(),
        or: None,
        ignore: false,
        into: true,
        table: TableObject::TableName(object(table)),
        table_alias: None,
        columns: columns.iter().map(|column| ObjectName::from(vec![quoted(column)])).collect(),
        overwrite: false,
        source: Some(query),
        assignments: Vec::new(),
        partitioned: None,
        after_columns: Vec::new(),
        has_table_keyword: false,
        on: None,
        returning: None,
        output: None,
        replace_into: false,
        priority: None,
        insert_alias: None,
        settings: None,
        format_clause: None,
        multi_table_insert_type: None,
        multi_table_into_clauses: Vec::new(),
        multi_table_when_clauses: Vec::new(),
        multi_table_else_clause: None,
    }
}

/// A query of one row of values.
pub(crate) fn one_row(values: Vec<Expr>) -> Query {
    query(SetExpr::Values(Values {
        explicit_row: false,
        value_keyword: false,
        rows: vec![Parens::with_empty_span(values)],
    }))
}

/// A query without any clause beside its body.
pub(crate) fn query(body: SetExpr) -> Query {
    Query {
        with: None,
        body: Box::new(body),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}

/// `ORDER BY expr`
pub(crate) fn order_by(expr: Expr) -> OrderBy {
    let by = OrderByExpr { expr, options: OrderByOptions::default(), with_fill: None };
    OrderBy { kind: OrderByKind::Expressions(vec![by]), interpolate: None }
}

/// The name by which a table behind FROM is known.
pub(crate) fn name_of(factor: &TableFactor) -> Option<Ident> {
    match factor {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. }
        | TableFactor::TableFunction { alias: Some(alias), .. }
        | TableFactor::Function { alias: Some(alias), .. }
        | TableFactor::UNNEST { alias: Some(alias), .. }
        | TableFactor::NestedJoin { alias: Some(alias), .. } => Some(alias.name.clone()),
        TableFactor::Table { name, .. } => last_name(name).ok(),
        _ => None,
    }
}

/// The last part of a name.
pub(crate) fn last_name(name: &ObjectName) -> Result<Ident, Error> {
    match name.0.last() {
        Some(ObjectNamePart::Identifier(ident)) => Ok(ident.clone()),
        _ => Err(Error::syntax(format!("{name}: the name of a table is expected"))),
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::Statement;

    use super::*;
    use crate::sql::{Parsed, parse};

    fn parsed(sql: &str) -> Query {
        match parse(sql) {
            Ok(Parsed::Sql(statement)) => match *statement {
                Statement::Query(query) => *query,
                other => panic!("{other}"),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_built_is_what_the_parser_makes_of_its_text() {
        let alias = Ident::new("a");
        let conditions = vec![equal(column(&alias, "x"), number(1)), Expr::IsNull(Box::new(column(&alias, "y")))];
        let list = vec![
            named(cast(value(Value::Null), ColumnType::Integer), "n"),
            all_of(&alias),
            named(call("coalesce", vec![number(1), column(&alias, "x")]), "c"),
        ];
        let mut built = select(list, vec![alone(table("t", Some(&alias)))]);
        built.selection = Some(all(conditions));
        let sql = "SELECT CAST(NULL AS INTEGER) AS \"n\", a.*, coalesce(1, a.\"x\") AS \"c\" FROM \"t\" AS a \
                   WHERE a.\"x\" = 1 AND a.\"y\" IS NULL";
        assert_eq!(query_of(built), parsed(sql));
        let condition = CaseWhen { condition: all(Vec::new()), result: number(2) };
        let inner = query_of(select(vec![named(case(vec![condition], Some(number(3))), "c")], Vec::new()));
        let built = query_of(select(vec![all_of(&alias)], vec![alone(derived(inner, &alias))]));
        assert_eq!(built, parsed("SELECT a.* FROM (SELECT CASE WHEN true THEN 2 ELSE 3 END AS \"c\") AS a"));
        assert_eq!(one_row(vec![number(1)]).to_string(), "VALUES (1)");
    }
}
