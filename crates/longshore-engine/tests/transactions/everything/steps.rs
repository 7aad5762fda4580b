//! The statements of random histories.
//!
//! Keys are few, so that transactions meet. What a statement answers must follow from the rows that there are, not from the
//! order in which they lie: where several rows are changed, no two of them are in each other's way.

use longshore_testing::Random;

/// What there is at first.
pub(super) const MAKE: [&str; 17] = [
    "CREATE TABLE acc (k int, v int NOT NULL, u int UNIQUE, t varchar(3), PRIMARY KEY (k) USING hash)",
    "CREATE INDEX acc_v ON acc (v)",
    "CREATE TABLE par (id int PRIMARY KEY, n int NOT NULL)",
    "CREATE TABLE chi_n (id int PRIMARY KEY, p int REFERENCES par, n int CHECK (n < 50))",
    "CREATE TABLE chi_r (id int PRIMARY KEY, p int REFERENCES par ON DELETE RESTRICT ON UPDATE CASCADE, n int)",
    "CREATE TABLE chi_c (id int PRIMARY KEY, p int REFERENCES par ON DELETE CASCADE ON UPDATE CASCADE CHECK (p <> 7), n int)",
    "CREATE TABLE chi_s (id int PRIMARY KEY, p int REFERENCES par ON DELETE SET NULL ON UPDATE SET NULL, n int)",
    "CREATE INDEX chi_s_p ON chi_s (p)",
    "CREATE TABLE log (k int, v int NOT NULL)",
    "CREATE INDEX log_v ON log (v)",
    "CREATE TABLE marks (m int PRIMARY KEY)",
    "INSERT INTO acc SELECT value, value * 10, value, 'x' FROM generate_series(0, 7) AS g (value)",
    "INSERT INTO par SELECT value, 0 FROM generate_series(0, 9) AS g (value)",
    "INSERT INTO chi_n VALUES (0, 0, 0)",
    "INSERT INTO chi_c VALUES (0, 1, 0), (1, 2, 1), (2, 2, 2)",
    "INSERT INTO chi_s VALUES (0, 1, 0), (1, 3, 1)",
    "INSERT INTO log VALUES (0, 1), (1, 2), (1, 3)",
];

/// The tables, and the columns by which they are shown.
pub(super) const TABLES: [(&str, &str); 8] = [
    ("acc", "k, v, u, t"),
    ("par", "id, n"),
    ("chi_n", "id, p, n"),
    ("chi_r", "id, p, n"),
    ("chi_c", "id, p, n"),
    ("chi_s", "id, p, n"),
    ("log", "k, v"),
    ("marks", "m"),
];

/// Statements that are prepared.
pub(super) const PREPARED: [&str; 12] = [
    "SELECT k, v, u FROM acc WHERE k = $1",
    "SELECT v FROM acc WHERE k = $1 OR u = $2",
    "SELECT count(*), sum(v) FROM log WHERE v >= $1",
    "SELECT k FROM acc WHERE v > $1 ORDER BY v, k LIMIT 3",
    "SELECT max(v) FROM acc",
    "INSERT INTO acc (k, v, u, t) VALUES ($1, $2, $2, 'p')",
    "UPDATE acc SET v = v + $2 WHERE k = $1",
    "UPDATE acc SET k = $2 WHERE k = $1",
    "DELETE FROM acc WHERE k = $1",
    "DELETE FROM log WHERE v = $1 RETURNING k, 10 / (v - $2)",
    "INSERT INTO chi_s (id, p, n) VALUES ($1, $2, 0)",
    "INSERT INTO log (k, v) SELECT k, v + $1 FROM acc WHERE k <= $2",
];

/// Something that a session does.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Sql(String),
    /// What it answers is not the same every time.
    Unseen(String),
    /// COPY FROM STDIN of a text.
    Load(String, String),
    /// COPY TO STDOUT.
    Unload(String),
    /// EXPORT DATABASE, to a folder of its own; never in a block.
    Export,
    /// One of [`PREPARED`], with values.
    Prepared(usize, Vec<i32>),
    /// A query whose rows are read before the end of the transaction, or behind it.
    Late(String),
    /// A statement about savepoints.
    Savepoint(String),
    Typed(super::typed::TypedStep),
}

