//! Makes a case smaller as long as it still goes wrong.

use std::time::Instant;

use crate::case::Case;
use crate::query::{Body, Expr, From, Group, On, Part, Query, Select};
use crate::types::Type;

/// How long candidates are tried.
const SECONDS_MAX: u64 = 20;

/// The smallest case that `fails` still says yes to.
pub async fn reduced(case: Case, mut fails: impl AsyncFnMut(&Case) -> bool) -> Case {
    let mut case = case;
    let started = Instant::now();
    loop {
        let mut smaller = None;
        for candidate in candidates(&case) {
            if started.elapsed().as_secs() >= SECONDS_MAX {
                return case;
            }
            if fails(&candidate).await {
                smaller = Some(candidate);
                break;
            }
        }
        match smaller {
            Some(smaller) => case = smaller,
            None => return case,
        }
    }
}

/// Cases that are a little smaller, the much smaller ones first.
fn candidates(case: &Case) -> Vec<Case> {
    let mut found = Vec::new();
    for query in queries(&case.query) {
        found.push(Case { query, ..case.clone() });
    }
    if let Some(split) = &case.split {
        for split in exprs(split) {
            found.push(Case { split: Some(split), ..case.clone() });
        }
    }
    let sql = case.query.sql();
    for at in 0..case.schema.tables.len() {
        if !sql.contains(&format!("{} ", case.schema.tables[at].name)) && case.schema.tables.len() > 1 {
            let mut smaller = case.clone();
            smaller.schema.tables.remove(at);
            found.push(smaller);
        }
        let table = &case.schema.tables[at];
        for row in 0..table.rows.len() {
            let mut smaller = case.clone();
            smaller.schema.tables[at].rows.remove(row);
            found.push(smaller);
        }
        for column in 1..table.columns.len() {
            let mut smaller = case.clone();
            let table = &mut smaller.schema.tables[at];
            let (name, _) = table.columns.remove(column);
            table.indexed.retain(|indexed| *indexed != name);
            for row in &mut table.rows {
                row.remove(column);
            }
            found.push(smaller);
        }
    }
    found
}

/// Queries that are a little smaller than `query`.
fn queries(query: &Query) -> Vec<Query> {
    let mut found = Vec::new();
    let mut with = |change: &dyn Fn(&mut Query)| {
        let mut smaller = query.clone();
        change(&mut smaller);
        found.push(smaller);
    };
    for at in 0..query.ctes.len() {
        with(&|query| drop(query.ctes.remove(at)));
        for cte in queries(&query.ctes[at].query) {
            with(&|query| query.ctes[at].query = cte.clone());
        }
    }
    if query.limit.is_some() {
        with(&|query| (query.limit, query.offset) = (None, None));
    }
    if query.offset.is_some() {
        with(&|query| query.offset = None);
    }
    if !query.order.is_empty() && query.limit.is_none() {
        with(&|query| query.order.clear());
    }
    if query.order.iter().any(|order| !order.direction.is_empty()) {
        with(&|query| query.order.iter_mut().for_each(|order| order.direction = ""));
    }
    match &query.body {
        Body::Set { left, right, operator } => {
            for side in [left, right] {
                with(&|query| query.body = side.body.clone());
            }
            for left in queries(left) {
                with(&|query| query.body = Body::Set { operator, left: Box::new(left.clone()), right: right.clone() });
            }
            for right in queries(right) {
                with(&|query| query.body = Body::Set { operator, left: left.clone(), right: Box::new(right.clone()) });
            }
        }
        Body::Values(rows) => {
            for at in 0..rows.len() {
                if rows.len() > 1 {
                    with(&|query| {
                        if let Body::Values(rows) = &mut query.body {
                            rows.remove(at);
                        }
                    });
                }
            }
        }
        Body::Select(select) => {
            for smaller in selects(select) {
                with(&|query| query.body = Body::Select(Box::new(smaller.clone())));
            }
            for at in 0..select.items.len() {
                if select.items.len() > 1 {
                    with(&|query| {
                        // The order names columns by their places, and the last place goes.
                        let places = query.width();
                        query.order.retain(|order| order.key.sql() != places.to_string());
                        if let Some(select) = query.select_mut() {
                            select.items.remove(at);
                        }
                    });
                }
            }
        }
    }
    found
}

