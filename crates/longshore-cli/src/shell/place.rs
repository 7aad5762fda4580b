//! What may stand at the cursor: what precedes it in the statement decides, as in psql.

/// Whether it may be a part of a name.
pub(super) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// What may stand somewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// The first keyword of a statement or a query, or another one behind it.
    #[default]
    Start,
    /// A table.
    Table,
    /// A sequence.
    Sequence,
    /// What stands behind a table: keywords.
    Behind,
    /// A column, or an option of a file.
    Column,
    /// An expression, or what stands behind one.
    Expression,
}

impl Place {
    /// The one behind `text`.
    pub(super) fn behind(text: &str) -> Self {
        let mut statement = Statement::default();
        for token in tokens(text) {
            statement.take(token);
        }
        statement.level().place
    }
}

/// What is known between two parentheses, or outside of all.
#[derive(Debug, Default)]
struct Level {
    place: Place,
    /// Whether the next table stands behind a comma.
    lists_tables: bool,
    /// The same of columns.
    lists_columns: bool,
    /// Whether it has a SELECT.
    selects: bool,
}

/// A statement up to the cursor.
#[derive(Debug, Default)]
struct Statement {
    outer: Level,
    /// Those of the parentheses that are open.
    inner: Vec<Level>,
    /// The first word.
    first: String,
    /// The token before.
    last: String,
}

impl Statement {
    fn level(&self) -> &Level {
        self.inner.last().unwrap_or(&self.outer)
    }

    fn level_mut(&mut self) -> &mut Level {
        self.inner.last_mut().unwrap_or(&mut self.outer)
    }

    /// Takes the next token, whose letters are upper case.
    fn take(&mut self, token: String) {
        match token.as_str() {
            ";" => {
                *self = Self::default();
                return;
            }
            "(" => self.open(),
            ")" => self.close(),
            "," => {
                let level = self.level_mut();
                if level.lists_tables {
                    level.place = Place::Table;
                } else if level.lists_columns {
                    level.place = Place::Column;
                }
            }
            word => self.word(word),
        }
        if self.first.is_empty() {
            self.first.clone_from(&token);
        }
        self.last = token;
    }

    fn open(&mut self) {
        let level = self.level();
        let place = match level.place {
            // Options of a file.
            _ if self.last == TEXT => Place::Column,
            Place::Start | Place::Table | Place::Sequence => Place::Start,
            // A function in the place of a table has arguments, a table has columns.
            Place::Behind if level.lists_tables => Place::Expression,
            Place::Behind | Place::Column => Place::Column,
            Place::Expression => Place::Expression,
        };
        self.inner.push(Level { place, lists_columns: place == Place::Column, ..Level::default() });
    }

    fn close(&mut self) {
        self.inner.pop();
        let level = self.level_mut();
        if matches!(level.place, Place::Table | Place::Column) {
            level.place = Place::Behind;
        }
    }

    fn word(&mut self, word: &str) {
        let next = self.behind_keyword(word);
        let level = self.level_mut();
        level.selects |= word == "SELECT";
        if let Some((place, lists_tables)) = next {
            level.place = place;
            level.lists_tables = lists_tables;
        } else if matches!(level.place, Place::Table | Place::Sequence)
            && !matches!(word, "CONCURRENTLY" | "EXISTS" | "IF" | "LATERAL" | "NOT" | "ONLY" | "TABLE")
        {
            level.place = Place::Behind;
        }
    }