impl Step {
    /// Whether it changes nothing, whatever there is.
    pub(super) fn only_reads(&self) -> bool {
        let reads = |sql: &str| ["SELECT", "WITH", "SHOW", "DESCRIBE"].iter().any(|verb| sql.starts_with(verb));
        match self {
            Self::Unseen(_) | Self::Unload(_) | Self::Export | Self::Late(_) | Self::Savepoint(_) => true,
            Self::Load(..) => false,
            Self::Sql(sql) => reads(sql),
            Self::Prepared(number, _) => reads(PREPARED[*number]),
            Self::Typed(step) => step.only_reads(),
        }
    }

    pub(super) fn shown(&self) -> String {
        match self {
            Self::Sql(sql) | Self::Unseen(sql) | Self::Unload(sql) | Self::Savepoint(sql) => sql.clone(),
            Self::Load(sql, text) => format!("{sql} of {text:?}"),
            Self::Export => "EXPORT DATABASE".to_owned(),
            Self::Late(sql) => format!("{sql} (read late)"),
            Self::Prepared(number, values) => format!("{} with {values:?}", PREPARED[*number]),
            Self::Typed(step) => format!("{step:?}"),
        }
    }

    /// A random one.
    pub(super) fn any(random: &mut Random, may_write: bool) -> Self {
        if !may_write || random.below(5) < 2 { Self::read(random) } else { Self::write(random) }
    }

    fn read(random: &mut Random) -> Self {
        let (k, v, child) = (key(random), value(random), child(random));
        let sql = match random.below(24) {
            0 | 1 => format!("SELECT v, u, t FROM acc WHERE k = {k}"),
            2 => format!("SELECT k, v FROM acc WHERE k BETWEEN {k} AND {}", k + 2),
            3 => format!("SELECT k FROM acc WHERE v > {v}"),
            4 => "SELECT count(*), sum(v), max(u) FROM acc".to_owned(),
            5 => format!("SELECT count(*) FROM log WHERE v = {v} OR k = {k}"),
            6 => format!("SELECT a.k, l.v FROM acc AS a LEFT JOIN log AS l ON a.k = l.k WHERE a.v >= {v}"),
            7 => format!("SELECT id FROM par WHERE NOT EXISTS (SELECT 1 FROM {child} AS c WHERE c.p = par.id)"),
            8 => format!("WITH w AS (SELECT p, count(*) AS n FROM {child} GROUP BY p) SELECT * FROM w WHERE n > 1"),
            9 => format!("SELECT k FROM acc WHERE u IN ({k}, {}, {})", k + 1, k + 5),
            10 => "SELECT k, rank() OVER (ORDER BY v) FROM acc".to_owned(),
            11 => format!("SELECT {child}.id, n FROM {child} WHERE p = {k}"),
            12 => return Self::Late(format!("SELECT k, v FROM acc WHERE v < {v} UNION ALL SELECT id, n FROM par")),
            13 => {
                return Self::Late(format!(
                    "SELECT a.k, c.id FROM acc AS a JOIN {child} AS c ON a.k = c.p ORDER BY 1, 2"
                ));
            }
            14 => return Self::Unload("COPY acc (k, v, u, t) TO STDOUT".to_owned()),
            15 => return Self::Unload(format!("COPY (SELECT id, p FROM {child} WHERE id >= {k}) TO STDOUT")),
            16 | 17 => "SHOW TABLES".to_owned(),
            18 => return Self::Unseen(format!("EXPLAIN SELECT * FROM acc WHERE k = {k}")),
            19 => return Self::Unseen(format!("EXPLAIN ANALYZE SELECT sum(v) FROM log WHERE k = {k}")),
            // It fails if there is such a row.
            20 => format!("SELECT k, 100 / (v - {v}) FROM acc"),
            21 => "DESCRIBE acc".to_owned(),
            at => return Self::Prepared([0, 1, 2, 3, 4][(at + random.below(5)) % 5], two(random)).fitted(),
        };
        Self::Sql(sql)
    }

