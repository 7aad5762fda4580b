//! What the meta-commands are, in words.

use std::fmt::Write as _;

use longshore_engine::OPTIONS;

use super::{Failure, complaint};

pub(super) const COPYRIGHT: &str = "Longshore comes with its license in the file LICENSE of its sources.\n";

/// A heading, and the commands below it with what they do.
type Group = (&'static str, &'static [(&'static str, &'static str)]);

const GROUPS: [Group; 7] = [
    (
        "General",
        &[
            ("\\q", "leave; exit and quit do the same"),
            ("\\?", "show this; help does the same"),
            ("\\conninfo", "say where the database is"),
            ("\\encoding", "show the encoding of statements and results, which is UTF8"),
            ("\\errverbose", "show the last error with its SQLSTATE and what it is about"),
            ("\\options [NAME]", "explain the options of COPY and read_csv"),
            ("\\timing [on|off]", "show how long each statement takes"),
        ],
    ),
    (
        "The statement that is open, or the last one",
        &[
            ("\\g [FILE]", "run it, and write its results to a file or |program"),
            ("\\gx [FILE]", "the same with one line per value"),
            ("\\gset [PREFIX]", "run it, and set variables to the values of its row"),
            ("\\gdesc", "show the columns of its result, without running it"),
            ("\\gexec", "run it, and then each value of its result as a statement"),
            ("\\watch [SECONDS]", "run it again and again, until Ctrl-C; c=COUNT says how often"),
            ("\\e [FILE]", "let an editor change it"),
            ("\\p", "show it"),
            ("\\r", "drop it"),
            ("\\w FILE", "write it to a file"),
        ],
    ),
    (
        "What there is",
        &[
            ("\\d", "list tables and views"),
            ("\\d NAME", "show the columns, indexes, checks and foreign keys of a table or view"),
            ("\\d+ NAME", "show also how its columns are stored, and in how many bytes"),
            ("\\dt [PATTERN]", "list tables; in patterns * stands for any characters, ? for one"),
            ("\\dv [PATTERN]", "list views"),
            ("\\di [PATTERN]", "list indexes"),
            ("\\ds [PATTERN]", "list sequences"),
            ("\\df [PATTERN]", "list functions"),
            ("\\dn [PATTERN]", "list schemas"),
            ("\\l", "list databases"),
        ],
    ),
    (
        "How results look",
        &[
            (
                "\\pset [NAME [VALUE]]",
                "set expanded, fieldsep, footer, format, null, pager, title, tuples_only, value_width",
            ),
            ("\\x [on|off|auto]", "show one line per value; auto: where rows are wider than the terminal"),
            ("\\a", "align columns, or not"),
            ("\\t [on|off]", "show rows alone"),
            ("\\f [TEXT]", "what stands between unaligned values"),
            ("\\C [TEXT]", "a line above the rows"),
        ],
    ),
    (
        "Files and programs",
        &[
            ("\\i FILE", "run the statements of a file"),
            ("\\ir FILE", "the same; the file lies beside the script"),
            ("\\o [FILE]", "write results to a file or |program from now on"),
            ("\\copy ...", "COPY with a file, or with program 'COMMAND'"),
            ("\\cd [FOLDER]", "go to another folder"),
            ("\\! [COMMAND]", "run a command of the system's shell"),
        ],
    ),
    (
        "Variables, which :name, :'name' and :\"name\" stand for",
        &[
            ("\\set [NAME [VALUE]]", "set a variable, or list all"),
            ("\\unset NAME", "remove a variable"),
            ("\\prompt [TEXT] NAME", "set a variable to what is typed"),
            ("\\getenv NAME VARIABLE", "set a variable to that of the environment"),
            ("\\echo [-n] TEXT", "write to standard output"),
            ("\\qecho [-n] TEXT", "write to where results go"),
            ("\\warn [-n] TEXT", "write to standard error"),
        ],
    ),
    (
        "Conditions",
        &[
            ("\\if CONDITION", "run what follows if it is a word for yes"),
            ("\\elif CONDITION", "otherwise, if this one is"),
            ("\\else", "otherwise"),
            ("\\endif", "end of the condition"),
        ],
    ),
];

/// Names of all meta-commands, for completion.
pub(crate) const COMMANDS: [&str; 49] = [
    "\\!",
    "\\?",
    "\\C",
    "\\a",
    "\\cd",
    "\\conninfo",
    "\\copy",
    "\\d",
    "\\d+",
    "\\df",
    "\\di",
    "\\dn",
    "\\ds",
    "\\dt",
    "\\dv",
    "\\e",
    "\\echo",
    "\\elif",
    "\\else",
    "\\encoding",
    "\\endif",
    "\\errverbose",
    "\\f",
    "\\g",
    "\\gdesc",
    "\\getenv",
    "\\gexec",
    "\\gset",
    "\\gx",
    "\\i",
    "\\if",
    "\\ir",
    "\\l",
    "\\o",
    "\\options",
    "\\p",
    "\\prompt",
    "\\pset",
    "\\q",
    "\\qecho",
    "\\r",
    "\\set",
    "\\t",
    "\\timing",
    "\\unset",
    "\\w",
    "\\warn",
    "\\watch",
    "\\x",
];

/// Explains all meta-commands.
pub(super) fn text() -> String {
    let mut text = String::from("Statements end with a semicolon and may span lines.\n");
    for (heading, commands) in GROUPS {
        let _ = writeln!(text, "\n{heading}");
        for (command, does) in commands {
            let _ = writeln!(text, "  {command:<23} {does}");
        }
    }
    text.push_str(
        "\nNames that sqlite3 and DuckDB have work as well: .mode, .tables, .schema, .read, .output, .timer, .quit.\n\
         Tab completes keywords, names and files; Ctrl-C drops the input or cancels the statement; Ctrl-D leaves.\n",
    );
    text
}

/// Explains the options whose names begin with `start`.
pub(super) fn options(start: &str) -> Result<String, Failure> {
    let start = start.to_ascii_uppercase();
    let mut text = String::new();
    for option in OPTIONS.iter().filter(|option| option.name.starts_with(&start)) {
        let places: Vec<_> = option.places().collect();
        let _ = writeln!(
            text,
            "{} {}\n  {}\n  default: {}; for {}",
            option.name,
            option.values.replace('`', ""),
            option.meaning.replace('`', ""),
            option.default.replace('`', ""),
            places.join(", ")
        );
    }
    if text.is_empty() {
        return Err(complaint(&format!("no option begins with {start}; \\options lists them")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_explained_and_completed() {
        let text = text();
        for command in COMMANDS {
            assert!(text.contains(&format!("  {command}")), "{command}");
        }
        for (command, _) in GROUPS.iter().flat_map(|(_, commands)| *commands) {
            let name = command.split(' ').next().unwrap_or_default();
            assert!(COMMANDS.contains(&name), "{name}");
        }
    }
}
