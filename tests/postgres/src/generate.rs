//! Makes queries over the tables of a schema.
//!
//! Every query has one answer only: LIMIT stands behind an ORDER BY of all columns, windows that count rows order them by
//! keys, aggregates of text are ordered. Not here: what queries are compared with.

mod aggregate;
mod correlated;
mod expr;
mod from;
mod predicate;
mod window;

use crate::query::{Body, Columns, Cte, Expr, From, Group, Item, Order, Query, Select};
use crate::random::Random;
use crate::schema::Schema;
use crate::shapes::{Shape, is_made};
use crate::types::Type;

/// Directions of an ORDER BY.
const DIRECTIONS: [&str; 5] = ["", " ASC", " DESC", " NULLS FIRST", " DESC NULLS LAST"];

/// A relation that expressions can name.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    alias: String,
    columns: Vec<(String, Type)>,
    /// Whether `id` is another one in every row.
    has_key: bool,
    /// Rows that it may have, about.
    rows: usize,
}

/// Rows of a FROM, about, up to which more is joined.
const ROWS_MAX: usize = 60;

/// What expressions can name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    relations: Vec<Relation>,
    /// Columns of USING and NATURAL.
    merged: Vec<(String, Type)>,
    /// Relations of the queries around.
    outer: Vec<Relation>,
}

/// What stands at the ends of an expression.
#[derive(Clone, Copy)]
pub(crate) enum Leaves<'a> {
    /// Columns of rows.
    Rows(&'a Scope),
    /// Keys of groups, and aggregates over their rows.
    Groups(&'a [Expr], &'a Scope),
    /// Values only.
    Nothing,
}

/// Makes queries.
#[derive(Debug)]
pub struct Generator<'a> {
    random: &'a mut Random,
    schema: &'a Schema,
    aliases: usize,
    /// Queries of WITH.
    named: Vec<Relation>,
}

impl<'a> Generator<'a> {
    /// Makes queries over `schema`.
    #[must_use]
    pub fn new(random: &'a mut Random, schema: &'a Schema) -> Self {
        Self { random, schema, aliases: 0, named: Vec::new() }
    }

    /// A query.
    pub fn query(&mut self) -> Query {
        self.aliases = 0;
        self.named.clear();
        let depth = self.random.pick(&[0, 1, 1, 1, 2, 2]);
        let mut query = if self.random.chance(20) { self.with_ctes(depth) } else { self.unordered(depth, None).0 };
        if self.random.chance(40) {
            self.order(&mut query);
        }
        query
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("r{}", self.aliases)
    }

    /// A query with a WITH.
    fn with_ctes(&mut self, depth: usize) -> Query {
        let mut ctes = Vec::new();
        for _ in 0..=self.random.below(2) {
            self.aliases += 1;
            let name = format!("c{}", self.aliases);
            let rows = 10;
            if self.random.chance(15) {
                let (query, columns) = self.recursive(&name);
                self.named.push(Relation { alias: name.clone(), columns, has_key: false, rows });
                ctes.push(Cte { name, is_recursive: true, query });
                continue;
            }
            let (mut query, columns) = self.subquery(depth.saturating_sub(1));
            if self.random.chance(20) {
                self.order(&mut query);
            }
            self.named.push(Relation { alias: name.clone(), columns, has_key: false, rows });
            ctes.push(Cte { name, is_recursive: false, query });
        }
        let (mut query, _) = self.unordered(depth, None);
        query.ctes = ctes;
        query
    }

    /// A query that counts, and reads itself as `name`.
    fn recursive(&mut self, name: &str) -> (Query, Columns) {
        let data_type = self.random.pick(&[Type::Integer, Type::BigInt]);
        let column = || Expr::Column(data_type, Some("r".to_owned()), "k".to_owned());
        let one = Expr::call(
            data_type,
            &format!("{{}}::{}", data_type.sql()),
            vec![self.leaf(Type::Integer, Leaves::Nothing)],
        );
        let next = Expr::call(data_type, "({} + 1)", vec![column()]);
        let end = Expr::call(Type::Boolean, "{} < {}", vec![column(), Expr::Literal(Type::Integer, "4".to_owned())]);
        let select = |expr, from, filter| {
            let items = vec![Item { expr, alias: Some("k".to_owned()) }];
            let (group, windows) = (Group::No, Vec::new());
            let select = Select { distinct: false, items, from, filter, group, having: None, windows };
            Box::new(Query::of(Body::Select(Box::new(select))))
        };
        let itself = From::Table { name: name.to_owned(), alias: "r".to_owned() };
        let operator = self.random.pick(&["UNION ALL", "UNION"]);
        let (left, right) = (select(one, None, None), select(next, Some(itself), Some(end)));
        (Query::of(Body::Set { operator, left, right }), vec![("k".to_owned(), data_type)])
    }

    /// A query whose columns have names of their own, for FROM and WITH.
    fn subquery(&mut self, depth: usize) -> (Query, Columns) {
        let (mut query, mut columns) = self.unordered(depth, None);
        let mut names = vec!["k", "g", "h", "s", "d", "f", "b", "e", "u", "m", "z", "id", "x", "y"];
        for (name, _) in &mut columns {
            names.remove(self.random.below(names.len().min(6))).clone_into(name);
        }
        name_columns(&mut query, &columns);
        (query, columns)
    }

