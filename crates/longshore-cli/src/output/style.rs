//! For whom values are shown in columns, and what they may not contain there.

/// For whom the columns are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// For a terminal: a header over a line of dashes, and the number of rows below.
    Table,
    /// For a Markdown processor.
    Markdown,
}

/// Makes control characters visible, so that a value can neither break the columns nor command the terminal.
pub(super) fn clean(value: &str, style: Style) -> String {
    let special = |c: char| c.is_control() || (c == '|' && style == Style::Markdown);
    if !value.contains(special) {
        return value.to_owned();
    }
    let mut shown = String::with_capacity(value.len() + 8);
    for c in value.chars() {
        match (c, style) {
            ('\n', Style::Table) => shown.push('\n'),
            ('\n', Style::Markdown) => shown.push_str("<br>"),
            ('|', Style::Markdown) => shown.push_str("\\|"),
            ('\t', Style::Table) => shown.push_str("    "),
            ('\t', Style::Markdown) => shown.push(' '),
            ('\r', _) => shown.push_str("\\r"),
            (c, _) if c.is_control() => shown.extend(c.escape_unicode()),
            (c, _) => shown.push(c),
        }
    }
    shown
}

/// What stands for NULL, dimmed on a terminal that can: it is not the text `NULL`.
pub(super) fn set_apart(null: &str, is_styled: bool) -> String {
    if is_styled && !null.is_empty() { format!("\u{1b}[2m{null}\u{1b}[0m") } else { null.to_owned() }
}