    /// What stands behind `word` if that is a keyword, and whether tables behind commas follow.
    fn behind_keyword(&self, word: &str) -> Option<(Place, bool)> {
        let (level, first, last) = (self.level(), self.first.as_str(), self.last.as_str());
        let (is_first, is_inner) = (first.is_empty(), !self.inner.is_empty());
        Some(match word {
            // `IS DISTINCT FROM a`, and `extract(year FROM a)`.
            "FROM" if last == "DISTINCT" => (Place::Expression, false),
            "FROM" if is_inner && !level.selects && level.place == Place::Expression => (Place::Expression, false),
            "FROM" if first == "COPY" && !is_inner => (Place::Behind, false),
            "FROM" | "JOIN" => (Place::Table, true),
            "USING" if matches!(first, "DELETE" | "MERGE") && !is_inner => (Place::Table, true),
            "USING" | "COLUMN" => (Place::Column, level.lists_tables),
            // `FOR UPDATE`, `ON CONFLICT DO UPDATE`, `WHEN MATCHED THEN UPDATE`, `ON UPDATE CASCADE`.
            "UPDATE" if matches!(last, "DO" | "FOR" | "ON" | "OR" | "THEN") => (Place::Behind, false),
            "COPY" | "ANALYZE" | "VACUUM" | "DESCRIBE" | "TRUNCATE" if is_first => (Place::Table, false),
            "INTO" | "REFERENCES" | "TABLE" | "UPDATE" | "VIEW" => (Place::Table, false),
            "SEQUENCE" => (Place::Sequence, false),
            "SET" if is_first => (Place::Start, false),
            "UNION" | "EXCEPT" | "INTERSECT" => (Place::Start, false),
            // The query of a view.
            "AS" if first == "CREATE" && level.place == Place::Behind && !level.lists_tables => (Place::Start, false),
            // `CREATE INDEX ON a`.
            "ON" if first == "CREATE" && !is_inner && !level.selects => (Place::Table, true),
            "ON" | "DEFAULT" | "CHECK" => (Place::Expression, level.lists_tables),
            "BY" | "CALL" | "HAVING" | "LIMIT" | "OFFSET" | "QUALIFY" | "RETURNING" | "SELECT" | "SET" | "VALUES"
            | "WHERE" => (Place::Expression, false),
            _ => return None,
        })
    }
}

/// What stands for a text between single quotes.
const TEXT: &str = "'";

/// The words, texts and signs of `sql`, in upper case.
fn tokens(sql: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let through = |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
        let (length, is_token) = match first {
            '\'' => (through("'", 1), true),
            '"' => (through("\"", 1), true),
            '-' if rest.starts_with("--") => (through("\n", 2), false),
            '/' if rest.starts_with("/*") => (through("*/", 2), false),
            first if is_name(first) => (rest.find(|c| !is_name(c)).unwrap_or(rest.len()), true),
            first => (first.len_utf8(), !first.is_whitespace()),
        };
        let (token, behind) = rest.split_at(length);
        if is_token {
            tokens.push(if first == '\'' { TEXT.to_owned() } else { token.to_uppercase() });
        }
        rest = behind;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_precedes_decides() {
        let cases: [(Place, &[&str]); 6] = [
            (Place::Start, &["", "select 1; ", "with a as (", "copy (", "select 1 union all ", "create view v as ("]),
            (
                Place::Table,
                &[
                    "select * from ",
                    "SELECT a FROM b, ",
                    "select (select c from ",
                    "select * from a join b on a.c = b.c join ",
                    "select * from a join b using (c), ",
                    "select extract(year from a) from ",
                    "delete from ",
                    "insert into ",
                    "update ",
                    "drop table if exists ",
                    "copy ",
                    "create index on ",
                    "-- it's\nselect 'from' from /* ( */ ",
                ],
            ),
            (Place::Sequence, &["drop sequence "]),
            (
                Place::Behind,
                &[
                    "select * from a ",
                    "select * from a as b ",
                    "copy a from ",
                    "insert into a (b) ",
                    "copy a from 'b' (c) ",
                ],
            ),
            (
                Place::Column,
                &["insert into a (b, ", "copy a from 'b' (", "create table a (b int, ", "alter table a drop column "],
            ),
            (
                Place::Expression,
                &[
                    "select ",
                    "select a, ",
                    "select * from a where b = 1 and ",
                    "select * from read_csv(",
                    "select extract(year from ",
                    "select a is distinct from ",
                    "select * from a join b on ",
                    "select a from b group by ",
                    "insert into a values (",
                    "update a set b = ",
                    "create table a (b int default ",
                ],
            ),
        ];
        for (place, texts) in cases {
            for text in texts {
                assert_eq!(Place::behind(text), place, "{text}");
            }
        }
    }
}
