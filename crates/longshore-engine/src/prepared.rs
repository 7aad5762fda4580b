//! Prepared statements: a statement with parameters, parsed once.
//!
//! A statement about one row by its whole key, or about few by an index, is recognised when it is prepared ([`point_query`]),
//! or when the index is there, and does not pass through the query planner. Of every other one the plans of the queries
//! that it consists of are kept (`datafusion/planning/plan_cache.rs`); values that a plan does not take are planned anew, in place.
//! Not here: PREPARE and EXECUTE (`statement/prepare.rs`).

mod literals;
mod point_query;
mod shapes;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use longshore_load::Control;
use longshore_storage::{ColumnType, Datum};
use sqlparser::ast::{DataType, Expr, Statement, Value};

pub(crate) use point_query::{Done, PointQueryPlan, Surroundings};
pub(crate) use shapes::{Shaped, Shapes};

use crate::Error;
use crate::catalog::{Catalog, RoleId};
use crate::datafusion::PlanCache;
use crate::sql::cursors::Declaration;
use crate::sql::parameters::{self, fit};
use crate::sql::shape::Literal;
use crate::sql::{Parsed, asks_for_settings, build, is_change, row_locks, secrets, types};
use crate::transaction::StatementTransaction;

/// A statement with parameters `$1`, `$2`, ..., parsed once; good for every session of its database.
#[derive(Debug)]
pub struct Prepared {
    pub(crate) statement: Statement,
    /// Whether it changes rows, or locks them.
    writes: bool,
    parameters: usize,
    /// The types that were given to the first parameters; `None` where one was left open.
    pub(crate) types: Vec<Option<DataType>>,
    /// `None` if it goes through the planner.
    point_query: Option<PointQueryPlan>,
    /// What it is over tables and indexes as they were made, altered or dropped since.
    anew: Mutex<Anew>,
    /// What the planner has made of it.
    pub(crate) plans: PlanCache,
    /// The query as the planner gets it, once someone asked; `None` if there is more to its execution.
    pub(crate) plain_query: OnceLock<Option<Statement>>,
    /// The role that was last found to be allowed to execute it, and in which state of the catalog.
    allowed: Mutex<Option<(RoleId, u64)>>,
    /// What must stand in no message.
    pub(crate) secrets: Vec<String>,
    /// Whether it may ask for settings of the session.
    pub(crate) asks_for_settings: bool,
    /// Whether values that are texts do not do for all of its parameters, once someone asked.
    asks_for_types: OnceLock<bool>,
    /// What it does to its session, if it is about that.
    pub(crate) of_session: Option<Box<OfSession>>,
}

/// What a prepared statement does to the session that executes it.
#[derive(Debug)]
pub(crate) enum OfSession {
    /// It declares a cursor with its rows.
    Declares(Declaration),
    /// It calls `set_config`.
    Sets,
}

/// What a statement was recognised as, and in which state of the catalog.
#[derive(Debug, Default)]
struct Anew {
    version: Option<u64>,
    point_query: Option<Arc<PointQueryPlan>>,
}

impl Prepared {
    /// Prepares a statement whose names are resolved.
    pub(crate) fn of(parsed: Parsed, types: Vec<Option<DataType>>, catalog: &Catalog) -> Result<Self, Error> {
        match parsed {
            Parsed::Sql(statement) => Self::new(*statement, types, catalog),
            _ => Err(Self::refused()),
        }
    }

