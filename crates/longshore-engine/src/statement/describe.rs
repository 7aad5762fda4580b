//! What a prepared statement takes and gives, found out without executing it.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;

use longshore_storage::ColumnType;
use sqlparser::ast::{
    Assignment, AssignmentTarget, Cte, DataType, Delete, Expr, FromTable, Ident, Insert, Merge, ObjectName, OnConflict,
    OnConflictAction, OnInsert, OutputClause, Query, SelectItem, SetExpr, Statement, TableFactor, TableObject,
    TableWithJoins, Update, UpdateTableFromKind, Value, VisitorMut, With,
};

use super::change::is_default;
use super::{Context, SessionContext, refuse, set_config, with_changes};
use crate::catalog::Entry;
use crate::datafusion::Described;
use crate::prepared::{OfSession, Prepared};
use crate::sql::parameters::number_of;
use crate::sql::visit::VisitMut;
use crate::sql::{build, declared_types, headings, is_change, names, repeated, row_locks, rows, types};
use crate::transaction::Nature;
use crate::{Description, Error, Outcome, ResultColumns, TypeId};

/// What `prepared` takes and gives to who is in the session's transaction block, or in a transaction of its own.
pub(crate) async fn describe(session: SessionContext<'_>, prepared: &Prepared) -> Result<Description, Error> {
    let SessionContext { database, block, control, .. } = session;
    block.refuse_if_failed()?;
    let mut description = None;
    let described = block.run_once(Nature::Reads, control, async |transaction| {
        let context = Context { database, control, transaction, parameters: None, with: None, named: &[] };
        description = Some(Box::pin(of_statement(&context, prepared)).await?);
        Ok(Outcome::done(""))
    });
    described.await?;
    description.ok_or_else(|| Error::internal("a statement was not described"))
}

async fn of_statement(context: &Context<'_>, prepared: &Prepared) -> Result<Description, Error> {
    if let Some(OfSession::Sets) = prepared.of_session.as_deref() {
        return Ok(set_config::describe(&prepared.statement, prepared.parameters()));
    }
    if let Some(described) = of_point_query(context, prepared) {
        return Ok(described);
    }
    let mut declared = prepared.types.clone();
    declared.resize(prepared.parameters(), None);
    let mut describing = Describing { context, found: vec![None; declared.len()], declared, with: None };
    let columns = describing.statement(prepared.statement.clone()).await?;
    let columns = columns.filter(|_| !prepared.declares());
    Ok(Description { parameters: describing.oids()?, columns })
}

fn refused(what: &str) -> Error {
    Error::unsupported(format!("{what} cannot be described before it is executed"))
}

/// That of a statement which needs no planner.
fn of_point_query(context: &Context<'_>, prepared: &Prepared) -> Option<Description> {
    let described = prepared.with_point_query(&context.database.catalog, context.transaction, |plan| {
        // One that does not stand for a value of a column is a number of rows.
        let oid = |column: &Option<_>| column.map_or(INT8, |column| TypeId::of_column(column).oid);
        let parameters: Vec<u32> = match plan.parameters() {
            Some(types) => types.iter().map(oid).collect(),
            None => return None,
        };
        let columns = plan
            .columns()
            .map(|(schema, types)| ResultColumns { schema: Arc::clone(schema), types: Arc::clone(types) });
        Some(Description { parameters, columns: columns.filter(|_| !prepared.declares()) })
    })??;
    let is_whole = described.parameters.len() == prepared.parameters() && prepared.types.iter().all(Option::is_none);
    is_whole.then_some(described)
}

const INT8: u32 = 20;
const TEXT: u32 = 25;

/// What is known of a statement by now.
struct Describing<'a> {
    context: &'a Context<'a>,
    /// The types that were given to parameters, or that they get from columns that they are values of.
    declared: Vec<Option<DataType>>,
    /// The types that planning told.
    found: Vec<Option<TypeId>>,
    /// What stands in WITH before the statement.
    with: Option<With>,
}

