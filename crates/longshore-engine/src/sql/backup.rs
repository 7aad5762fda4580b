//! The parser of BACKUP DATABASE.
//!
//! ```text
//! BACKUP DATABASE TO 'directory' [[WITH] (INCREMENTAL 'directory of the last backup')]
//! ```
//! The option has the name that PostgreSQL's `BASE_BACKUP` gives it. Not here: what it does (`statement::backup`).

use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use crate::Error;
use crate::sql::copy::{is_database_statement, path};
use crate::sql::option_list::{expected, option_list};
use crate::sql::options::{OptionItem, OptionValue, shown_place};

/// BACKUP DATABASE.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BackupStatement {
    pub(crate) directory: String,
    /// The backup with which it shares files.
    pub(crate) previous: Option<String>,
}

/// Parses the statement if it is one; otherwise the parser has not moved.
pub(super) fn statement(parser: &mut Parser) -> Result<Option<BackupStatement>, Error> {
    if !is_database_statement(parser, "BACKUP") {
        return Ok(None);
    }
    if !parser.parse_keyword(Keyword::TO) {
        return Err(expected(parser, "TO"));
    }
    let directory = path(parser, "a directory")?;
    let mut previous = None;
    for option in option_list(parser)? {
        let value = of_option(&option)?;
        if previous.replace(value).is_some() {
            return Err(Error::invalid("option INCREMENTAL is given twice; a backup shares files with one other"));
        }
    }
    Ok(Some(BackupStatement { directory, previous }))
}

fn of_option(option: &OptionItem) -> Result<String, Error> {
    match (option.name.as_str(), &option.value) {
        ("INCREMENTAL", OptionValue::Text(directory)) if !directory.is_empty() && !directory.contains('\0') => {
            Ok(directory.clone())
        }
        ("INCREMENTAL", _) => Err(Error::invalid(
            "option INCREMENTAL takes the directory of the last backup: BACKUP DATABASE TO 'tuesday' (INCREMENTAL 'monday')",
        )),
        (other, _) => Err(Error::invalid(format!(
            "option {other} at {} is unknown; BACKUP DATABASE has one, INCREMENTAL",
            shown_place(option.at)
        ))),
    }
}

/// Whether CHECKPOINT comes, which is no keyword to sqlparser.
pub(super) fn is_checkpoint(parser: &Parser) -> bool {
    let next = &parser.peek_token_ref().token;
    matches!(next, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("checkpoint"))
}

#[cfg(test)]
mod tests {
    use crate::sql::{Parsed, parse};

    #[test]
    fn backups_are_read() {
        for (sql, directory, previous) in [
            ("BACKUP DATABASE TO 'd'", "d", None),
            ("backup database to 'd' (incremental 'c');", "d", Some("c")),
            ("BACKUP DATABASE TO 'd' WITH (INCREMENTAL 'c')", "d", Some("c")),
        ] {
            let Ok(Parsed::Backup(backup)) = parse(sql) else { panic!("{sql}") };
            assert_eq!((backup.directory.as_str(), backup.previous.as_deref()), (directory, previous));
        }
        for (sql, part) in [
            ("BACKUP DATABASE 'd'", "expected TO"),
            ("BACKUP DATABASE TO d", "expected a directory"),
            ("BACKUP DATABASE TO ''", "the path is empty"),
            ("BACKUP DATABASE TO 'd' (INCREMENTAL)", "takes the directory of the last backup"),
            ("BACKUP DATABASE TO 'd' (INCREMENTAL '')", "takes the directory of the last backup"),
            ("BACKUP DATABASE TO 'd' (INCREMENTAL 'a', INCREMENTAL 'b')", "given twice"),
            ("BACKUP DATABASE TO 'd' (COMPRESSION gzip)", "option COMPRESSION at line 1, column 25 is unknown"),
            ("BACKUP DATABASE TO 'd' 'e'", "should end before"),
        ] {
            let error = parse(sql).expect_err(sql).to_string();
            assert!(error.contains(part), "{sql}: {error}");
        }
    }
}
