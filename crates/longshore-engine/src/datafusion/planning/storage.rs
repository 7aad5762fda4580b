//! `FROM storage('t')`: how the columns of a table are kept.
//!
//! The table is named by a text, as `nextval` names a sequence. Its plan is made anew for each execution of a prepared
//! statement (`plan_cache`). Not here: the rows (`scan::storage`).

use std::sync::Arc;

use datafusion::common::{DFSchema, Result, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use longshore_load::Control;
use sqlparser::ast::{FunctionArg, FunctionArgExpr, ObjectName, ObjectNamePart, TableFactor, TableFunctionArgs};

use crate::catalog::{Catalog, Entry, Privileges};
use crate::datafusion::errors::external;
use crate::datafusion::scan::storage::StorageTable;
use crate::sql::{in_text, names};
use crate::transaction::StatementTransaction;
use crate::{Error, ErrorKind};

/// The name of the function.
const STORAGE: &str = "storage";

/// Plans calls of `storage` for one statement.
pub(in crate::datafusion) struct StorageCalls {
    pub(in crate::datafusion) catalog: Arc<Catalog>,
    pub(in crate::datafusion) transaction: Arc<StatementTransaction>,
    pub(in crate::datafusion) control: Arc<Control>,
}

impl std::fmt::Debug for StorageCalls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StorageCalls").finish_non_exhaustive()
    }
}

impl RelationPlanner for StorageCalls {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let (alias, args) = match &relation {
            TableFactor::Table { name, alias, args: Some(args), .. } if is_storage(name) => (alias, args),
            _ => return Ok(RelationPlanning::Original(Box::new(relation))),
        };
        let table = Arc::new(self.table(&named(args, context)?).map_err(external)?);
        let plan = LogicalPlanBuilder::scan(TableReference::bare(STORAGE), provider_as_source(table), None)?.build()?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias.clone()))))
    }
}

impl StorageCalls {
    /// The storage of the table that `text` names.
    fn table(&self, text: &str) -> Result<StorageTable, Error> {
        let name = in_text::relation(text)?;
        let table = match self.transaction.entry(&self.catalog, &name) {
            Some(Entry::Table(table)) => table,
            Some(Entry::View(_)) => {
                return Err(Error::new(
                    ErrorKind::WrongObject,
                    format!("{name} is a view, not a table, and stores nothing; name the tables that it reads"),
                ));
            }
            None => return Err(Error::not_found(format!("table {name} does not exist"))),
        };
        let role = self.transaction.numbers().checked_role(&self.catalog);
        self.catalog.permit(role, &name, Privileges::SELECT)?;
        let (transaction, control) = (Arc::clone(&self.transaction), Arc::clone(&self.control));
        Ok(StorageTable { relation: Arc::clone(&table.relation), transaction, control })
    }
}

fn is_storage(name: &ObjectName) -> bool {
    let [ObjectNamePart::Identifier(name)] = name.0.as_slice() else { return false };
    names::identifier(name).is_ok_and(|name| name == STORAGE)
}

/// The text that a call has as its only argument.
fn named(args: &TableFunctionArgs, context: &mut dyn RelationPlannerContext) -> Result<String> {
    let no_text = || external(Error::invalid("storage takes the name of a table as a text, as in storage('t')"));
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(name))] = args.args.as_slice() else { return Err(no_text()) };
    let no_columns = DFSchema::empty();
    let name = context.sql_to_expr(name.clone(), &no_columns)?;
    let options = Arc::new(context.context_provider().options().clone());
    let simplifier = ExprSimplifier::new(SimplifyContext::builder().with_config_options(options).build());
    match simplifier.simplify(simplifier.coerce(name, &no_columns)?)? {
        Expr::Literal(value, _) => value.try_as_str().flatten().map(str::to_owned).ok_or_else(no_text),
        _ => Err(no_text()),
    }
}
