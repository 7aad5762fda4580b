//! Where statements and meta-commands begin and end.

use super::*;

fn items_with(text: &str, variables: &Variables) -> Vec<Item> {
    let mut script = Script::default();
    let mut items = Vec::new();
    for line in text.split_inclusive('\n') {
        script.push(line);
        items.extend(std::iter::from_fn(|| script.next(variables)));
    }
    items.extend(script.end());
    items
}

fn items(text: &str) -> Vec<Item> {
    items_with(text, &Variables::default())
}

fn statement(sql: &str, line: usize) -> Item {
    Item::Statement { sql: sql.to_owned(), line }
}

fn meta(text: &str, line: usize) -> Item {
    Item::Meta { text: text.to_owned(), line }
}

#[test]
fn statements_know_their_lines() {
    assert_eq!(
        items("SELECT 1;\n\nSELECT\n 2; SELECT 3\n;\n-- done\n"),
        [statement("SELECT 1", 1), statement("SELECT\n 2", 3), statement("SELECT 3", 4)]
    );
    assert_eq!(
        items("-- a comment; with a semicolon\n/* another\n */ SELECT 1\n"),
        [statement("-- a comment; with a semicolon\n/* another\n */ SELECT 1", 3)]
    );
    assert_eq!(items(";;\n ;\nSELECT 1;"), [statement("SELECT 1", 3)]);
}

#[test]
fn meta_commands_stand_between_statements_and_behind_them() {
    assert_eq!(
        items("\\timing on\nSELECT '\n\\x\n';\n-- a\n  \\d t\n"),
        [meta("\\timing on", 1), statement("SELECT '\n\\x\n'", 2), meta("\\d t", 6)]
    );
    assert_eq!(items("SELECT 1; \\x\n"), [statement("SELECT 1", 1), meta("\\x", 1)]);
    assert_eq!(items("\\x \\timing\n"), [meta("\\x", 1), meta("\\timing", 1)]);
    assert_eq!(items("\\x \\\\ SELECT 1;\n"), [meta("\\x", 1), statement("SELECT 1", 1)]);
    assert_eq!(items("\\echo 'a\\\\b' \"\\\"\n"), [meta("\\echo 'a\\\\b' \"\\\"", 1)]);
    assert_eq!(items("\\copy t from 'a\\b' \\x\n"), [meta("\\copy t from 'a\\b' \\x", 1)]);
}

#[test]
fn an_open_statement_is_there_for_a_meta_command() {
    let mut script = Script::default();
    script.push("SELECT 1\n\\gx\n");
    let variables = Variables::default();
    assert_eq!(script.next(&variables), Some(meta("\\gx", 2)));
    assert_eq!(script.take_buffer(), "SELECT 1");
    assert!(script.is_blank());
    assert_eq!(script.take_buffer(), "SELECT 1");
}

#[test]
fn semicolons_inside_do_not_end_a_statement() {
    for inside in [
        "';'",
        "'it''s;'",
        "E'\\';'",
        "e'\\\\;'",
        "\";\"\"\"",
        "/* ; /* ; */ ; */ 1",
        "$$;$$",
        "$a$;$$;$b$;$a$",
        "x'41;'",
        "'\\'",
        "name$1",
        "$1",
        "a$b",
        "é';'",
        "a:b",
        "a::text",
        "a - b / c",
    ] {
        assert_eq!(items(&format!("{inside}; b")), [statement(inside, 1), statement("b", 1)], "{inside}");
    }
}

#[test]
fn what_is_open_shows_in_the_prompt() {
    for (text, shown) in [
        ("", '='),
        ("-- a", '='),
        ("SELECT", '-'),
        ("SELECT (", '('),
        ("'", '\''),
        ("\"", '"'),
        ("$a$", '$'),
        ("/*", '*'),
    ] {
        let mut script = Script::default();
        script.push(text);
        assert_eq!(script.next(&Variables::default()), None);
        assert_eq!(script.continues(), shown, "{text}");
    }
}

#[test]
fn variables_are_replaced() {
    let mut variables = Variables::default();
    variables.set("n", "1; SELECT 2");
    variables.set("t", "o'k");
    variables.set("self", ":self");
    assert_eq!(items_with("SELECT :n;\n", &variables), [statement("SELECT 1", 1), statement("SELECT 2", 1)]);
    assert_eq!(
        items_with("SELECT :'t', :\"t\", ':t', a::n, :missing, :{?t}, {'k':'v'}, :self;", &variables),
        [statement("SELECT 'o''k', \"o'k\", ':t', a::n, :missing, TRUE, {'k':'v'}, :self", 1)]
    );
}

#[test]
fn an_unfinished_statement_is_one() {
    assert_eq!(items("\n\nSELECT 'a;\n"), [statement("SELECT 'a;", 3)]);
    assert!(items("/* a */ -- b").is_empty());
    assert!(!is_blank("/* a"));
    assert_eq!(first_word(" -- x\n Copy(t)"), "copy");
}

#[test]
fn statements_that_a_condition_excludes_are_left_out() {
    let mut script = Script::default();
    script.push("\\if 0\nSELECT 1; \\x\n\\endif\nSELECT 2;\n");
    let variables = Variables::default();
    assert_eq!(script.next(&variables), Some(meta("\\if 0", 1)));
    script.conditions.begin(false);
    assert_eq!(script.next(&variables), Some(meta("\\endif", 3)));
    script.conditions.end().expect("a condition is open");
    assert_eq!(script.next(&variables), Some(statement("SELECT 2", 4)));
}
