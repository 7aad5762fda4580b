//! MERGE, as PostgreSQL has it: rows of a source meet rows of a table, and the first WHEN that is true of a pair, or of
//! one that has no partner, says what becomes of it.
//!
//! A join of the two finds which clause takes which rows; then each clause computes the new values of the rows that it
//! takes, and of no others. Only when all is found and computed the table is changed: first rows are deleted, then
//! changed, then inserted, so that keys become free before they are taken. A row that would be changed twice is an
//! error.
//! Not here: reading the statement (`sql/merge.rs`), what its clauses say (`merge/clauses.rs`).

mod clauses;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, StringViewArray};
use longshore_storage::RowId;
use sqlparser::ast::{
    Expr, Ident, Join, JoinConstraint, JoinOperator, Merge, OutputClause, Select, SelectItem, TableFactor,
    TableWithJoins, Value, WildcardAdditionalOptions,
};

use clauses::{Action, Clause};

use crate::datafusion::{Changing, FoundRows, ROW_COLUMN, TARGET, concat, rows_with_numbers, take};
use crate::sql::build::{self, name_of};
use crate::sql::names;
use crate::statement::Context;
use crate::statement::change::{Returned, Search, Target, returning, rows_of_target};
use crate::statement::rows::{self, Updating};
use crate::statement::updatable::Verb;
use crate::{Error, ErrorKind, Outcome, Report};

/// The name of the source's rows once they are found.
const SOURCE: &str = "the source (hidden)";
/// The column that rows of the source have and others lack.
const MARK: &str = "is there (hidden)";
/// The column that says which clause takes a row.
const CLAUSE: &str = "clause (hidden)";

/// MERGE.
pub(crate) async fn merge(context: &Context<'_>, merge: Merge) -> Result<Outcome, Error> {
    let started = Instant::now();
    let target = Target::new(context, &TableWithJoins { relation: merge.table, joins: Vec::new() }, Verb::Update)?;
    if target.view.is_some() {
        return Err(Error::new(
            ErrorKind::WrongObject,
            format!("cannot execute MERGE on relation \"{}\": it is a view", target.alias.value),
        ));
    }
    let alias = name_of(&merge.source).unwrap_or_else(|| build::quoted(SOURCE));
    if names::identifier(&alias)? == names::identifier(&target.alias)? {
        return Err(Error::invalid(format!("both tables of MERGE are called {alias}; name one of them apart with AS")));
    }
    let clauses = clauses::checked(&target, merge.clauses)?;
    let statement = context.reading(join(&target, &alias, merge.source, *merge.on, &clauses)?)?;
    let queries = &context.database.queries;
    let matches = Box::pin(queries.matches(statement, &target.table, &context.execution())).await?;
    let pairs = Pairs::new(&matches, &clauses)?;
    let mut steps = Vec::with_capacity(clauses.len());
    for (clause, taken) in clauses.into_iter().zip(&pairs.taken) {
        if !taken.is_empty() {
            let step = Box::pin(pairs.step(context, &target, &alias, clause, taken)).await?;
            steps.push((step, taken.as_slice()));
        }
    }
    let items = match merge.output {
        Some(OutputClause::Returning { select_items, .. }) => Some(select_items),
        _ => None,
    };
    let done = Done::by(context, &target, &pairs, &steps, items.is_some()).await?;
    if let Some(items) = items {
        return done.returned(context, &target, &pairs, alias, items).await;
    }
    let rows = done.rows.len() as u64;
    let report = Report { rows, seconds: started.elapsed().as_secs_f64(), ..Report::default() };
    Ok(Outcome::Done { tag: format!("MERGE {rows}"), report, notice: None })
}

/// The query that finds which clause takes which rows: the number of the table's row, that of the clause, the source's
/// columns.
fn join(target: &Target, alias: &Ident, source: TableFactor, on: Expr, clauses: &[Clause]) -> Result<Select, Error> {
    let mut marked = build::select(Vec::new(), vec![build::alone(source)]);
    marked.projection.push(SelectItem::Wildcard(WildcardAdditionalOptions::default()));
    marked.projection.push(build::named(build::value(Value::Boolean(true)), MARK));
    let is_there = |table: &Ident, column: &str| Expr::IsNotNull(Box::new(build::column(table, column)));
    let (row, source_row) = (is_there(&target.alias, ROW_COLUMN), is_there(alias, MARK));
    let mut joined = rows_of_target(&target.alias);
    joined.projection.push(build::named(clauses::choice(clauses, &row, &source_row)?, CLAUSE));
    joined.projection.push(build::all_of(alias));
    let relation = build::derived(build::query_of(marked), alias);
    let join_operator = operator(clauses)(JoinConstraint::On(on));
    joined.from[0].joins.push(Join { relation, global: false, join_operator });
    Ok(joined)
}

