//! Makes sessions that change tables with constraints: blocks, savepoints, and statements that fail within them.
//!
//! Rows and keys are few, so that a good part of the statements meets a constraint. No statement depends on the order in
//! which rows are changed: keys are moved out of the way of all others, or one at a time.

use crate::random::Random;
use crate::shapes::{Shape, is_made};

/// What foreign keys do.
const ACTIONS: [&str; 5] = ["", " CASCADE", " SET NULL", " RESTRICT", " SET DEFAULT"];
/// Statements of a session, at least.
const STATEMENTS: usize = 14;

/// Makes sessions.
#[derive(Debug)]
pub struct Changes<'a> {
    random: &'a mut Random,
    /// Whether a block is open, and the savepoints in it.
    block: Option<usize>,
}

/// A session: statements that make tables, and those that change them.
#[derive(Clone, Debug)]
pub struct Session {
    /// The statements that make the tables `p`, `c` and `l`.
    pub tables: Vec<String>,
    /// The others, in order.
    pub statements: Vec<String>,
}

impl<'a> Changes<'a> {
    /// Makes sessions of `random`.
    #[must_use]
    pub fn new(random: &'a mut Random) -> Self {
        Self { random, block: None }
    }

    /// A session.
    pub fn session(&mut self) -> Session {
        let tables = self.tables();
        self.block = None;
        let mut statements = Vec::new();
        for _ in 0..STATEMENTS + self.random.below(STATEMENTS) {
            let statement = self.statement();
            statements.push(statement);
        }
        if self.block.is_some() {
            statements.push(self.random.pick(&["COMMIT", "ROLLBACK"]).to_owned());
        }
        Session { tables, statements }
    }

    fn often(&mut self, percent: usize, text: &str) -> String {
        if self.random.chance(percent) { text.to_owned() } else { String::new() }
    }

