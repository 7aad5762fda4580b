//! Scans of a generic plan whose rows an index finds by keys: few rows, which are read one by one.
//!
//! In `orders JOIN lines ON lines.order = orders.id WHERE orders.id = $1`, the rows of `orders` are found by the parameter, and those
//! of `lines` by the rows of `orders`. To bind a scan of chunks to values, and to run it, takes ten times as long as to look up
//! a row or two.
//! Here: how scans are looked up, settled once for a plan, for all of its scans or for none. Not here: which columns joins have in
//! common (`optimizer/found_keys.rs`), which index serves (`catalog::AccessPath`), what filters say (`conditions`), how rows are
//! found (`find`).

mod conditions;
mod find;
#[cfg(test)]
mod tests;

use std::ops::Bound;
use std::sync::{Arc, Weak};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_plan::ExecutionPlan;
use longshore_storage::{Index, Relation};

use self::conditions::Conditions;
use super::source_of;
use crate::Error;
use crate::catalog::AccessPath;
use crate::datafusion::optimizer::found_keys::KeyJoin;
use crate::datafusion::planning::names::Names;
use crate::datafusion::scan::generic::GenericSource;

type Expression = Arc<dyn PhysicalExpr>;

/// How the scans of a plan are looked up, each behind those whose rows it needs.
#[derive(Debug)]
pub(super) struct Lookups(Vec<Lookup>);

/// How a scan is looked up.
#[derive(Debug)]
struct Lookup {
    scan: usize,
    relation: Weak<Relation>,
    index: Weak<Index>,
    /// What the first columns of the index are equal to.
    keys: Vec<Key>,
    /// The scan whose rows some of the keys are of.
    from: Option<usize>,
    /// Bounds of the column of the index behind them.
    low: Bound<Expression>,
    high: Bound<Expression>,
    /// What every row satisfies beyond the keys, over the columns that are read.
    rest: Vec<Expression>,
    /// The columns of the table that are read, first those that the scan returns.
    read: Vec<usize>,
    of_read: SchemaRef,
    /// The number of those that it returns, and their schema.
    returned: usize,
    of_returned: SchemaRef,
}

/// What a column of an index is equal to.
#[derive(Clone, Debug)]
enum Key {
    /// One of these, which are about no column.
    OneOf(Vec<Expression>),
    /// The value of this column of a row that another scan returns.
    Joined(usize),
}

impl Lookups {
    /// How the scans of `plan` are looked up, among which there are these `joins`; `None` where one cannot be.
    pub(super) fn of_plan(plan: &Arc<dyn ExecutionPlan>, joins: &[KeyJoin]) -> Option<Self> {
        let (mut open, mut scans) = (vec![plan], Vec::new());
        while let Some(node) = open.pop() {
            if let Some(source) = source_of(node) {
                scans.push(Conditions::of(source)?);
            }
            open.extend(node.children());
        }
        let mut lookups: Vec<Lookup> = Vec::with_capacity(scans.len());
        while lookups.len() < scans.len() {
            let is_known = |scan: usize| lookups.iter().any(|lookup| lookup.scan == scan);
            let mut ways = Vec::new();
            for scan in scans.iter().filter(|scan| !is_known(scan.source.number())) {
                ways.extend(Way::all(scan, None, &scans));
                let is_of = |join: &&KeyJoin| join.to == scan.source.number() && is_known(join.from);
                // Of rows of which some are enough, a join must not choose which.
                for join in joins.iter().filter(|join| is_of(join) && !scan.source.is_limited()) {
                    ways.extend(Way::all(scan, Some(join), &scans));
                }
            }
            // What finds the fewest rows comes first, since they may be all that others need.
            let best = ways.into_iter().min_by_key(|way| (way.path.rank(), way.join.is_some()))?;
            lookups.push(best.lookup().ok()?);
        }
        Some(Self(lookups))
    }

    /// What the scans return, by their numbers, of the `tables` that `names` stand for; it is logged. `None` where they are
    /// to be scanned: an index is gone, or there are too many rows.
    pub(super) fn rows(&self, names: &Names, tables: &[String]) -> Result<Option<Vec<RecordBatch>>, Error> {
        let transaction = names.transaction();
        if transaction.has_frozen() {
            return Ok(None);
        }
        let mut found: Vec<Option<RecordBatch>> = vec![None; self.0.len()];
        for lookup in &self.0 {
            let relation = names.relation(&tables[lookup.scan]);
            let relation = relation.filter(|relation| Weak::as_ptr(&lookup.relation) == Arc::as_ptr(relation));
            let Some(relation) = relation else { return Ok(None) };
            let from = lookup.from.and_then(|from| found[from].as_ref());
            let Some(rows) = lookup.rows(transaction, &relation, from)? else { return Ok(None) };
            found[lookup.scan] = Some(rows);
        }
        Ok(found.into_iter().collect())
    }
}