    /// A query without ORDER BY, with columns of `types` if they are given.
    fn unordered(&mut self, depth: usize, types: Option<&[Type]>) -> (Query, Columns) {
        if depth > 0 && self.random.chance(12) {
            let (left, columns) = self.part(depth - 1, types);
            let types: Vec<_> = columns.iter().map(|(_, data_type)| *data_type).collect();
            let (right, _) = self.part(depth - 1, Some(&types));
            let all = is_made(Shape::SetAll) && self.random.chance(50);
            let operator = match (self.random.below(4), all) {
                (0, _) => "UNION",
                (1, true) => "EXCEPT ALL",
                (1, false) => "EXCEPT",
                (2, true) => "INTERSECT ALL",
                (2, false) => "INTERSECT",
                _ => "UNION ALL",
            };
            let (left, right) = (Box::new(left), Box::new(right));
            return (Query::of(Body::Set { operator, left, right }), columns);
        }
        if depth > 0 && self.random.chance(2) {
            return self.values(types);
        }
        self.select(depth, types)
    }

    /// One side of a UNION or its kin.
    fn part(&mut self, depth: usize, types: Option<&[Type]>) -> (Query, Columns) {
        let (mut query, columns) = self.unordered(depth, types);
        if is_made(Shape::OrderedSubquery) && self.random.chance(10) {
            self.order(&mut query);
        }
        (query, columns)
    }

    fn values(&mut self, types: Option<&[Type]>) -> (Query, Columns) {
        let types = types.map_or_else(|| self.types(), <[Type]>::to_vec);
        let rows = 1 + self.random.below(3);
        let row = |this: &mut Self| types.iter().map(|&data_type| this.expr(data_type, Leaves::Nothing, 1)).collect();
        let rows = (0..rows).map(|_| row(self)).collect();
        let query = Query::of(Body::Values(rows));
        let columns = query.columns();
        (query, columns)
    }

    fn types(&mut self) -> Vec<Type> {
        (0..=self.random.below(3)).map(|_| self.random.pick(&Type::ALL)).collect()
    }

    fn select(&mut self, depth: usize, types: Option<&[Type]>) -> (Query, Columns) {
        let (from, scope) = self.from(depth);
        let filter = self.random.chance(50).then(|| self.predicate(Leaves::Rows(&scope), 1 + depth));
        let types = match types {
            Some(types) => types.to_vec(),
            None if self.random.chance(75) => scope.types(self.random),
            None => self.types(),
        };
        let mut select = Select {
            distinct: false,
            items: Vec::new(),
            from: Some(from),
            filter,
            group: Group::No,
            having: None,
            windows: Vec::new(),
        };
        match self.random.below(10) {
            0..3 => self.aggregate(&mut select, &scope, &types),
            3 => self.windows(&mut select, &scope, &types),
            _ => {
                select.distinct = self.random.chance(15);
                for &data_type in &types {
                    let expr = if self.random.chance(60) {
                        self.leaf(data_type, Leaves::Rows(&scope))
                    } else {
                        self.expr(data_type, Leaves::Rows(&scope), 2)
                    };
                    select.items.push(Item { expr, alias: None });
                }
            }
        }
        let query = Query::of(Body::Select(Box::new(select)));
        let columns = query.columns();
        (query, columns)
    }

    /// Gives `query` an order of all its columns, and perhaps a limit.
    fn order(&mut self, query: &mut Query) {
        let mut places: Vec<usize> = (1..=query.width()).collect();
        while !places.is_empty() {
            let place = places.remove(self.random.below(places.len()));
            let key = Expr::call(Type::Integer, &place.to_string(), Vec::new());
            query.order.push(Order { key, direction: self.random.pick(&DIRECTIONS) });
        }
        if self.random.chance(50) {
            query.limit = Some(self.random.pick(&[0, 1, 1, 2, 3, 5, 100]));
            query.offset = self.random.chance(25).then(|| self.random.below(3));
        }
    }
}

impl Scope {
    /// Types of some columns.
    fn types(&self, random: &mut Random) -> Vec<Type> {
        let all: Vec<_> = self.relations.iter().flat_map(|relation| &relation.columns).map(|column| column.1).collect();
        (0..=random.below(4)).map(|_| random.pick(&all)).collect()
    }
}

/// Gives the columns of `query` these names.
fn name_columns(query: &mut Query, columns: &Columns) {
    match &mut query.body {
        Body::Select(select) => {
            for (item, (name, _)) in select.items.iter_mut().zip(columns) {
                item.alias = Some(name.clone());
            }
        }
        Body::Set { left, .. } => name_columns(left, columns),
        Body::Values(_) => {
            let values = std::mem::replace(&mut query.body, Body::Values(Vec::new()));
            let items = columns.iter().enumerate().map(|(at, (name, data_type))| Item {
                expr: Expr::Column(*data_type, None, format!("column{}", at + 1)),
                alias: Some(name.clone()),
            });
            let from = From::Derived { query: Box::new(Query::of(values)), alias: "v".to_owned(), is_lateral: false };
            query.body = Body::Select(Box::new(Select {
                distinct: false,
                items: items.collect(),
                from: Some(from),
                filter: None,
                group: Group::No,
                having: None,
                windows: Vec::new(),
            }));
        }
    }
}
