//! What a statement says of texts that were not quite what they were taken for, and were repaired.
//!
//! Not here: repairs (`longshore-load`).

use longshore_format::sniff::Sniffed;
use longshore_load::{Control, Footer, Inferred, Repaired};

/// How to have it otherwise.
const STRICT: &str = "STRICT true refuses such records";

/// Says what was found and repaired of the texts the first of which is called `name`.
pub(crate) fn tell(found: &Inferred, name: &str, control: &Control) {
    if let Some(notice) = notice(&found.sniffed, &found.repaired, &found.footers, name) {
        control.notice(notice);
    }
}

/// Says what was repaired.
pub(crate) fn tell_repairs(repaired: &[Repaired], control: &Control) {
    if let Some(first) = repaired.first() {
        let all: Vec<String> = repaired.iter().map(Repaired::to_string).collect();
        control.notice(format!("{}: {}; {STRICT}", first.file, all.join("; ")));
    }
}

/// The notice, if there is anything to say.
pub(crate) fn notice(sniffed: &Sniffed, repaired: &[Repaired], footers: &[Footer], name: &str) -> Option<String> {
    let mut said: Vec<String> = Vec::new();
    let mut say = |text: &str| said.push(text.to_owned());
    if sniffed.is_empty {
        say("it is empty, and was read as a table of one column (column1 TEXT) without rows");
    }
    let skipped = &sniffed.skip_lines;
    // What stands in a line such as `sep=;` is known.
    if !skipped.given && skipped.value > usize::from(sniffed.delimiter.reason.starts_with("`sep=`")) {
        let lines = match skipped.value {
            1 => "line 1 was".to_owned(),
            lines => format!("lines 1 to {lines} were"),
        };
        say(&format!("{lines} skipped ({}; SKIP 0 reads them)", skipped.reason));
    }
    if let (Some(comment), false) = (&sniffed.comment.value, sniffed.comment.given) {
        let prefix = String::from_utf8_lossy(comment);
        say(&format!("lines that begin with {prefix} were taken for comments (COMMENT '' reads them)"));
    }
    for repaired in repaired {
        say(&repaired.to_string());
    }
    for footer in footers {
        say(&footer.to_string());
    }
    if !(repaired.is_empty() && footers.is_empty()) {
        say(STRICT);
    }
    (!said.is_empty()).then(|| format!("{name}: {}", said.join("; ")))
}