    /// Prepares a statement, whose first parameters have these `types`, as far as they are given.
    pub(crate) fn new(statement: Statement, types: Vec<Option<DataType>>, catalog: &Catalog) -> Result<Self, Error> {
        if !matches!(
            statement,
            Statement::Query(_)
                | Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
                | Statement::Merge(_)
        ) {
            return Err(Self::refused());
        }
        let writes = match &statement {
            Statement::Query(query) => {
                let definitions = query.with.iter().flat_map(|with| &with.cte_tables);
                is_change(query)
                    || definitions.into_iter().any(|definition| is_change(&definition.query))
                    || row_locks::are_in(&statement)
            }
            _ => true,
        };
        let count = parameters::count(&statement)?;
        let point_query = PointQueryPlan::recognise(&statement, catalog);
        let parameters = count.max(types.len());
        let text = statement.to_string();
        let (secrets, asks_for_settings) = (secrets::values(&text), asks_for_settings(&text));
        Ok(Self {
            statement,
            writes,
            parameters,
            types,
            point_query,
            anew: Mutex::default(),
            plans: PlanCache::default(),
            plain_query: OnceLock::new(),
            allowed: Mutex::default(),
            secrets,
            asks_for_settings,
            asks_for_types: OnceLock::new(),
            of_session: None,
        })
    }

    /// The same, with whose rows a cursor is declared.
    pub(crate) fn declaring(self, declaration: Declaration) -> Self {
        Self { of_session: Some(Box::new(OfSession::Declares(declaration))), ..self }
    }

    /// The same, which calls `set_config`.
    pub(crate) fn setting(self) -> Self {
        Self { of_session: Some(Box::new(OfSession::Sets)), ..self }
    }

    /// Whether it declares a cursor.
    pub(crate) fn declares(&self) -> bool {
        matches!(self.of_session.as_deref(), Some(OfSession::Declares(_)))
    }

    pub(crate) fn refused() -> Error {
        Error::unsupported("only queries, INSERT, UPDATE, DELETE, MERGE and DECLARE can be prepared")
    }

    /// Whether a role may execute it, in a state of the catalog: `check` is asked once for both.
    pub(crate) fn allow(
        &self,
        role: RoleId,
        version: u64,
        check: impl FnOnce(&Statement) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let known = *self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        if known != Some((role, version)) {
            check(&self.statement)?;
            *self.allowed.lock().unwrap_or_else(PoisonError::into_inner) = Some((role, version));
        }
        Ok(())
    }

    /// Gives `act` the statement as one that needs no planner, if it is such a one to who sees what `transaction` does.
    pub(crate) fn with_point_query<R>(
        &self,
        catalog: &Catalog,
        transaction: &StatementTransaction,
        act: impl FnOnce(&PointQueryPlan) -> R,
    ) -> Option<R> {
        let known = self.point_query.as_ref().filter(|point_query| point_query.is_current(catalog, transaction));
        if let Some(known) = known {
            return Some(act(known));
        }
        // Its table was altered, or made anew.
        self.point_query_anew(catalog, transaction).map(|anew| act(&anew))
    }

    /// What it is since the catalog has changed: recognised once for each change.
    fn point_query_anew(&self, catalog: &Catalog, transaction: &StatementTransaction) -> Option<Arc<PointQueryPlan>> {
        // Asked before the catalog is, so that no change is missed.
        let version = Some(catalog.version());
        let mut anew = self.anew.lock().unwrap_or_else(PoisonError::into_inner);
        if anew.version != version {
            let point_query = PointQueryPlan::recognise(&self.statement, catalog).map(Arc::new);
            *anew = Anew { version, point_query };
        }
        anew.point_query.clone().filter(|point_query| point_query.is_current(catalog, transaction))
    }