    fn write(random: &mut Random) -> Self {
        let (k, v, child) = (key(random), value(random), child(random));
        let (other, fresh, p) = (key(random), random.below(30) as i32, random.below(10));
        let sql = match random.below(52) {
            0 | 1 => format!("INSERT INTO acc (k, v, u, t) VALUES ({k}, {v}, {fresh}, 'n')"),
            2 => format!("INSERT INTO acc (k, v) VALUES ({k}, {v}), ({}, 1)", k + 3),
            3 => format!("INSERT INTO acc (k, v, u) SELECT k + 20, v, NULL FROM acc WHERE k <= {k}"),
            4 => format!("INSERT INTO acc (k, v, u) SELECT k + 1000, v, k FROM acc WHERE v = {v}"),
            5 => format!("INSERT INTO acc (k, v, u, t) VALUES ({k}, {v}, {fresh}, 'a  '), ({other}, {v}, NULL, 'b') ON CONFLICT DO NOTHING"),
            6 | 7 => format!(
                "INSERT INTO acc (k, v) VALUES ({k}, {v}) ON CONFLICT (k) DO UPDATE SET v = acc.v + excluded.v RETURNING k, v"
            ),
            8 => format!(
                "INSERT INTO acc (k, v) VALUES ({k}, {v}), ({other}, 5) ON CONFLICT (k) DO UPDATE SET v = excluded.v WHERE acc.v > {v}"
            ),
            9 => format!("INSERT INTO acc (k, v) VALUES ({k}, {v}) RETURNING 10 / (v - 3)"),
            10 | 11 => format!("UPDATE acc SET v = v + 1 WHERE k = {k}"),
            12 => format!("UPDATE acc SET k = {other} WHERE k = {k}"),
            13 => format!("UPDATE acc SET u = {fresh} WHERE k = {k}"),
            14 => format!("UPDATE acc SET v = (SELECT count(*) FROM log WHERE v < {v}) WHERE k = {k}"),
            15 => format!("UPDATE acc SET v = l.n FROM (SELECT k, count(*) AS n FROM log GROUP BY k) AS l WHERE l.k = acc.k AND acc.k <> {k}"),
            16 => format!("UPDATE acc SET v = v - 1 WHERE v BETWEEN {v} AND {} RETURNING k, v", v + 9),
            17 => format!("UPDATE acc SET t = 'long text' WHERE k = {k}"),
            18 => format!("UPDATE acc SET k = k + 20 WHERE k < 20 AND k <> {k}"),
            19 => format!("UPDATE acc SET t = 'u' WHERE k = {k} RETURNING 10 / (k - {other}), t"),
            20 => format!("DELETE FROM acc WHERE k = {k}"),
            21 => format!("DELETE FROM acc WHERE k > 19 OR v > {}", v + 60),
            22 => format!("DELETE FROM acc WHERE k = {k} RETURNING v, 10 / (v - {v})"),
            23 => format!("DELETE FROM acc USING log WHERE log.k = acc.k AND log.v = {v}"),
            24 => format!("MERGE INTO acc USING (SELECT {k} AS k, {v} AS v) AS s ON acc.k = s.k WHEN MATCHED AND acc.v > 30 THEN DELETE WHEN MATCHED THEN UPDATE SET v = acc.v + s.v WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)"),
            25 => "MERGE INTO acc USING (SELECT k, max(v) AS v FROM log GROUP BY k) AS s ON acc.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k + 40, s.v) RETURNING merge_action(), acc.v".to_owned(),
            26 if random.below(3) == 0 => "TRUNCATE acc".to_owned(),
            27 => "TRUNCATE log".to_owned(),
            28 | 29 => format!("INSERT INTO log (k, v) VALUES ({k}, {v})"),
            30 => format!("INSERT INTO log (k, v) SELECT k, count(*) FROM log GROUP BY k HAVING k < {k}"),
            31 => format!("DELETE FROM log WHERE v = {v}"),
            32 => "UPDATE log SET v = 1000 / (SELECT count(*) FROM acc)".to_owned(),
            33 => format!("INSERT INTO par VALUES ({k}, 1)"),
            34 | 35 => format!("DELETE FROM par WHERE id = {p}"),
            36 | 37 => format!("UPDATE par SET id = {} WHERE id = {p}", random.below(12)),
            38 => format!("UPDATE par SET n = n + 1 WHERE id = {p}"),
            39 | 40 => format!("INSERT INTO {child} (id, p, n) VALUES ({k}, {p}, {v})"),
            41 => format!("UPDATE {child} SET p = {p} WHERE id = {k}"),
            42 => format!("DELETE FROM {child} WHERE id = {k}"),
            43 if random.below(3) == 0 => "TRUNCATE par CASCADE".to_owned(),
            44 => format!("TRUNCATE {child}"),
            45 => return Self::load(random),
            46 => return Self::load_children(random),
            47 => format!("INSERT INTO {child} (id, p, n) SELECT id + 20, id, 0 FROM par WHERE id >= {p} AND id < {}", p + 2),
            _ => return Self::Prepared(5 + random.below(7), two(random)).fitted(),
        };
        Self::Sql(sql)
    }