/// One way to look a scan up.
struct Way<'a> {
    scan: &'a Conditions<'a>,
    /// What the columns of a join are equal to.
    join: Option<(&'a KeyJoin, Vec<(usize, Key)>)>,
    index: Arc<Index>,
    path: AccessPath,
}

impl<'a> Way<'a> {
    /// All ways to look up `scan`, which one of the other `scans` may be joined with.
    fn all(scan: &'a Conditions<'a>, join: Option<&'a KeyJoin>, scans: &[Conditions<'_>]) -> Vec<Self> {
        let from = join.and_then(|join| scans.iter().find(|scan| scan.source.number() == join.from));
        let join = join.zip(from).map(|(join, from)| (join, joined(join, from.source, scan)));
        let of_join = |column: usize| join.iter().any(|(_, keys)| keys.iter().any(|(of, _)| *of == column));
        let ways = scan.relation.indexes().into_iter().filter_map(|index| {
            let path = AccessPath::new(
                index.kind(),
                index.columns(),
                index.uniqueness().is_unique(),
                |column| scan.equal(column).is_some() || of_join(column),
                |column| scan.has_bounds(column),
            );
            let path = path.filter(AccessPath::selects)?;
            let keys = &index.columns()[..path.values];
            let needs_join = keys.iter().any(|column| scan.equal(*column).is_none());
            let is_way = needs_join == join.is_some();
            is_way.then(|| Self { scan, join: join.clone(), index, path })
        });
        ways.collect()
    }

    fn lookup(&self) -> Result<Lookup> {
        let Self { scan, join, index, path } = self;
        let columns = &index.columns()[..path.values];
        let mut used = Vec::new();
        let keys = columns.iter().filter_map(|column| match (scan.equal(*column), join) {
            (Some((filter, values)), _) => {
                used.push(filter);
                Some(Key::OneOf(values.to_vec()))
            }
            (None, Some((_, joined))) => joined.iter().find(|(of, _)| of == column).map(|(_, key)| key.clone()),
            (None, None) => None,
        });
        let keys: Vec<Key> = keys.collect();
        let (mut low, mut high) = (Bound::Unbounded, Bound::Unbounded);
        if path.has_range {
            let column = index.columns()[path.values];
            (low, high) = (scan.low(column), scan.high(column));
        }
        let filters = scan.source.filters().iter().enumerate();
        let rest: Vec<_> = filters.filter(|(at, _)| !used.contains(at)).map(|(_, filter)| filter).collect();
        let projection = scan.source.projection();
        let mut read = projection.columns.to_vec();
        for column in rest.iter().flat_map(|filter| collect_columns(filter)).map(|column: Column| column.index()) {
            if !read.contains(&column) {
                read.push(column);
            }
        }
        let of_read = Arc::new(scan.source.table().project(&read)?);
        let rest = rest.into_iter().map(|filter| reassign_expr_columns(Arc::clone(filter), &of_read));
        Ok(Lookup {
            scan: scan.source.number(),
            relation: Arc::downgrade(&scan.relation),
            index: Arc::downgrade(index),
            keys,
            from: join.as_ref().map(|(join, _)| join.from),
            low,
            high,
            rest: rest.collect::<Result<_>>()?,
            returned: projection.columns.len(),
            of_returned: Arc::clone(&projection.schema),
            read,
            of_read,
        })
    }
}

/// What columns of `to` are equal to because of a join with `from`.
fn joined(join: &KeyJoin, from: &GenericSource, to: &Conditions<'_>) -> Vec<(usize, Key)> {
    let (table, returned) = (from.table(), &from.projection().columns);
    let keys = join.columns.iter().filter_map(|(of_from, of_to)| {
        let place = returned.iter().position(|column| column == of_from)?;
        let is_key = to.can_equal(*of_to, table.field(*of_from).data_type());
        is_key.then_some((*of_to, Key::Joined(place)))
    });
    keys.collect()
}
