//! The rows of a subquery for each of the values that its outer columns can have: the domain is pushed down through the
//! operators of the subquery, to where an outer column is referred to.
//!
//! What comes out has the columns of the domain first, and then those of the subquery, with their names. An operator that
//! goes on per row carries the domain along; one that looks at several rows looks at those of one value of the domain: GROUP
//! BY, windows, DISTINCT. An aggregate without groups has a row for each value, also where there is nothing to aggregate;
//! LIMIT numbers the rows of each value.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, JoinType, NullEquality, Result, TableReference, not_impl_err};
use datafusion::functions::expr_fn::coalesce;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    Aggregate, Distinct, DistinctOn, Expr, ExprFunctionExt, Filter, Join, JoinConstraint, Limit, LogicalPlan,
    LogicalPlanBuilder, Operator, Projection, Sort, SortExpr, Union, Unnest, Values, Window, binary_expr, cast, lit,
};

use super::Unnester;

/// Outer columns of a subquery, and the rows that have their values.
pub(super) struct Domain {
    pub(super) source: Arc<LogicalPlan>,
    pub(super) columns: Vec<Column>,
}

/// The rows of a plan for each value of the domain.
pub(super) struct Pushed {
    pub(super) plan: LogicalPlan,
    /// The columns of the domain, which come first.
    pub(super) outer: Vec<Column>,
}

impl Domain {
    /// Whether `plan` refers to a column of the domain.
    fn is_used_in(&self, plan: &LogicalPlan) -> bool {
        plan.all_out_ref_exprs().iter().any(|expr| self.is_column(expr))
    }

    fn is_used_by(&self, expr: &Expr) -> bool {
        expr.exists(|part| Ok(self.is_column(part))).is_ok_and(|found| found)
    }

    fn is_column(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::OuterReferenceColumn(_, column) if self.columns.contains(column))
    }

    /// `expr` with the columns of the domain where they are referred to.
    fn bind(&self, expr: Expr, outer: &[Column]) -> Result<Expr> {
        let expr = expr.transform_up(|part| match &part {
            Expr::OuterReferenceColumn(_, column) => {
                let place = self.columns.iter().position(|other| other == column);
                Ok(place.map_or_else(|| Transformed::no(part), |at| Transformed::yes(Expr::Column(outer[at].clone()))))
            }
            _ => Ok(Transformed::no(part)),
        })?;
        Ok(expr.data)
    }

    fn bind_all(&self, exprs: &[Expr], outer: &[Column]) -> Result<Vec<Expr>> {
        exprs.iter().map(|expr| self.bind(expr.clone(), outer)).collect()
    }

    fn bind_keys(&self, keys: &[SortExpr], outer: &[Column]) -> Result<Vec<SortExpr>> {
        keys.iter().map(|key| Ok(SortExpr { expr: self.bind(key.expr.clone(), outer)?, ..key.clone() })).collect()
    }
}

