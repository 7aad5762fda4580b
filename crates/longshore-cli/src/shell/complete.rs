//! What Tab offers: keywords, options of COPY, names of tables and columns, meta-commands and files.
//!
//! What precedes decides what is offered (`place`). After a dot the columns of that table; otherwise the columns of the
//! tables that the entry names come first. Functions come with their opening parenthesis. Inside single quotes and after
//! `\i` files. Keywords follow the case of what was typed.

use std::sync::Arc;

use longshore_engine::{Database, OPTIONS};
use rustyline::Context;
use rustyline::completion::{Completer, FilenameCompleter, Pair};

use super::place::{Place, is_name};
use crate::run::meta::COMMANDS;

const KEYWORDS: &str = "\
    ALL ANALYZE AND ANY AS ASC AVG BETWEEN BIGINT BOOLEAN BY BYTEA CASE CAST CHAR COALESCE COLUMNS COPY COUNT \
    CREATE CROSS CSV CURRENT_DATE DATABASE DATE DECIMAL DELIMITER DESC DESCRIBE DISTINCT DOUBLE DROP ELSE ENCODING \
    END ESCAPE EXCEPT EXISTS EXPLAIN EXPORT EXTRACT FALSE FAST FETCH FILTER FIRST FORCE_NOT_NULL FORCE_NULL FORMAT \
    FROM FULL GROUP HAVING HEADER IF ILIKE IMPORT IN INNER INSERT INTEGER INTERSECT INTERVAL INTO IS JOIN LAST \
    LEFT LIKE LIMIT MAX MIN MODE NATIVE NATURAL NOT NULL NULLS NUMERIC OFFSET ON OR ORDER OUTER OVER PARQUET \
    PARTITION QUOTE READ_CSV REAL RECURSIVE REPLACE RIGHT ROWS SELECT SHOW SMALLINT STDIN STDOUT STORAGE SUBSTRING SUM \
    TABLE TABLES TEXT THEN TIME TIMESTAMP TO TRAILING_DELIMITER TRUE UNION USING UUID VALUES VARCHAR VIEW WHEN \
    WHERE";

/// Functions in the place of a table that read files.
const FILE_FUNCTIONS: [&str; 6] = ["read_arrow", "read_csv", "read_json", "read_parquet", "read_text", "sniff_csv"];

/// Completes what is typed at the prompt.
pub(super) struct Names {
    database: Arc<Database>,
    files: FilenameCompleter,
    /// Functions, each with its opening parenthesis.
    functions: Vec<String>,
    /// Those of them that stand in the place of a table.
    table_functions: Vec<String>,
    /// The lines of the entry before the one that is typed.
    before: String,
}

impl Names {
    pub(super) fn new(database: &Arc<Database>) -> Self {
        let functions = database.functions();
        let tables =
            functions.iter().filter(|function| function.kind == "table").map(|function| function.name.as_str());
        let table_functions = FILE_FUNCTIONS.into_iter().chain(tables).map(|name| format!("{name}(")).collect();
        let functions = functions.iter().map(|function| format!("{}(", function.name)).collect();
        let files = FilenameCompleter::new();
        Self { database: Arc::clone(database), files, functions, table_functions, before: String::new() }
    }

    /// Takes note of the lines of the entry before the one that is typed.
    pub(super) fn set_before(&mut self, before: &str) {
        before.clone_into(&mut self.before);
    }
}

impl Completer for Names {
    type Candidate = Pair;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = &line[..position];
        let command = before.trim_start();
        if command.starts_with('\\') {
            return match command.split_once(char::is_whitespace) {
                None => Ok(offer(before, command, COMMANDS.map(String::from))),
                Some(("\\i" | "\\ir" | "\\o" | "\\w" | "\\e" | "\\g" | "\\gx" | "\\cd", _)) => {
                    self.files.complete_path(line, position)
                }
                Some(("\\d" | "\\dt" | "\\dv" | "\\d+" | "\\dt+", _)) => {
                    let word = last_word(before);
                    Ok(offer(before, word, self.tables()))
                }
                Some(_) => Ok((position, Vec::new())),
            };
        }
        if in_text(before) {
            return self.files.complete_path(line, position);
        }
        let word = last_word(before);
        if let Some((table, column)) = word.rsplit_once('.') {
            return Ok(offer(before, column, self.columns(table)));
        }
        if word.is_empty() {
            return Ok((position, Vec::new()));
        }
        let place = Place::behind(&format!("{}{}", self.before, &before[..before.len() - word.len()]));
        let entry = format!("{}{line}", self.before);
        Ok(offer(before, word, self.candidates(place, &entry, word)))
    }
}

impl Names {
    fn tables(&self) -> Vec<String> {
        let names = self.database.table_names();
        names.iter().map(|name| quoted(name)).collect()
    }

    fn columns(&self, table: &str) -> Vec<String> {
        let columns = self.database.column_names(table.trim_matches('"'));
        columns.iter().map(|name| quoted(name)).collect()
    }

