//! A query compared with itself: planned in other ways, prepared, and split by a condition.
//!
//! A condition splits the rows of a query into those where it is true, false and unknown; the three parts together are
//! all rows (Rigger and Su, Finding Bugs in Database Systems via Query Partitioning, OOPSLA 2020). Parts of a DISTINCT
//! are united as sets, parts of aggregates by aggregates, and groups are split by HAVING.

use longshore_engine::Config;

use crate::case::{Case, Finding};
use crate::engine::Engine;
use crate::query::{Expr, Group, Item, Query, Select};
use crate::rows::{Answer, Value, are_same, sorted};
use crate::schema::Schema;
use crate::seeds::Counts;
use crate::types::Type;

/// Ways in which a database runs the queries: a name, its settings, and whether its tables have keys and indexes.
fn ways() -> [(&'static str, Config, bool); 3] {
    let config = |threads, optimizer| Config { threads, optimizer, ..Config::default() };
    [
        ("1 thread", config(1, true), false),
        ("2 threads, indexes", config(2, true), true),
        ("not optimized", config(1, false), false),
    ]
}

/// The same tables in databases that differ in how they run queries.
#[derive(Debug)]
pub struct Twins {
    engines: Vec<(&'static str, Engine)>,
    /// Statements that were prepared, and queries that were checked.
    prepared: usize,
    checked: usize,
}

impl Twins {
    /// Databases with the tables of `schema`.
    ///
    /// # Panics
    /// When a table cannot be made.
    pub async fn open(schema: &Schema) -> Self {
        let mut engines = Vec::new();
        for (name, config, indexes) in ways() {
            let mut engine = Engine::open(config);
            engine.watch();
            for sql in schema.statements(indexes) {
                if let Err(refusal) = engine.run(&sql).await {
                    panic!("{sql}: {refusal}");
                }
            }
            engines.push((name, engine));
        }
        Self { engines, prepared: 0, checked: 0 }
    }

    /// Compares `case`, whose tables are these.
    ///
    /// # Errors
    /// Something that must not be.
    pub async fn check(&mut self, case: &Case, counts: &mut Counts) -> Result<(), Finding> {
        count(counts, "queries", 1);
        self.checked += 1;
        let sql = case.query.sql();
        let ordered = !case.query.order.is_empty();
        let base = self.run(0, &sql, counts).await?;
        match &base {
            Ok(rows) if rows.is_empty() => count(counts, "queries without rows", 1),
            Ok(_) => {}
            Err(refusal) if refusal.is_about_values() => count(counts, "queries that fail for a value", 1),
            Err(refusal) => count(counts, &format!("refused: {}", sort_of(&refusal.message)), 1),
        }
        for way in 1..self.engines.len() {
            let name = self.engines[way].0;
            let answer = self.run(way, &sql, counts).await?;
            if answer.is_err() && base.is_ok() {
                count(counts, &format!("refused only: {name}"), 1);
            }
            compare(name, (&sql, &base), (&format!("{name}: {sql}"), &answer), ordered)?;
        }
        let Ok(base) = base else { return Ok(()) };
        self.check_prepared(&case.query, &base, counts).await?;
        self.check_split(case, base, counts).await
    }

    async fn run(&mut self, way: usize, sql: &str, counts: &mut Counts) -> Result<Answer, Finding> {
        count(counts, "statements run", 1);
        let (name, engine) = &mut self.engines[way];
        let answer = engine.run(sql).await;
        match &answer {
            // What cannot run without a rule is no fault of the rule.
            Err(refusal) if refusal.is_internal() && *name != "not optimized" => {
                let text = format!("  {name}: {sql}\n  gives {refusal}");
                Err(Finding { kind: format!("internal error: {}", sort_of(&refusal.message)), text })
            }
            _ => Ok(answer),
        }
    }

    async fn check_prepared(&mut self, query: &Query, base: &[Vec<Value>], counts: &mut Counts) -> Result<(), Finding> {
        let (text, literals) = query.prepared();
        if literals.is_empty() {
            return Ok(());
        }
        self.prepared += 1;
        let name = format!("p{}", self.prepared);
        let types: Vec<_> = literals.iter().map(|literal| literal.0.sql()).collect();
        let values: Vec<_> = literals.iter().map(|literal| literal.1.as_str()).collect();
        let prepare = format!("PREPARE {name} ({}) AS {text}", types.join(", "));
        let execute = format!("EXECUTE {name} ({})", values.join(", "));
        let both = format!("{prepare}; {execute}");
        if self.run(1, &prepare, counts).await?.is_err() {
            return Ok(());
        }
        let expected = Ok(base.to_vec());
        // The second one runs the plan that the first one has left.
        for _ in 0..2 {
            let answer = self
                .run(1, &execute, counts)
                .await
                .map_err(|finding| Finding { text: format!("  {prepare};\n{}", finding.text), ..finding })?;
            count(counts, "prepared", u64::from(answer.is_ok()));
            compare("prepared", (&query.sql(), &expected), (&both, &answer), !query.order.is_empty())?;
        }
        let _ = self.run(1, &format!("DEALLOCATE {name}"), counts).await?;
        Ok(())
    }

    async fn check_split(&mut self, case: &Case, base: Vec<Vec<Value>>, counts: &mut Counts) -> Result<(), Finding> {
        let Some(split) = Split::of(case) else { return Ok(()) };
        let whole = if case.query.order.is_empty() && split.is_of_query {
            base
        } else {
            match self.run(0, &split.whole, counts).await? {
                Ok(rows) => rows,
                Err(_) => return Ok(()),
            }
        };
        let mut parts = Vec::new();
        for part in &split.parts {
            match self.run(self.checked % 2, part, counts).await? {
                Ok(rows) => parts.extend(rows),
                // The condition may be one that this version cannot do, or fail for a value.
                Err(_) => return Ok(()),
            }
        }
        count(counts, split.kind, 1);
        let (mut whole, mut parts) = (sorted(whole), sorted(parts));
        if split.is_set {
            whole.dedup_by(|one, other| are_same(std::slice::from_ref(one), std::slice::from_ref(other)));
            parts.dedup_by(|one, other| are_same(std::slice::from_ref(one), std::slice::from_ref(other)));
        }
        if are_same(&whole, &parts) {
            return Ok(());
        }
        let text = split.parts.join("\n  ");
        Err(Finding::differs(split.kind, (&split.whole, &Ok(whole)), (&text, &Ok(parts))))
    }
}

fn count(counts: &mut Counts, what: &str, many: u64) {
    *counts.entry(what.to_owned()).or_default() += many;
}

/// What is the same in messages of one sort.
fn sort_of(message: &str) -> String {
    message.chars().filter(|char| !char.is_ascii_digit()).take(60).collect()
}

fn compare(kind: &str, one: (&str, &Answer), other: (&str, &Answer), ordered: bool) -> Result<(), Finding> {
    match (one.1, other.1) {
        (Ok(rows), Ok(others)) => {
            let same =
                if ordered { are_same(rows, others) } else { are_same(&sorted(rows.clone()), &sorted(others.clone())) };
            if same { Ok(()) } else { Err(Finding::differs(kind, one, other)) }
        }
        // Whether a value is met that fails, and what this version cannot do, depends on the plan.
        (Err(_), _) | (_, Err(_)) => Ok(()),
    }
}

/// A query in parts.
struct Split {
    kind: &'static str,
    whole: String,
    parts: Vec<String>,
    /// Whether the whole is the query itself.
    is_of_query: bool,
    /// Whether a row counts once.
    is_set: bool,
}

impl Split {
    fn of(case: &Case) -> Option<Self> {
        let mut query = case.query.clone();
        if query.limit.is_some() || query.offset.is_some() {
            return None;
        }
        query.order.clear();
        let select = query.select()?.clone();
        let windows = select.items.iter().any(|item| item.expr.sql().contains(" OVER "));
        let aggregates = !matches!(select.group, Group::No) || select.items.iter().any(|item| item.expr.aggregates());
        if windows {
            return None;
        }
        if let Some(having) = &select.having {
            let whole = with(&query, |select| select.having = None);
            let parts = thirds(having).map(|part| with(&query, |select| select.having = Some(part)));
            return Some(Self {
                kind: "split by HAVING",
                whole,
                parts: parts.into(),
                is_of_query: false,
                is_set: false,
            });
        }
        let split = case.split.as_ref()?;
        if aggregates {
            return Self::of_aggregates(&query, split, &case.schema);
        }
        let parts =
            thirds(split).map(|part| with(&query, |select| select.filter = Some(and(select.filter.take(), part))));
        let kind = if select.distinct { "split of DISTINCT" } else { "split" };
        Some(Self { kind, whole: query.sql(), parts: parts.into(), is_of_query: true, is_set: select.distinct })
    }

    /// Aggregates over all rows, and aggregates over those of the parts.
    fn of_aggregates(query: &Query, split: &Expr, schema: &Schema) -> Option<Self> {
        let relations = query.relations(schema);
        let (alias, columns) =
            relations.iter().find(|(_, columns)| columns.iter().any(|column| column.1.is_whole()))?;
        let (name, data_type) = columns.iter().find(|column| column.1.is_whole())?;
        let column = Expr::Column(*data_type, Some(alias.clone()), name.clone());
        let templates = ["count(*)", "count({})", "sum({})", "min({})", "max({})"];
        let items = templates.map(|template| {
            let parts = if template.contains("{}") { vec![column.clone()] } else { Vec::new() };
            let name = template.split('(').next().unwrap_or_default();
            let alias = Some(if template == "count(*)" { "n".to_owned() } else { format!("{name}_") });
            Item { expr: Expr::call(Type::BigInt, template, parts), alias }
        });
        let change = |select: &mut Select| {
            select.items = items.to_vec();
            select.group = Group::No;
            select.distinct = false;
        };
        let whole = with(query, change);
        let parts = thirds(split).map(|part| {
            with(query, |select| {
                change(select);
                select.filter = Some(and(select.filter.take(), part));
            })
        });
        let united = parts.map(|part| format!("({part})")).join(" UNION ALL ");
        let united = format!("SELECT sum(n), sum(count_), sum(sum_), min(min_), max(max_) FROM ({united}) AS parts");
        Some(Self { kind: "split of aggregates", whole, parts: vec![united], is_of_query: false, is_set: false })
    }
}

fn with(query: &Query, change: impl FnOnce(&mut Select)) -> String {
    let mut query = query.clone();
    if let Some(select) = query.select_mut() {
        change(select);
    }
    query.sql()
}

/// Where `condition` is true, false and unknown.
fn thirds(condition: &Expr) -> [Expr; 3] {
    ["({})", "NOT ({})", "({}) IS NULL"].map(|template| Expr::call(Type::Boolean, template, vec![condition.clone()]))
}

fn and(filter: Option<Expr>, part: Expr) -> Expr {
    match filter {
        Some(filter) => Expr::call(Type::Boolean, "({}) AND {}", vec![filter, part]),
        None => part,
    }
}