/// How the table is joined to the source, so that all rows come that a clause is about.
fn operator(clauses: &[Clause]) -> fn(JoinConstraint) -> JoinOperator {
    let some = |needs: fn(&Clause) -> bool| clauses.iter().any(needs);
    match (some(|clause| !clause.needs_source()), some(|clause| !clause.needs_row())) {
        (true, true) => JoinOperator::FullOuter,
        (true, false) => JoinOperator::LeftOuter,
        (false, true) => JoinOperator::RightOuter,
        (false, false) => JoinOperator::Inner,
    }
}

/// The rows of the table and of the source, as they met.
struct Pairs {
    /// The table's row of each pair; `None` where there is none.
    rows: Vec<Option<RowId>>,
    /// The source's rows, NULL where there is none.
    source: RecordBatch,
    /// Which pairs each clause takes, among those that something becomes of.
    taken: Vec<Vec<usize>>,
}

impl Pairs {
    fn new(matches: &RecordBatch, clauses: &[Clause]) -> Result<Self, Error> {
        let rows = matches.column(0).as_primitive::<UInt64Type>();
        let chosen = matches.column(1).as_primitive::<Int32Type>();
        let mut taken = vec![Vec::new(); clauses.len()];
        let mut changed = HashSet::new();
        for pair in (0..matches.num_rows()).filter(|pair| chosen.is_valid(*pair)) {
            let clause = chosen.value(pair) as usize;
            if matches!(clauses[clause].action, Action::Nothing) {
                continue;
            }
            if rows.is_valid(pair) && !changed.insert(rows.value(pair)) {
                return Err(Error::new(
                    ErrorKind::Cardinality,
                    "MERGE command cannot affect row a second time; ensure that not more than one source row matches any \
                     one target row",
                ));
            }
            taken[clause].push(pair);
        }
        // Without the number of the row, that of the clause and the mark.
        let columns: Vec<usize> = (2..matches.num_columns() - 1).collect();
        let source = matches.project(&columns).map_err(|error| Error::internal(error.to_string()))?;
        Ok(Self { rows: rows.iter().map(|row| row.map(RowId)).collect(), source, taken })
    }

    fn row(&self, pair: usize) -> Result<RowId, Error> {
        self.rows[pair].ok_or_else(|| Error::internal("a row of the table expected"))
    }

    /// What a clause does to the pairs that it takes.
    async fn step(
        &self,
        context: &Context<'_>,
        target: &Target,
        alias: &Ident,
        clause: Clause,
        taken: &[usize],
    ) -> Result<Step, Error> {
        let needs_source = clause.needs_source();
        let source = |numbered: &[(usize, RowId)]| rows_with_numbers(&self.source, numbered);
        match clause.action {
            Action::Nothing => Ok(Step::Nothing),
            Action::Delete => Ok(Step::Delete),
            Action::Update { columns, values } => {
                let rows = taken.iter().map(|pair| self.row(*pair)).collect::<Result<Vec<_>, Error>>()?;
                let updating = Updating::new(context, &target.table, &target.table.rules(), &columns)?;
                let also = updating.also(&columns);
                let mut search = Search { columns: &columns, values, also: &also, ..Search::default() };
                search.named.push((TARGET.to_owned(), target.rows(context, &rows)?));
                if needs_source {
                    let numbered: Vec<(usize, RowId)> = taken.iter().copied().zip(rows).collect();
                    search.named.push((SOURCE.to_owned(), source(&numbered)?));
                    search.from = vec![build::alone(build::table(SOURCE, Some(alias)))];
                    let numbers = [&target.alias, alias].map(|table| build::column(table, ROW_COLUMN));
                    let [row, source_row] = numbers;
                    search.selection = Some(build::equal(row, source_row));
                }
                let found = target.find(context, search).await?;
                Ok(Step::Update { columns, updating, found })
            }
            Action::Insert { values } => {
                let columns: Vec<usize> = (0..values.len()).collect();
                let numbered: Vec<(usize, RowId)> = taken.iter().map(|pair| (*pair, RowId(*pair as u64))).collect();
                let number = SelectItem::UnnamedExpr(build::column(alias, ROW_COLUMN));
                let from = vec![build::alone(build::table(SOURCE, Some(alias)))];
                let mut select = build::select(vec![number], from);
                select.projection.extend(target.new_values(&columns, values));
                let statement = context.reading(select)?;
                let named = vec![(SOURCE.to_owned(), source(&numbered)?)];
                let changing = Changing { table: &target.table, columns: &columns, also: &[], named };
                let queries = &context.database.queries;
                Ok(Step::Insert(queries.find_rows(statement, changing, &context.execution()).await?))
            }
        }
    }
}