    /// What may stand at `place` in `line`, where `word` begins: columns, then tables, then keywords, then functions.
    fn candidates(&self, place: Place, line: &str, word: &str) -> Vec<String> {
        let mut candidates = match place {
            Place::Column | Place::Expression => self.columns_for(line),
            Place::Sequence => self.database.sequence_names().iter().map(|name| quoted(name)).collect(),
            Place::Start | Place::Table | Place::Behind => Vec::new(),
        };
        if matches!(place, Place::Table | Place::Expression) {
            candidates.extend(self.tables());
        }
        let lower = word.starts_with(|c: char| c.is_ascii_lowercase());
        let in_case = |name: &str| if lower { name.to_ascii_lowercase() } else { name.to_owned() };
        if !matches!(place, Place::Table | Place::Sequence) {
            candidates.extend(KEYWORDS.split(' ').map(in_case));
        }
        // One letter has too many of them, and between options they are rare.
        if word.len() > 1 && !takes_options(line) {
            candidates.extend_from_slice(match place {
                Place::Table => self.table_functions.as_slice(),
                Place::Expression => self.functions.as_slice(),
                _ => &[],
            });
        }
        if takes_options(line) {
            candidates.extend(OPTIONS.iter().map(|option| in_case(option.name)));
        }
        candidates
    }

    /// Columns of the tables that `line` names, or of all if it names none.
    fn columns_for(&self, line: &str) -> Vec<String> {
        let tables = self.database.table_names();
        let words: Vec<&str> = line.split(|c: char| !is_name(c)).collect();
        let named: Vec<&String> =
            tables.iter().filter(|table| words.iter().any(|word| word.eq_ignore_ascii_case(table))).collect();
        let of_tables = if named.is_empty() { tables.iter().collect() } else { named };
        of_tables.into_iter().flat_map(|table| self.columns(table)).collect()
    }
}

/// Whether options of files may come at the end of `line`: in the parentheses of a statement or a function that takes
/// them.
fn takes_options(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let open = line.matches('(').count() > line.matches(')').count();
    open && ["copy", "export", "as from", "read_", "sniff_"].iter().any(|word| line.contains(word))
}

/// The candidates that start with `word`, the end of `before`; case does not matter.
fn offer(before: &str, word: &str, candidates: impl IntoIterator<Item = String>) -> (usize, Vec<Pair>) {
    let mut pairs: Vec<Pair> = Vec::new();
    for candidate in candidates {
        let fits = candidate.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        if fits && !pairs.iter().any(|pair| pair.replacement == candidate) {
            pairs.push(Pair { display: candidate.clone(), replacement: candidate });
        }
    }
    (before.len() - word.len(), pairs)
}

/// The name, dotted name or beginning of one at the end of `text`.
fn last_word(text: &str) -> &str {
    let start = text
        .char_indices()
        .rev()
        .take_while(|&(_, c)| is_name(c) || c == '.' || c == '"')
        .last()
        .map_or(text.len(), |(index, _)| index);
    &text[start..]
}

/// Whether a text between single quotes is open at the end of `line`.
fn in_text(line: &str) -> bool {
    line.bytes().filter(|&byte| byte == b'\'').count() % 2 == 1
}

/// A name as SQL needs it written.
fn quoted(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use longshore_engine::Config;
    use rustyline::history::DefaultHistory;

    use super::*;

    fn offered(line: &str) -> (usize, Vec<String>) {
        let database = Database::open(Config::default()).expect("a database");
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let sql = "CREATE TABLE orders (o_key BIGINT, o_date DATE, \"Odd\" TEXT)";
            database.session().execute(sql).await.expect("a table");
        });
        let names = Names::new(&database);
        let history = DefaultHistory::new();
        let (start, pairs) = names.complete(line, line.len(), &Context::new(&history)).expect("completion");
        let candidates = pairs.into_iter().map(|pair| pair.replacement).collect();
        (start, candidates)
    }

    #[test]
    fn options_where_they_may_stand() {
        assert_eq!(offered("copy orders from 'x' (max_r").1, ["max_record_size"]);
        assert_eq!(offered("select * from read_csv('x', MAX_").1, ["MAX_RECORD_SIZE"]);
        assert!(offered("select count(max_r").1.is_empty());
        assert!(offered("copy orders from 'x' (trim true) max_").1.is_empty());
    }

    #[test]
    fn names_and_keywords() {
        assert_eq!(offered("sel"), (0, vec![String::from("select")]));
        assert_eq!(offered("SEL"), (0, vec![String::from("SELECT")]));
        assert_eq!(offered("select o_"), (7, vec![String::from("o_key"), String::from("o_date")]));
        assert_eq!(offered("select * from ord").1, ["orders"]);
        assert_eq!(offered("select * from read_c").1, ["read_csv("]);
        assert!(offered("select array_len").1.contains(&String::from("array_length(")));
        assert!(offered("select * from orders array_len").1.is_empty());
        assert_eq!(offered("select * from orders wh"), (21, vec![String::from("when"), String::from("where")]));
        assert_eq!(
            offered("select orders."),
            (14, vec![String::from("o_key"), String::from("o_date"), String::from("\"Odd\"")])
        );
        assert!(offered("select ").1.is_empty());
    }

    #[test]
    fn meta_commands() {
        assert_eq!(offered("\\ti"), (0, vec![String::from("\\timing")]));
        assert_eq!(offered("\\co").1, ["\\conninfo", "\\copy"]);
        assert_eq!(offered("\\d o"), (3, vec![String::from("orders")]));
        assert_eq!(offered("\\d+ o"), (4, vec![String::from("orders")]));
        assert!(offered("\\x o").1.is_empty());
    }

    #[test]
    fn keywords_are_sorted() {
        let keywords: Vec<&str> = KEYWORDS.split(' ').collect();
        assert!(keywords.is_sorted() && !keywords.contains(&""), "{KEYWORDS}");
    }
}