impl Describing<'_> {
    /// The columns of the rows that a statement gives, if it gives any; the types of its parameters are noted.
    fn statement<'a>(
        &'a mut self,
        statement: Statement,
    ) -> Pin<Box<dyn Future<Output = Result<Option<ResultColumns>, Error>> + Send + 'a>> {
        Box::pin(async move {
            match statement {
                Statement::Query(query) if with_changes::has_changes(&query) => self.changes_in_with(*query).await,
                Statement::Query(query) => match with_changes::with_change(query) {
                    Ok((with, change)) => {
                        let outer = self.with.replace(with);
                        let columns = self.statement(change).await;
                        self.with = outer;
                        columns
                    }
                    Err(query) => self.query(*query).await.map(Some),
                },
                Statement::Insert(insert) => self.insert(&insert).await,
                Statement::Update(update) => self.update(&update).await,
                Statement::Delete(delete) => self.delete(&delete).await,
                Statement::Merge(merge) => Box::pin(self.merge(merge)).await,
                other => Err(refused(&refuse::name(&other))),
            }
        })
    }

    /// The same of a query in whose WITH rows are changed: what a change returns are columns of these types.
    async fn changes_in_with(&mut self, mut query: Query) -> Result<Option<ResultColumns>, Error> {
        let Some(with) = query.with.take() else { return Err(Error::internal("WITH expected")) };
        let mut before = With { cte_tables: Vec::new(), ..with.clone() };
        for definition in with.cte_tables {
            if !is_change(&definition.query) {
                before.cte_tables.push(definition);
                continue;
            }
            let change = with_changes::statement(with_changes::behind(&before, definition.query.as_ref().clone()));
            if let Some(columns) = self.statement(change).await? {
                before.cte_tables.push(Cte { query: Box::new(rows_of(&columns)), ..definition });
            }
        }
        self.statement(with_changes::statement(with_changes::behind(&before, query))).await
    }

    /// The same of a MERGE: what stands in its clauses is told when it is executed.
    async fn merge(&mut self, mut merge: Merge) -> Result<Option<ResultColumns>, Error> {
        let Some(OutputClause::Returning { select_items, .. }) = merge.output.take() else { return Ok(None) };
        let mut items = select_items;
        let ControlFlow::Continue(()) = items.iter_mut().try_for_each(|item| VisitMut::visit(item, &mut ActionAsText));
        let from = vec![build::alone(merge.source), build::alone(merge.table)];
        self.returned(Some(&items), from, Some(*merge.on)).await
    }

    /// The OIDs of the parameters' types.
    fn oids(&self) -> Result<Vec<u32>, Error> {
        let oids = self.declared.iter().zip(&self.found).map(|(declared, found)| match declared {
            Some(declared) => declared_oid(declared),
            None => Ok(found.map_or(TEXT, |found| found.oid)),
        });
        oids.collect()
    }

    /// Notes that `expr` is a value of a column of this type, if it is a parameter.
    fn is_value_of(&mut self, expr: &Expr, column: Option<&DataType>) {
        if let Some(column) = column
            && let Expr::Value(value) = expr
            && let Value::Placeholder(name) = &value.value
            && let Ok(number) = number_of(name)
            && let Some(declared) = self.declared.get_mut(number)
        {
            declared.get_or_insert_with(|| column.clone());
        }
    }

    async fn query(&mut self, mut query: Query) -> Result<ResultColumns, Error> {
        if let Some(with) = &self.with {
            query = with_changes::behind(with, query);
        }
        row_locks::leave_out(&mut query);
        refuse::unless_reads_only(&query)?;
        repeated::name_apart(&mut query);
        let statement = Statement::Query(Box::new(query));
        let (queries, execution) = (&self.context.database.queries, self.context.execution());
        let Described { parameters, schema, types } = queries.describe(&statement, &self.declared, &execution).await?;
        for (found, now) in self.found.iter_mut().zip(parameters) {
            *found = found.or(now);
        }
        Ok(ResultColumns { schema, types })
    }

    async fn insert(&mut self, insert: &Insert) -> Result<Option<ResultColumns>, Error> {
        let TableObject::TableName(name) = &insert.table else { return Err(refused("INSERT into a function")) };
        let columns = self.columns(name)?;
        let types: Vec<Option<&DataType>> = if insert.columns.is_empty() {
            columns.iter().map(|(_, data_type)| Some(data_type)).collect()
        } else {
            insert.columns.iter().map(|name| of_name(&columns, name)).collect()
        };
        if let Some(source) = &insert.source {
            let mut source = source.as_ref().clone();
            match source.body.as_mut() {
                SetExpr::Values(values) => {
                    for row in &mut values.rows {
                        for (value, column) in row.content.iter_mut().zip(&types) {
                            self.is_value_of(value, *column);
                            if is_default(value) {
                                *value = build::value(Value::Null);
                            }
                        }
                    }
                }
                SetExpr::Select(select) => {
                    for (item, column) in select.projection.iter().zip(&types) {
                        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                            self.is_value_of(expr, *column);
                        }
                    }
                }
                _ => {}
            }
            self.query(source).await?;
        }
        if let Some(OnInsert::OnConflict(OnConflict { action: OnConflictAction::DoUpdate(update), .. })) = &insert.on {
            self.assigned(&update.assignments, &columns);
        }
        let name = names::relation(name)?;
        let own = Ident::with_quote('"', names::own(&name));
        let alias = insert.table_alias.as_ref().map_or(&own, |alias| &alias.alias);
        let table = build::alone(build::table(&name, Some(alias)));
        self.returned(insert.returning.as_ref(), vec![table], None).await
    }

    async fn update(&mut self, update: &Update) -> Result<Option<ResultColumns>, Error> {
        let TableFactor::Table { name, .. } = &update.table.relation else { return Err(refused("UPDATE of a query")) };
        let columns = self.columns(name)?;
        let assignments = each_column(&update.assignments);
        self.assigned(&assignments, &columns);
        let mut from = vec![update.table.clone()];
        if let Some(UpdateTableFromKind::BeforeSet(others) | UpdateTableFromKind::AfterSet(others)) = &update.from {
            from.extend(others.iter().cloned());
        }
        let values = assignments.iter().filter(|set| !is_default(&set.value));
        let values: Vec<SelectItem> = values.map(|set| SelectItem::UnnamedExpr(set.value.clone())).collect();
        if self.has_open_parameters() {
            self.found_in(values, from.clone(), update.selection.clone()).await?;
        }
        self.returned(update.returning.as_ref(), from, update.selection.clone()).await
    }

    async fn delete(&mut self, delete: &Delete) -> Result<Option<ResultColumns>, Error> {
        let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
        let from: Vec<TableWithJoins> = tables.iter().chain(delete.using.iter().flatten()).cloned().collect();
        if self.has_open_parameters() {
            self.found_in(Vec::new(), from.clone(), delete.selection.clone()).await?;
        }
        self.returned(delete.returning.as_ref(), from, delete.selection.clone()).await
    }

    fn has_open_parameters(&self) -> bool {
        self.declared.iter().any(Option::is_none)
    }

    /// Notes which parameters are values of columns that are set.
    fn assigned(&mut self, assignments: &[Assignment], columns: &[(String, DataType)]) {
        for Assignment { target, value } in assignments {
            if let AssignmentTarget::ColumnName(name) = target {
                self.is_value_of(value, of_name(columns, name));
            }
        }
    }

    /// Plans what a change computes, for the types of its parameters.
    async fn found_in(
        &mut self,
        mut values: Vec<SelectItem>,
        from: Vec<TableWithJoins>,
        selection: Option<Expr>,
    ) -> Result<(), Error> {
        values.push(SelectItem::UnnamedExpr(build::number(1)));
        let mut select = build::select(values, from);
        select.selection = selection;
        self.query(build::query_of(select)).await.map(|_| ())
    }

    /// What RETURNING gives, if it is there.
    async fn returned(
        &mut self,
        items: Option<&Vec<SelectItem>>,
        from: Vec<TableWithJoins>,
        selection: Option<Expr>,
    ) -> Result<Option<ResultColumns>, Error> {
        let Some(items) = items else { return Ok(None) };
        let mut select = build::select(items.clone(), from);
        select.selection = selection;
        let mut query = build::query_of(select);
        headings::name(&mut query);
        self.query(query).await.map(Some)
    }

    /// The names and types of the columns of a table or a view.
    fn columns(&self, name: &ObjectName) -> Result<Vec<(String, DataType)>, Error> {
        let name = names::relation(name)?;
        match self.context.entry(&name) {
            Some(Entry::Table(table)) => {
                let columns = table.relation.schema().columns().iter();
                Ok(columns.map(|column| (column.name.clone(), types::data_type(column.column_type))).collect())
            }
            // The types of its parameters come from where they stand.
            Some(_) => Ok(Vec::new()),
            None => Err(Error::not_found(format!("table {name} does not exist"))),
        }
    }
}