/// What is to be done to the rows that a clause takes.
enum Step {
    Nothing,
    Delete,
    Update {
        columns: Vec<usize>,
        updating: Updating,
        found: FoundRows,
    },
    /// The rows to insert, under the numbers of their pairs.
    Insert(FoundRows),
}

/// What was done.
#[derive(Default)]
struct Done {
    /// Pair by pair: what was done, and where the row is now, unless it was deleted.
    rows: Vec<(usize, &'static str, Option<RowId>)>,
    /// Rows that were deleted, as they were, in their order.
    deleted: Option<RecordBatch>,
}

impl Done {
    /// Does the `steps`; with `returns` keeps what will be gone.
    async fn by(
        context: &Context<'_>,
        target: &Target,
        pairs: &Pairs,
        steps: &[(Step, &[usize])],
        returns: bool,
    ) -> Result<Self, Error> {
        let mut done = Self::default();
        let mut gone = Vec::new();
        for taken in steps.iter().filter(|(step, _)| matches!(step, Step::Delete)).map(|(_, taken)| *taken) {
            for pair in taken {
                gone.push(pairs.row(*pair)?);
                done.rows.push((*pair, "DELETE", None));
            }
        }
        if returns {
            done.deleted = Some(target.fetch_rows(context, &gone)?);
        }
        rows::delete(context, &target.table, &gone).await?;
        for (step, taken) in steps {
            if let Step::Update { columns, updating, found } = step {
                let changed = updating.update(context, &target.table, columns, found).await?;
                let now: HashMap<RowId, RowId> = found.row_ids().into_iter().zip(changed).collect();
                for pair in *taken {
                    done.rows.push((*pair, "UPDATE", now.get(&pairs.row(*pair)?).copied()));
                }
            }
        }
        for (step, _) in steps {
            if let Step::Insert(found) = step {
                let inserted = rows::insert(context, &target.table, &found.values()?, |_| false).await?.rows_now;
                let pairs = found.row_ids().into_iter().map(|pair| pair.0 as usize);
                done.rows.extend(pairs.zip(inserted).map(|(pair, row)| (pair, "INSERT", Some(row))));
            }
        }
        Ok(done)
    }

    /// What RETURNING asks for, in the order in which the pairs were found.
    async fn returned(
        self,
        context: &Context<'_>,
        target: &Target,
        pairs: &Pairs,
        alias: Ident,
        items: Vec<SelectItem>,
    ) -> Result<Outcome, Error> {
        let now: Vec<RowId> = self.rows.iter().filter_map(|(_, _, row)| *row).collect();
        let now = target.fetch_rows(context, &now)?;
        // Deleted rows come first, as they were the first to be noted.
        let all = concat(self.deleted.as_ref().into_iter().chain([&now]))?;
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_unstable_by_key(|at| self.rows[*at].0);
        let actions = StringViewArray::from_iter_values(order.iter().map(|at| self.rows[*at].1));
        let found: Vec<usize> = order.iter().map(|at| self.rows[*at].0).collect();
        let returned = Returned {
            alias: target.alias.clone(),
            images: take(&all, &order)?,
            actions: Some(Arc::new(actions)),
            others: vec![(alias, take(&pairs.source, &found)?)],
            others_first: true,
        };
        returning(context, "MERGE", items, returned, None).await
    }
}