    /// Rows of accounts, some of which may be there already.
    fn load(random: &mut Random) -> Self {
        let options = [
            "",
            "MERGE copy",
            "MERGE insert",
            "MERGE_MODE interleaved",
            "ON_CONFLICT keep_first",
            "ON_CONFLICT keep_last, ON_CONFLICT_KEY acc_pkey",
            "ON_CONFLICT 'update', ON_CONFLICT_KEY acc_pkey",
            "ON_ERROR 'ignore'",
            "ON_ERROR 'ignore', ON_CONFLICT reject",
        ];
        let options = options[random.below(options.len())];
        let mut text = String::new();
        for _ in 0..=random.below(4) {
            let (k, v) = (key(random), value(random));
            let record = if random.below(20) == 0 { "none,5\n".to_owned() } else { format!("{k},{v}\n") };
            text.push_str(&record);
        }
        let options = if options.is_empty() { String::new() } else { format!(" ({options})") };
        Self::Load(format!("COPY acc (k, v) FROM STDIN{options}"), text)
    }

    /// Rows that refer to others, which may not be there.
    fn load_children(random: &mut Random) -> Self {
        let options = ["", " (ON_ERROR 'ignore')", " (FOREIGN_KEYS post)", " (MERGE_MODE interleaved)"];
        let (child, options) = (child(random), options[random.below(options.len())]);
        let rows = (0..=random.below(3)).map(|at| format!("{},{},1\n", 40 + at + random.below(20), random.below(11)));
        Self::Load(format!("COPY {child} (id, p, n) FROM STDIN{options}"), rows.collect())
    }

    /// With as many values as there are parameters.
    fn fitted(self) -> Self {
        match self {
            Self::Prepared(number, mut values) => {
                let parameters = [1, 2].into_iter().filter(|at| PREPARED[number].contains(&format!("${at}")));
                values.truncate(parameters.max().unwrap_or(0));
                Self::Prepared(number, values)
            }
            other => other,
        }
    }
}

/// A key; now and then a rare one.
pub(super) fn key(random: &mut Random) -> i32 {
    let below = if random.below(6) == 0 { 40 } else { 10 };
    random.below(below) as i32
}

pub(super) fn value(random: &mut Random) -> i32 {
    let times = if random.below(2) == 0 { 10 } else { 1 };
    random.below(8) as i32 * times
}

fn two(random: &mut Random) -> Vec<i32> {
    vec![key(random), key(random)]
}

fn child(random: &mut Random) -> &'static str {
    ["chi_n", "chi_r", "chi_c", "chi_s"][random.below(4)]
}