impl Unnester<'_> {
    /// The rows of `plan` for each value of `domain`.
    pub(super) fn pushed(&mut self, plan: &LogicalPlan, domain: &Domain) -> Result<Pushed> {
        if !domain.is_used_in(plan) {
            return self.crossed(plan, domain);
        }
        match plan {
            LogicalPlan::Projection(Projection { expr, input, schema, .. }) => {
                let Pushed { plan: input, outer } = self.pushed(input, domain)?;
                let exprs = domain.bind_all(expr, &outer)?.into_iter().zip(schema.iter());
                let exprs = exprs.map(|(expr, (qualifier, field))| named(expr, qualifier, field.name()));
                let exprs = all(&outer).chain(exprs).collect();
                Ok(Pushed { plan: LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?), outer })
            }
            LogicalPlan::Filter(Filter { predicate, input, .. }) => {
                let Pushed { plan: input, outer } = self.pushed(input, domain)?;
                let predicate = domain.bind(predicate.clone(), &outer)?;
                Ok(Pushed { plan: LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input))?), outer })
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let Pushed { plan: input, outer } = self.pushed(&alias.input, domain)?;
                Ok(Pushed { plan: renamed(input, &outer, &names(plan))?, outer })
            }
            LogicalPlan::Sort(Sort { expr, input, fetch: None }) => {
                let Pushed { plan: input, outer } = self.pushed(input, domain)?;
                let expr = domain.bind_keys(expr, &outer)?;
                Ok(Pushed { plan: LogicalPlan::Sort(Sort { expr, input: Arc::new(input), fetch: None }), outer })
            }
            LogicalPlan::Limit(limit) => self.limit(limit, domain),
            // LATERAL with nothing before it.
            LogicalPlan::Subquery(subquery) => self.pushed(&subquery.subquery, domain),
            LogicalPlan::Join(join) => self.join_pushed(join, domain),
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate, domain),
            LogicalPlan::Window(Window { input, window_expr, .. }) => {
                let save = NamePreserver::new(plan);
                let Pushed { plan: input, outer } = self.pushed(input, domain)?;
                let exprs = window_expr.iter().map(|expr| {
                    let name = save.save(expr);
                    let expr = domain.bind(expr.clone(), &outer)?.transform_up(|part| match part {
                        Expr::WindowFunction(mut call) => {
                            call.params.partition_by.splice(0..0, all(&outer));
                            Ok(Transformed::yes(Expr::WindowFunction(call)))
                        }
                        other => Ok(Transformed::no(other)),
                    })?;
                    Ok(name.restore(expr.data))
                });
                let exprs = exprs.collect::<Result<Vec<_>>>()?;
                Ok(Pushed { plan: LogicalPlan::Window(Window::try_new(exprs, Arc::new(input))?), outer })
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let Pushed { plan: input, outer } = self.pushed(input, domain)?;
                Ok(Pushed { plan: LogicalPlan::Distinct(Distinct::All(Arc::new(input))), outer })
            }
            LogicalPlan::Distinct(Distinct::On(DistinctOn { on_expr, select_expr, sort_expr, input, schema })) => {
                let Pushed { plan: input, outer } = self.pushed(input, domain)?;
                let on = all(&outer).chain(domain.bind_all(on_expr, &outer)?).collect();
                let select = domain.bind_all(select_expr, &outer)?.into_iter().zip(schema.iter());
                let select = select.map(|(expr, (qualifier, field))| named(expr, qualifier, field.name()));
                let select = all(&outer).chain(select).collect();
                let sort = sort_expr.as_ref().map(|keys| {
                    let keys = domain.bind_keys(keys, &outer)?;
                    Ok::<_, datafusion::common::DataFusionError>(
                        all(&outer).map(|expr| expr.sort(true, false)).chain(keys).collect::<Vec<_>>(),
                    )
                });
                let distinct = DistinctOn::try_new(on, select, sort.transpose()?, Arc::new(input))?;
                Ok(Pushed { plan: LogicalPlan::Distinct(Distinct::On(distinct)), outer })
            }
            LogicalPlan::Union(Union { inputs, .. }) => {
                let parts = inputs.iter().map(|input| self.pushed(input, domain)).collect::<Result<Vec<_>>>()?;
                self.united(parts, &names(plan), domain)
            }
            LogicalPlan::Values(Values { schema, values }) => {
                let parts = values.iter().map(|row| {
                    let Pushed { plan: rows, outer } = self.instance(domain)?;
                    let values = domain.bind_all(row, &outer)?.into_iter().zip(schema.iter());
                    let values = values.map(|(value, (qualifier, field))| {
                        named(cast(value, field.data_type().clone()), qualifier, field.name())
                    });
                    let exprs = all(&outer).chain(values).collect();
                    Ok(Pushed { plan: LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(rows))?), outer })
                });
                let parts = parts.collect::<Result<Vec<_>>>()?;
                self.united(parts, &names(plan), domain)
            }
            LogicalPlan::Unnest(Unnest { input, exec_columns, options, .. }) => {
                let Pushed { plan: input, outer } = self.pushed(input, domain)?;
                let rows = LogicalPlanBuilder::from(input);
                let plan = rows.unnest_columns_with_options(exec_columns.clone(), options.clone())?.build()?;
                Ok(Pushed { plan, outer })
            }
            other => not_impl_err!("a subquery that depends on the query around it by way of {}", other.display()),
        }
    }

    /// The values of the domain, each once.
    fn instance(&mut self, domain: &Domain) -> Result<Pushed> {
        let outer: Vec<Column> = domain.columns.iter().map(|_| Column::new_unqualified(self.fresh("outer"))).collect();
        let exprs = domain.columns.iter().zip(&outer);
        let exprs = exprs.map(|(column, outer)| Expr::Column(column.clone()).alias(&outer.name)).collect();
        let values = LogicalPlan::Projection(Projection::try_new(exprs, Arc::clone(&domain.source))?);
        let groups = all(&outer).collect();
        let plan = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(values), groups, Vec::new())?);
        Ok(Pushed { plan, outer })
    }

    /// The same rows for each value of the domain.
    fn crossed(&mut self, plan: &LogicalPlan, domain: &Domain) -> Result<Pushed> {
        if domain.columns.is_empty() {
            return Ok(Pushed { plan: plan.clone(), outer: Vec::new() });
        }
        let Pushed { plan: values, outer } = self.instance(domain)?;
        if matches!(plan, LogicalPlan::EmptyRelation(empty) if empty.produce_one_row && empty.schema.fields().is_empty())
        {
            return Ok(Pushed { plan: values, outer });
        }
        let plan = LogicalPlanBuilder::from(values).cross_join(plan.clone())?.build()?;
        Ok(Pushed { plan, outer })
    }

    fn join_pushed(&mut self, join: &Join, domain: &Domain) -> Result<Pushed> {
        let Join { left, right, on, filter, join_type, null_equality, .. } = join;
        let (in_left, in_right) = (domain.is_used_in(left), domain.is_used_in(right));
        // A side whose rows are kept without others has all values of the domain, if the other side or the condition has one.
        let in_condition =
            on.iter().flat_map(|(left, right)| [left, right]).chain(filter).any(|e| domain.is_used_by(e));
        let (to_left, to_right) = match join_type {
            JoinType::Inner => (in_left || !in_right, in_right),
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => (true, in_right),
            JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => (in_left, true),
            JoinType::Full => (true, true),
        };
        debug_assert!(in_condition || in_left || in_right, "a join that depends on nothing is not looked at");
        let mut pushed = |side: &Arc<LogicalPlan>, is_pushed| {
            if is_pushed {
                return self.pushed(side, domain);
            }
            Ok(Pushed { plan: side.as_ref().clone(), outer: Vec::new() })
        };
        let (left, right) = (pushed(left, to_left)?, pushed(right, to_right)?);
        let outer = if to_left { left.outer.clone() } else { right.outer.clone() };
        let mut conditions = Vec::new();
        let mut keys = Vec::new();
        for (one, other) in on {
            if domain.is_used_by(one) || domain.is_used_by(other) {
                let (one, other) = (domain.bind(one.clone(), &outer)?, domain.bind(other.clone(), &outer)?);
                conditions.push(match null_equality {
                    NullEquality::NullEqualsNothing => one.eq(other),
                    NullEquality::NullEqualsNull => same(one, other),
                });
            } else {
                keys.push((one.clone(), other.clone()));
            }
        }
        if let Some(filter) = filter {
            conditions.push(domain.bind(filter.clone(), &outer)?);
        }
        conditions.extend(all(&left.outer).zip(all(&right.outer)).map(|(one, other)| same(one, other)));
        let names = names(&LogicalPlan::Join(join.clone()));
        let joined = LogicalPlan::Join(Join::try_new(
            Arc::new(left.plan),
            Arc::new(right.plan),
            keys,
            conjunction(conditions),
            *join_type,
            JoinConstraint::On,
            *null_equality,
            join.null_aware,
        )?);
        let is_full = *join_type == JoinType::Full;
        let values: Vec<Expr> = if is_full {
            let sides = all(&left.outer).zip(all(&right.outer));
            sides.map(|(one, other)| coalesce(vec![one, other]).alias(self.fresh("outer"))).collect()
        } else {
            all(&outer).collect()
        };
        let outer: Vec<Column> =
            values.iter().map(|value| Column::new_unqualified(value.schema_name().to_string())).collect();
        let columns = names.into_iter().map(|(qualifier, name)| Expr::Column(Column::new(qualifier, name)));
        let exprs = values.into_iter().chain(columns).collect();
        Ok(Pushed { plan: LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(joined))?), outer })
    }

    fn aggregate(&mut self, aggregate: &Aggregate, domain: &Domain) -> Result<Pushed> {
        let Aggregate { input, group_expr, aggr_expr, .. } = aggregate;
        let save = NamePreserver::new(&LogicalPlan::Aggregate(aggregate.clone()));
        let Pushed { plan: input, outer } = self.pushed(input, domain)?;
        let bind = |expr: &Expr| {
            let name = save.save(expr);
            let bound = domain.bind(expr.clone(), &outer)?;
            Ok(if bound == *expr { bound } else { name.restore(bound) })
        };
        let aggregates = aggr_expr.iter().map(bind).collect::<Result<Vec<_>>>()?;
        if !group_expr.is_empty() {
            if has_total(group_expr) {
                return not_impl_err!(
                    "a subquery with ROLLUP, CUBE or () in GROUPING SETS that depends on the query around it"
                );
            }
            let groups = group_expr.iter().map(bind).collect::<Result<Vec<_>>>()?;
            let groups = all(&outer).chain(groups).collect();
            let plan = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input), groups, aggregates)?);
            return Ok(Pushed { plan, outer });
        }
        // Each value of the domain has its row, and what is joined to none is not aggregated.
        let there = self.fresh("there");
        let columns = input.schema().columns().into_iter().map(Expr::Column);
        let exprs = columns.chain([lit(true).alias(&there)]).collect();
        let input = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?);
        let values = self.instance(domain)?;
        let keys: Vec<Expr> = all(&values.outer).zip(all(&outer)).map(|(one, other)| same(one, other)).collect();
        let rows = LogicalPlanBuilder::from(values.plan).join_on(input, JoinType::Left, keys)?.build()?;
        let is_there = Expr::Column(Column::new_unqualified(there)).is_not_null();
        let aggregates = aggregates.into_iter().map(|expr| {
            let name = save.save(&expr);
            let expr = expr.transform_up(|part| match part {
                Expr::AggregateFunction(AggregateFunction { func, params }) => {
                    let filter = match params.filter {
                        Some(filter) => is_there.clone().and(*filter),
                        None => is_there.clone(),
                    };
                    let params = AggregateFunctionParams { filter: Some(Box::new(filter)), ..params };
                    Ok(Transformed::yes(Expr::AggregateFunction(AggregateFunction { func, params })))
                }
                other => Ok(Transformed::no(other)),
            })?;
            Ok(name.restore(expr.data))
        });
        let aggregates = aggregates.collect::<Result<Vec<_>>>()?;
        let groups = all(&values.outer).collect();
        let plan = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(rows), groups, aggregates)?);
        Ok(Pushed { plan, outer: values.outer })
    }

    /// The rows of LIMIT and OFFSET whose numbers are values of queries.
    pub(super) fn limited(&mut self, limit: &Limit) -> Result<LogicalPlan> {
        let nothing = Domain { source: Arc::clone(&limit.input), columns: Vec::new() };
        self.limit(limit, &nothing).map(|pushed| pushed.plan)
    }

    /// The rows of LIMIT and OFFSET for each value of the domain, by their numbers.
    fn limit(&mut self, limit: &Limit, domain: &Domain) -> Result<Pushed> {
        let columns = names(&limit.input);
        let number = self.fresh("number");
        let Pushed { plan: rows, outer } = self.numbered(&limit.input, domain, &number)?;
        let order = Expr::Column(Column::new_unqualified(number)).sort(true, false);
        let number = cast(order.expr.clone(), DataType::Int64);
        let bind = |expr: &Expr| {
            Ok::<_, datafusion::common::DataFusionError>(cast(domain.bind(expr.clone(), &outer)?, DataType::Int64))
        };
        let skip = limit.skip.as_deref().map(bind).transpose()?;
        let skip = skip.map(|skip| coalesce(vec![skip, lit(0_i64)]));
        let mut conditions = Vec::new();
        if let Some(fetch) = limit.fetch.as_deref().map(bind).transpose()? {
            let last = match &skip {
                Some(skip) => skip.clone() + fetch.clone(),
                None => fetch.clone(),
            };
            conditions.push(number.clone().lt_eq(last).or(fetch.is_null()));
        }
        conditions.extend(skip.map(|skip| number.gt(skip)));
        let rows = match conjunction(conditions) {
            Some(condition) => LogicalPlan::Filter(Filter::try_new(condition, Arc::new(rows))?),
            None => rows,
        };
        let rows = LogicalPlan::Sort(Sort { expr: vec![order], input: Arc::new(rows), fetch: None });
        let columns = columns.into_iter().map(|(qualifier, name)| Expr::Column(Column::new(qualifier, name)));
        let exprs = all(&outer).chain(columns).collect();
        Ok(Pushed { plan: LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(rows))?), outer })
    }

    /// The rows of `plan` with a column behind the others that numbers those of each value, in their order.
    fn numbered(&mut self, plan: &LogicalPlan, domain: &Domain, name: &str) -> Result<Pushed> {
        let (input, keys) = match plan {
            LogicalPlan::Projection(Projection { expr, input, schema, .. }) => {
                let Pushed { plan: input, outer } = self.numbered(input, domain, name)?;
                let exprs = domain.bind_all(expr, &outer)?.into_iter().zip(schema.iter());
                let exprs = exprs.map(|(expr, (qualifier, field))| named(expr, qualifier, field.name()));
                let number = Expr::Column(Column::new_unqualified(name));
                let exprs = all(&outer).chain(exprs).chain([number]).collect();
                let plan = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?);
                return Ok(Pushed { plan, outer });
            }
            LogicalPlan::Sort(Sort { expr, input, fetch: None }) => (input.as_ref(), expr.as_slice()),
            other => (other, &[][..]),
        };
        let Pushed { plan: rows, outer } = self.pushed(input, domain)?;
        let keys = domain.bind_keys(keys, &outer)?;
        let partition: Vec<Expr> = all(&outer).collect();
        let number = match (partition.is_empty(), keys.is_empty()) {
            (true, true) => row_number(),
            (true, false) => row_number().order_by(keys).build()?,
            (false, true) => row_number().partition_by(partition).build()?,
            (false, false) => row_number().partition_by(partition).order_by(keys).build()?,
        };
        let number = number.alias(name);
        Ok(Pushed { plan: LogicalPlan::Window(Window::try_new(vec![number], Arc::new(rows))?), outer })
    }

    /// The rows of all `parts`, whose columns get these names.
    fn united(
        &mut self,
        parts: Vec<Pushed>,
        names: &[(Option<TableReference>, String)],
        domain: &Domain,
    ) -> Result<Pushed> {
        let outer: Vec<Column> = domain.columns.iter().map(|_| Column::new_unqualified(self.fresh("outer"))).collect();
        let inner: Vec<String> = names.iter().map(|_| self.fresh("column")).collect();
        let inputs = parts.into_iter().map(|Pushed { plan, .. }| {
            let names = outer.iter().map(|column| &column.name).chain(&inner);
            let exprs = plan.schema().columns().into_iter().map(Expr::Column).zip(names);
            let exprs = exprs.map(|(expr, name)| expr.alias(name)).collect();
            Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(plan))?)))
        });
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        let all = match <[_; 1]>::try_from(inputs) {
            Ok([one]) => Arc::unwrap_or_clone(one),
            Err(inputs) => LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?),
        };
        Ok(Pushed { plan: renamed(all, &outer, names)?, outer })
    }
}