    fn tables(&mut self) -> Vec<String> {
        let parent = format!(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, k INTEGER{}, s TEXT{}{}, v INTEGER{}{})",
            self.often(60, " UNIQUE"),
            self.often(50, " DEFAULT 'd'"),
            self.often(50, " NOT NULL"),
            self.often(30, " DEFAULT 1"),
            self.often(60, " CHECK (v >= 0)"),
        );
        let reference = |this: &mut Self, to: &str| {
            let (delete, update) = (this.random.pick(&ACTIONS), this.random.pick(&ACTIONS));
            let on = |what: &str, action: &str| {
                if action.is_empty() { String::new() } else { format!(" ON {what}{action}") }
            };
            format!(" REFERENCES {to}{}{}", on("DELETE", delete), on("UPDATE", update))
        };
        let child = format!(
            "CREATE TABLE c (id INTEGER{}, p INTEGER{}{}, k INTEGER{}, w TEXT{}{})",
            self.often(70, " PRIMARY KEY"),
            self.often(30, " DEFAULT 1"),
            reference(self, "p (id)"),
            self.often(30, " NOT NULL"),
            self.often(40, ", CHECK (k < 90 OR w = 'a')"),
            self.often(40, ", UNIQUE (k, w)"),
        );
        let itself = reference(self, "l (id)");
        let own = format!("CREATE TABLE l (id INTEGER PRIMARY KEY, l INTEGER{itself}, s TEXT)");
        let rows = [
            "INSERT INTO p VALUES (1, 1, 'a', 1), (2, 2, 'b', 2), (3, 3, 'c', 0), (4, NULL, 'd', NULL)",
            "INSERT INTO c VALUES (1, 1, 1, 'a'), (2, 1, 2, 'b'), (3, 2, 3, NULL), (4, NULL, 4, 'd')",
            "INSERT INTO l VALUES (1, NULL, 'a'), (2, 1, 'b'), (3, 2, 'c'), (4, 4, 'd')",
        ];
        let rows = rows.map(str::to_owned);
        [parent, child, own].into_iter().chain(rows).collect()
    }

    fn statement(&mut self) -> String {
        if let Some(savepoints) = self.block {
            match self.random.below(24) {
                0 | 1 => {
                    self.block = None;
                    return "COMMIT".to_owned();
                }
                2 => {
                    self.block = None;
                    return "ROLLBACK".to_owned();
                }
                3 | 4 => {
                    self.block = Some(savepoints + 1);
                    return format!("SAVEPOINT s{}", self.random.below(3));
                }
                5 | 6 if savepoints > 0 => return format!("ROLLBACK TO SAVEPOINT s{}", self.random.below(3)),
                7 if savepoints > 0 => return format!("RELEASE SAVEPOINT s{}", self.random.below(3)),
                _ => {}
            }
        } else if self.random.chance(20) {
            self.block = Some(0);
            return self
                .random
                .pick(&["BEGIN", "BEGIN", "START TRANSACTION", "BEGIN ISOLATION LEVEL SERIALIZABLE"])
                .to_owned();
        }
        match self.random.below(32) {
            0..8 => self.insert(),
            8..10 => self.insert_select(),
            10..18 => self.update(),
            18..23 => self.delete(),
            23..26 => self.merge(),
            26 => format!("TRUNCATE {}", self.random.pick(&["p", "c", "l", "p, c", "p CASCADE"])),
            27 => self.failing(),
            _ => format!("SELECT * FROM {}", self.random.pick(&["p", "c", "l"])),
        }
    }

    fn failing(&mut self) -> String {
        let statements = [
            "SELECT * FROM nowhere",
            "SELECT nothing FROM p",
            "SELEC 1",
            "INSERT INTO p (id, nothing) VALUES (1, 1)",
            "INSERT INTO p VALUES ('x', 1, 'a', 1)",
            "UPDATE p SET v = 2147483647 + id",
            "RELEASE SAVEPOINT nowhere",
            "INSERT INTO p (id) VALUES (NULL)",
        ];
        if is_made(Shape::FailingQuery) && self.random.chance(20) {
            let queries = ["SELECT 1 / (id - 1) FROM p WHERE id > 0", "SELECT s::integer FROM p"];
            return self.random.pick(&queries).to_owned();
        }
        self.random.pick(&statements).to_owned()
    }

    fn table(&mut self) -> &'static str {
        self.random.pick(&["p", "c", "c", "l"])
    }

    fn id(&mut self) -> String {
        self.random.pick(&["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "NULL"]).to_owned()
    }

    fn text(&mut self) -> String {
        self.random.pick(&["'a'", "'b'", "'c'", "'zz'", "NULL", "DEFAULT"]).to_owned()
    }

    fn row(&mut self, table: &str) -> String {
        let (id, other, text) = (self.id(), self.id(), self.text());
        let number = self.random.pick(&["0", "1", "5", "95", "NULL", "DEFAULT", "-1"]);
        match table {
            "p" => format!("({id}, {other}, {text}, {number})"),
            "c" => format!("({id}, {other}, {number}, {text})"),
            _ => format!("({id}, {other}, {text})"),
        }
    }

    fn returning(&mut self) -> String {
        match self.random.below(12) {
            0 | 1 => " RETURNING *".to_owned(),
            2 => " RETURNING id, id + 1".to_owned(),
            3 if is_made(Shape::FailingReturning) => " RETURNING 10 / (id - 3)".to_owned(),
            _ => String::new(),
        }
    }

    fn insert(&mut self) -> String {
        let table = self.table();
        let mut rows: Vec<_> = (0..self.random.pick(&[1, 1, 1, 2, 3])).map(|_| self.row(table)).collect();
        let set = match table {
            "p" => "v = p.v + 1",
            "c" => "k = c.k + 1",
            _ => "s = excluded.s",
        };
        let conflict = self.random.below(10);
        if (3..6).contains(&conflict) && !is_made(Shape::ConflictTwice) {
            rows.truncate(1);
        }
        let conflict = match conflict {
            0 | 1 => " ON CONFLICT DO NOTHING".to_owned(),
            2 => " ON CONFLICT (id) DO NOTHING".to_owned(),
            3 | 4 => format!(" ON CONFLICT (id) DO UPDATE SET {set}"),
            5 => format!(" ON CONFLICT (id) DO UPDATE SET {set} WHERE {table}.id > 2"),
            _ => String::new(),
        };
        format!("INSERT INTO {table} VALUES {}{conflict}{}", rows.join(", "), self.returning())
    }

    fn insert_select(&mut self) -> String {
        let shift = self.random.pick(&["id", "id + 10", "id + 4", "id * 10"]);
        let condition = self.condition();
        let statement = match self.random.below(4) {
            0 => format!("INSERT INTO p SELECT {shift}, id + 20, 'n', id FROM c WHERE {condition}"),
            1 => format!("INSERT INTO c (id, p) SELECT {shift}, id FROM p WHERE {condition}"),
            2 => format!("INSERT INTO c SELECT {shift}, id, id, s FROM l WHERE {condition}"),
            _ => format!("INSERT INTO l SELECT {shift}, id, s FROM l WHERE {condition}"),
        };
        format!("{statement}{}", self.returning())
    }

    fn condition(&mut self) -> String {
        let id = self.id();
        match self.random.below(9) {
            0..3 => format!("id = {id}"),
            3 => format!("id > {id}"),
            4 => format!("id IN ({id}, 3)"),
            5 => format!("id NOT IN ({}, 3)", self.random.pick(&["1", "2", "4"])),
            6 => format!("id IN (SELECT id FROM {} WHERE id < 3)", self.table()),
            7 => format!("NOT EXISTS (SELECT 1 FROM c AS x WHERE x.p = {id})"),
            _ => "true".to_owned(),
        }
    }

    fn update(&mut self) -> String {
        let table = self.table();
        let condition = self.condition();
        let id = self.id();
        let number = self.random.pick(&["k + 1", "95", "0", "NULL", "DEFAULT", "id", "id * 2"]);
        let text = self.text();
        let set = match (table, self.random.below(6)) {
            (_, 0) => format!("id = {id}"),
            (_, 1) => "id = id + 100".to_owned(),
            ("p", 2 | 3) => "v = v - 1".to_owned(),
            ("p", 4) => "k = id + 50".to_owned(),
            ("p" | "l", _) => format!("s = {text}"),
            ("c", 2 | 3) => format!("p = {id}"),
            ("c", 4) => format!("k = {number}, w = {text}"),
            _ => format!("w = {text}"),
        };
        let set = if table == "l" && self.random.chance(50) { format!("l = {id}") } else { set };
        if table == "c" && self.random.chance(15) {
            return format!("UPDATE c SET w = p.s FROM p WHERE p.id = c.p{}", self.often(20, " RETURNING c.*"));
        }
        format!("UPDATE {table} SET {set} WHERE {condition}{}", self.returning())
    }

    fn delete(&mut self) -> String {
        let table = self.table();
        if table == "c" && self.random.chance(20) {
            return format!("DELETE FROM c USING p WHERE p.id = c.p AND p.v {} 1", self.random.pick(&["=", ">", "<"]));
        }
        format!("DELETE FROM {table} WHERE {}{}", self.condition(), self.returning())
    }

    fn merge(&mut self) -> String {
        let source = self.random.pick(&["c", "l", "(SELECT id + 2 AS id FROM l)", "(VALUES (1), (7), (8))"]);
        let columns = if source.contains("VALUES") { " (id)" } else { "" };
        let matched = self.random.pick(&[
            "WHEN MATCHED THEN UPDATE SET v = 7",
            "WHEN MATCHED AND p.id = 2 THEN DELETE",
            "WHEN MATCHED AND p.v > 0 THEN UPDATE SET v = v - 1 WHEN MATCHED THEN DO NOTHING",
            "WHEN MATCHED THEN DO NOTHING",
            "",
        ]);
        let missing = self.random.pick(&[
            " WHEN NOT MATCHED THEN INSERT VALUES (x.id, NULL, 'm', 3)",
            " WHEN NOT MATCHED AND x.id > 6 THEN INSERT (id, s) VALUES (x.id, 'n')",
            " WHEN NOT MATCHED THEN DO NOTHING",
        ]);
        format!("MERGE INTO p USING {source} AS x{columns} ON p.id = x.id {matched}{missing}")
    }
}