fn selects(select: &Select) -> Vec<Select> {
    let mut found = Vec::new();
    let mut with = |change: &dyn Fn(&mut Select)| {
        let mut smaller = select.clone();
        change(&mut smaller);
        found.push(smaller);
    };
    if let Some(filter) = &select.filter {
        with(&|select| select.filter = None);
        for filter in exprs(filter) {
            with(&|select| select.filter = Some(filter.clone()));
        }
    }
    if let Some(having) = &select.having {
        with(&|select| select.having = None);
        for having in exprs(having) {
            with(&|select| select.having = Some(having.clone()));
        }
    }
    if select.distinct {
        with(&|select| select.distinct = false);
    }
    if !select.windows.is_empty() {
        with(&|select| select.windows.clear());
    }
    match &select.group {
        Group::No => {}
        Group::By(keys) => {
            with(&|select| select.group = Group::No);
            for at in 0..keys.len() {
                if keys.len() > 1 {
                    let mut keys = keys.clone();
                    keys.remove(at);
                    with(&|select| select.group = Group::By(keys.clone()));
                }
            }
        }
        Group::Sets(kind, sets) => {
            with(&|select| select.group = Group::By(sets.concat()));
            for at in 0..sets.len() {
                if sets.len() > 1 {
                    let mut sets = sets.clone();
                    sets.remove(at);
                    with(&|select| select.group = Group::Sets(kind, sets.clone()));
                }
            }
        }
    }
    if let Some(from) = &select.from {
        with(&|select| select.from = None);
        for from in froms(from) {
            with(&|select| select.from = Some(from.clone()));
        }
    }
    for (at, item) in select.items.iter().enumerate() {
        for expr in exprs(&item.expr) {
            with(&|select| select.items[at].expr = expr.clone());
        }
        if item.alias.is_some() {
            with(&|select| select.items[at].alias = None);
        }
    }
    found
}

fn froms(from: &From) -> Vec<From> {
    match from {
        From::Table { .. } => Vec::new(),
        From::Derived { query, alias, is_lateral } => {
            let smaller = queries(query).into_iter();
            let mut found: Vec<_> = smaller
                .map(|query| From::Derived { query: Box::new(query), alias: alias.clone(), is_lateral: *is_lateral })
                .collect();
            // A subquery that is no more than a table.
            if let Some(From::Table { name, .. }) = query.select().and_then(|select| select.from.as_ref()) {
                found.insert(0, From::Table { name: name.clone(), alias: alias.clone() });
            }
            found
        }
        From::Join { kind, left, right, on } => {
            let mut found = vec![(**left).clone(), (**right).clone()];
            let join = |kind, left: &From, right: &From, on: &On| From::Join {
                kind,
                left: Box::new(left.clone()),
                right: Box::new(right.clone()),
                on: on.clone(),
            };
            if let On::Expr(expr) = on {
                if *kind != "JOIN" {
                    found.push(join("JOIN", left, right, on));
                }
                found.extend(exprs(expr).iter().map(|expr| join(kind, left, right, &On::Expr(expr.clone()))));
            }
            if let On::Using(names) = on
                && names.len() > 1
            {
                found.extend(names.iter().map(|name| join(kind, left, right, &On::Using(vec![name.clone()]))));
            }
            found.extend(froms(left).iter().map(|left| join(kind, left, right, on)));
            found.extend(froms(right).iter().map(|right| join(kind, left, right, on)));
            found
        }
    }
}

/// Expressions of the same type that are a little smaller than `expr`.
fn exprs(expr: &Expr) -> Vec<Expr> {
    let Expr::Call(data_type, texts, parts) = expr else { return Vec::new() };
    let mut found = Vec::new();
    for part in parts {
        if let Part::Expr(part) = part
            && part.data_type() == *data_type
        {
            found.push(part.clone());
        }
    }
    let simple = match data_type {
        Type::Boolean => "true".to_owned(),
        data_type if data_type.is_whole() => format!("1::{}", data_type.sql()),
        _ => format!("NULL::{}", data_type.sql()),
    };
    found.push(Expr::Literal(*data_type, simple));
    for (at, part) in parts.iter().enumerate() {
        let smaller: Vec<_> = match part {
            Part::Expr(part) => exprs(part).into_iter().map(Part::Expr).collect(),
            Part::Query(query) => queries(query).into_iter().map(|query| Part::Query(Box::new(query))).collect(),
        };
        for part in smaller {
            let mut parts = parts.clone();
            parts[at] = part;
            found.push(Expr::Call(*data_type, texts.clone(), parts));
        }
    }
    found
}