    /// Runs it as `plan` with literals, one for each parameter, unless it needs the planner. Of an INSERT, there may be those
    /// of several rows.
    pub(crate) fn run_literals(
        &self,
        plan: &PointQueryPlan,
        surroundings: Surroundings<'_>,
        literals: &[Literal<'_>],
        control: &Control,
    ) -> Result<Done, Error> {
        let Some(types) = plan.parameters().filter(|types| types.len() == self.parameters) else {
            return Ok(Done::Planner);
        };
        let mut types = Cow::Borrowed(types);
        for (at, declared) in self.types.iter().enumerate() {
            if let Some(declared) = declared {
                types.to_mut()[at] = Some(types::column_type(declared)?);
            }
        }
        let typed = literals.iter().zip(types.iter().cycle());
        let values: Option<Vec<_>> = typed.map(|(literal, of)| literals::datum(literal, *of)).collect();
        let Some(values) = values else { return Ok(Done::Planner) };
        surroundings.transaction.with_any(|transaction| {
            if values.len() == self.parameters {
                plan.run(surroundings, transaction, &values)
            } else {
                plan.insert_rows(surroundings, transaction, &values, self.parameters, control)
            }
        })
    }

    /// Values as parameters of the types that were given; `None` if that takes more than to call them so. Texts of types that are more
    /// than to call a text so stay what they are.
    pub(crate) fn in_declared_types<'a>(&self, values: Cow<'a, [Datum<'a>]>) -> Option<Cow<'a, [Datum<'a>]>> {
        if self.types.is_empty() {
            return Some(values);
        }
        let mut converted = values.into_owned();
        for (value, data_type) in converted.iter_mut().zip(&self.types) {
            let Some(data_type) = data_type else { continue };
            let column_type = types::column_type(data_type).ok()?;
            match (*value, column_type, fit(*value, column_type)) {
                // The digits of a decimal would be taken for a whole number.
                (Datum::Text(_), ColumnType::Decimal { .. }, _)
                | (_, ColumnType::Decimal { .. }, Some(_))
                | (Datum::Text(_), _, None) => {}
                (_, _, fitted) => *value = fitted?,
            }
        }
        Some(Cow::Owned(converted))
    }

    /// Whether texts that stayed what they are are given to columns of the very types that were given for them: to others they may mean
    /// something else.
    pub(crate) fn gives_what_it_takes(&self, plan: &PointQueryPlan, values: &[Datum<'_>]) -> bool {
        let texts = self.types.iter().zip(values).enumerate().filter_map(|(at, (data_type, value))| {
            let column_type = types::column_type(data_type.as_ref()?).ok()?;
            let is_text = matches!(column_type, ColumnType::Text | ColumnType::Varchar(_) | ColumnType::Char(_));
            (matches!(value, Datum::Text(_)) && !is_text).then_some((at, column_type))
        });
        let taken = plan.parameters().unwrap_or_default();
        texts.into_iter().all(|(at, given)| match (given, taken.get(at)) {
            (ColumnType::Numeric(None), Some(Some(ColumnType::Decimal { .. }))) => true,
            (given, taken) => taken == Some(&Some(given)),
        })
    }

    /// Arguments as they stand in the place of parameters.
    pub(crate) fn texts(&self, arguments: impl Iterator<Item = Expr>) -> Vec<Expr> {
        let cast = |(number, argument): (usize, Expr)| match self.types.get(number).and_then(Option::as_ref) {
            // As it would be written there: beside a number, a text is one.
            None if matches!(&argument, Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_))) => {
                argument
            }
            None => Expr::Nested(Box::new(argument)),
            Some(data_type) => build::cast_as(argument, data_type.clone()),
        };
        arguments.enumerate().map(cast).collect()
    }

    /// Whether it changes rows, or locks them.
    #[must_use]
    pub fn changes_rows(&self) -> bool {
        self.writes
    }

    /// The number of parameters.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// Whether parameters must have types before their values are given as texts: `LIMIT $1` takes no text. Their types are those
    /// that were declared or that [`crate::Session::describe`] finds.
    #[must_use]
    pub fn asks_for_types(&self) -> bool {
        *self.asks_for_types.get_or_init(|| parameters::ask_for_types(&self.statement))
    }

    pub(crate) fn check_count(&self, given: usize) -> Result<(), Error> {
        if given == self.parameters {
            return Ok(());
        }
        let (needed, s) = (self.parameters, if self.parameters == 1 { "" } else { "s" });
        Err(Error::invalid(format!("the statement has {needed} parameter{s}, but {given} values are given")))
    }
}
