//! Queries as text, with their literals in place or as parameters.

use super::{Body, Expr, From, Group, On, Part, Query, Select};
use crate::types::Type;

/// Writes a query.
#[derive(Default)]
struct Writer {
    sql: String,
    /// The literals, where they are to be parameters.
    parameters: Option<Vec<(Type, String)>>,
}

impl Query {
    /// The query as text.
    #[must_use]
    pub fn sql(&self) -> String {
        let mut writer = Writer::default();
        writer.query(self);
        writer.sql
    }

    /// The query with parameters in the place of its literals, and the literals.
    #[must_use]
    pub fn prepared(&self) -> (String, Vec<(Type, String)>) {
        let mut writer = Writer { sql: String::new(), parameters: Some(Vec::new()) };
        writer.query(self);
        (writer.sql, writer.parameters.unwrap_or_default())
    }
}

impl Expr {
    /// The expression as text.
    #[must_use]
    pub fn sql(&self) -> String {
        let mut writer = Writer::default();
        writer.expr(self);
        writer.sql
    }
}

impl Writer {
    fn put(&mut self, text: &str) {
        self.sql.push_str(text);
    }

    fn list<T>(&mut self, parts: &[T], put: impl Fn(&mut Self, &T)) {
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                self.put(", ");
            }
            put(self, part);
        }
    }

    fn query(&mut self, query: &Query) {
        if !query.ctes.is_empty() {
            let recursive = query.ctes.iter().any(|cte| cte.is_recursive);
            self.put(if recursive { "WITH RECURSIVE " } else { "WITH " });
            self.list(&query.ctes, |writer, cte| {
                writer.put(&cte.name);
                writer.put(" AS (");
                writer.query(&cte.query);
                writer.put(")");
            });
            self.put(" ");
        }
        match &query.body {
            Body::Select(select) => self.select(select),
            Body::Set { operator, left, right } => {
                self.put("(");
                self.query(left);
                self.put(&format!(") {operator} ("));
                self.query(right);
                self.put(")");
            }
            Body::Values(rows) => {
                self.put("VALUES ");
                self.list(rows, |writer, row| {
                    writer.put("(");
                    writer.list(row, Self::expr);
                    writer.put(")");
                });
            }
        }
        if !query.order.is_empty() {
            self.put(" ORDER BY ");
            self.list(&query.order, |writer, order| {
                writer.expr(&order.key);
                writer.put(order.direction);
            });
        }
        if let Some(limit) = query.limit {
            self.put(&format!(" LIMIT {limit}"));
        }
        if let Some(offset) = query.offset {
            self.put(&format!(" OFFSET {offset}"));
        }
    }

    fn select(&mut self, select: &Select) {
        self.put(if select.distinct { "SELECT DISTINCT " } else { "SELECT " });
        self.list(&select.items, |writer, item| {
            writer.expr(&item.expr);
            if let Some(alias) = &item.alias {
                writer.put(&format!(" AS {alias}"));
            }
        });
        if let Some(from) = &select.from {
            self.put(" FROM ");
            self.from(from);
        }
        if let Some(filter) = &select.filter {
            self.put(" WHERE ");
            self.expr(filter);
        }
        match &select.group {
            Group::No => {}
            Group::By(keys) => {
                self.put(" GROUP BY ");
                self.list(keys, Self::expr);
            }
            Group::Sets(kind, sets) => {
                self.put(&format!(" GROUP BY {kind} ("));
                let single = *kind != "GROUPING SETS";
                self.list(sets, |writer, set| {
                    if single && set.len() == 1 {
                        writer.expr(&set[0]);
                        return;
                    }
                    writer.put("(");
                    writer.list(set, Self::expr);
                    writer.put(")");
                });
                self.put(")");
            }
        }
        if let Some(having) = &select.having {
            self.put(" HAVING ");
            self.expr(having);
        }
        if !select.windows.is_empty() {
            self.put(" WINDOW ");
            self.list(&select.windows, |writer, (name, partition, rest)| {
                writer.put(&format!("{name} AS ("));
                if !partition.is_empty() {
                    writer.put("PARTITION BY ");
                    writer.list(partition, Self::expr);
                }
                writer.put(rest);
                writer.put(")");
            });
        }
    }

    fn from(&mut self, from: &From) {
        match from {
            From::Table { name, alias } if name == alias => self.put(name),
            From::Table { name, alias } => self.put(&format!("{name} AS {alias}")),
            From::Derived { query, alias, is_lateral } => {
                self.put(if *is_lateral { "LATERAL (" } else { "(" });
                self.query(query);
                self.put(&format!(") AS {alias}"));
            }
            From::Join { kind, left, right, on } => {
                self.from(left);
                self.put(&format!(" {kind} "));
                let nested = matches!(**right, From::Join { .. });
                self.put(if nested { "(" } else { "" });
                self.from(right);
                self.put(if nested { ")" } else { "" });
                match on {
                    On::None => {}
                    On::Expr(expr) => {
                        self.put(" ON ");
                        self.expr(expr);
                    }
                    On::Using(names) => self.put(&format!(" USING ({})", names.join(", "))),
                }
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Literal(data_type, text) => match &mut self.parameters {
                Some(parameters) => {
                    // The same literal is the same parameter: a key of GROUP BY is found again in the columns.
                    let literal = (*data_type, text.clone());
                    let known = parameters.iter().position(|known| *known == literal);
                    let number = known.unwrap_or(parameters.len()) + 1;
                    if known.is_none() {
                        parameters.push(literal);
                    }
                    self.put(&format!("${number}"));
                }
                None => self.put(text),
            },
            Expr::Column(_, None, name) => self.put(name),
            Expr::Column(_, Some(table), name) => self.put(&format!("{table}.{name}")),
            Expr::Call(_, texts, parts) => {
                self.put(&texts[0]);
                for (part, text) in parts.iter().zip(&texts[1..]) {
                    match part {
                        Part::Expr(expr) => self.expr(expr),
                        Part::Query(query) => self.query(query),
                    }
                    self.put(text);
                }
            }
        }
    }
}