/// The type of the column of this name. One that does not exist is told when the statement is executed.
fn of_name<'a>(columns: &'a [(String, DataType)], name: &ObjectName) -> Option<&'a DataType> {
    let name = names::identifier(&build::last_name(name).ok()?).ok()?;
    columns.iter().find(|(column, _)| *column == name).map(|(_, data_type)| data_type)
}

/// A query without rows that has these columns.
fn rows_of(columns: &ResultColumns) -> Query {
    let typed = columns.schema.fields().iter().zip(columns.types.iter()).map(|(field, id)| {
        let decimal = match *field.data_type() {
            arrow_schema::DataType::Decimal128(precision, scale @ 0..) => {
                Some(types::data_type(ColumnType::Decimal { precision, scale: scale.unsigned_abs() }))
            }
            _ => None,
        };
        let data_type = decimal.or_else(|| declared_types::of_oid(id.oid)).unwrap_or(DataType::Text);
        build::named(build::cast_as(build::value(Value::Null), data_type), field.name())
    });
    let mut select = build::select(typed.collect(), Vec::new());
    select.selection = Some(build::value(Value::Boolean(false)));
    build::query_of(select)
}

/// Puts a text in the place of `merge_action()`, which only a MERGE that is executed knows.
struct ActionAsText;

impl VisitorMut for ActionAsText {
    type Break = Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::Function(function) = expr
            && function.name.to_string().eq_ignore_ascii_case("merge_action")
        {
            *expr = build::cast_as(build::value(Value::Null), DataType::Text);
        }
        ControlFlow::Continue(())
    }
}

/// Assignments to one column each.
fn each_column(assignments: &[Assignment]) -> Vec<Assignment> {
    let one = |place: &ObjectName, value| Assignment { target: AssignmentTarget::ColumnName(place.clone()), value };
    let mut each = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        match (&assignment.target, &assignment.value) {
            (AssignmentTarget::Tuple(places), Expr::Subquery(query)) => {
                let columns = places
                    .iter()
                    .enumerate()
                    .map(|(number, place)| one(place, rows::column_of(query.as_ref().clone(), number, places.len())));
                each.extend(columns);
            }
            (AssignmentTarget::Tuple(places), value) => {
                let values = rows::parts(value).unwrap_or_default();
                each.extend(places.iter().zip(values).map(|(place, value)| one(place, value)));
            }
            _ => each.push(assignment.clone()),
        }
    }
    each
}

/// The OID of a type that was declared for a parameter.
fn declared_oid(declared: &DataType) -> Result<u32, Error> {
    Ok(TypeId::of_column(types::column_type(declared)?).oid)
}
