//! `CREATE VIEW ... WITH [LOCAL | CASCADED] CHECK OPTION`, which sqlparser does not know.
//!
//! The words are taken out before the parser sees the statement, and kept among the options of the view, where PostgreSQL
//! knows them, too: `WITH (check_option = local)`. A view keeps them behind the text of its query.

use sqlparser::ast::{CreateTableOptions, CreateView, Ident, SqlOption, Statement, Value};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::TokenWithSpan;

use super::build;
use crate::Error;
use crate::sql::tokens::{is_keyword, is_said, is_word};

/// Which conditions rows must fulfil that go through a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckOption {
    /// Those of the view itself, and of views below it that say so themselves.
    Local,
    /// Those of all views below it.
    Cascaded,
}

const OPTION: &str = "check_option";

impl CheckOption {
    /// The words as they stand behind a query.
    fn words(self) -> &'static str {
        match self {
            Self::Local => " WITH LOCAL CHECK OPTION",
            Self::Cascaded => " WITH CASCADED CHECK OPTION",
        }
    }

    /// The text of a view: its query and the option.
    pub(crate) fn behind(query: &str, option: Option<Self>) -> String {
        format!("{query}{}", option.map_or("", Self::words))
    }

    /// The query of a view, and its option.
    pub(crate) fn of_text(sql: &str) -> (&str, Option<Self>) {
        let with = |option: Self| sql.strip_suffix(option.words()).map(|query| (query, Some(option)));
        with(Self::Local).or_else(|| with(Self::Cascaded)).unwrap_or((sql, None))
    }

    /// The option of a CREATE VIEW; other options are refused.
    pub(crate) fn of(create: &CreateView) -> Result<Option<Self>, Error> {
        let options = match &create.options {
            CreateTableOptions::None => return Ok(None),
            CreateTableOptions::With(options) => options,
            _ => return Err(Error::unsupported("CREATE VIEW takes the option check_option only; leave others out")),
        };
        match options.as_slice() {
            [SqlOption::KeyValue { key, value }] if key.value.eq_ignore_ascii_case(OPTION) => {
                let value = value.to_string().trim_matches('\'').to_lowercase();
                match value.as_str() {
                    "local" => Ok(Some(Self::Local)),
                    "cascaded" => Ok(Some(Self::Cascaded)),
                    _ => Err(Error::invalid(format!("invalid value for enum option \"check_option\": {value}"))),
                }
            }
            _ => Err(Error::unsupported("CREATE VIEW takes the option check_option only; leave others out")),
        }
    }
}

/// Takes the words out of a CREATE VIEW; says what they were.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) -> Option<CheckOption> {
    let first = tokens.iter().find(|token| is_said(&token.token))?;
    if !is_keyword(&first.token, Keyword::CREATE) {
        return None;
    }
    let said: Vec<usize> = (0..tokens.len()).filter(|at| is_said(&tokens[*at].token)).rev().take(4).collect();
    let named = |at: usize, name: &str| is_word(&tokens[at].token, name);
    let (first, option) = match said.as_slice() {
        [option, check, with, ..] if named(*option, "OPTION") && named(*check, "CHECK") && named(*with, "WITH") => {
            (*with, CheckOption::Cascaded)
        }
        [option, check, kind, with] if named(*option, "OPTION") && named(*check, "CHECK") && named(*with, "WITH") => {
            let local = named(*kind, "LOCAL");
            if !local && !named(*kind, "CASCADED") {
                return None;
            }
            (*with, if local { CheckOption::Local } else { CheckOption::Cascaded })
        }
        _ => return None,
    };
    let last = said[0];
    tokens.drain(first..=last);
    Some(option)
}

/// Puts the option into the statement that it was taken out of.
pub(super) fn put(option: CheckOption, statement: &mut Statement) {
    if let Statement::CreateView(create) = statement {
        let value = if option == CheckOption::Local { "local" } else { "cascaded" };
        let value = build::value(Value::SingleQuotedString(value.to_owned()));
        create.options = CreateTableOptions::With(vec![SqlOption::KeyValue { key: Ident::new(OPTION), value }]);
    }
}