/// `left IS NOT DISTINCT FROM right`.
pub(super) fn same(left: Expr, right: Expr) -> Expr {
    binary_expr(left, Operator::IsNotDistinctFrom, right)
}

/// Whether there is a row where there is nothing to group.
fn has_total(groups: &[Expr]) -> bool {
    groups.iter().any(|group| match group {
        Expr::GroupingSet(datafusion::logical_expr::GroupingSet::GroupingSets(sets)) => sets.iter().any(Vec::is_empty),
        Expr::GroupingSet(_) => true,
        _ => false,
    })
}

fn all(columns: &[Column]) -> impl Iterator<Item = Expr> {
    columns.iter().cloned().map(Expr::Column)
}

/// The names of the columns of a plan.
fn names(plan: &LogicalPlan) -> Vec<(Option<TableReference>, String)> {
    plan.schema().iter().map(|(qualifier, field)| (qualifier.cloned(), field.name().clone())).collect()
}

/// `expr` as the column of this name.
pub(super) fn named(expr: Expr, qualifier: Option<&TableReference>, name: &str) -> Expr {
    match &expr {
        Expr::Column(column) if column.relation.as_ref() == qualifier && column.name == *name => expr,
        _ => expr.unalias().alias_qualified(qualifier.cloned(), name),
    }
}

/// The plan whose columns behind `outer` have these names.
pub(super) fn renamed(
    plan: LogicalPlan,
    outer: &[Column],
    names: &[(Option<TableReference>, String)],
) -> Result<LogicalPlan> {
    let columns = plan.schema().columns().into_iter().skip(outer.len()).map(Expr::Column);
    let columns = columns.zip(names).map(|(column, (qualifier, name))| named(column, qualifier.as_ref(), name));
    let exprs = all(outer).chain(columns).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(plan))?))
}
