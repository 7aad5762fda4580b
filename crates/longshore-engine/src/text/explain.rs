//! Errors in texts, with what was given and what was found out: either may be what is wrong.
//!
//! Not here: the errors themselves (`longshore-load`).

use longshore_format::sniff::{Family, Given, SAMPLE_BYTES, Sniffed, sniff};
use longshore_load::LoadError;

use super::given::sniffing;
use super::input::TextInput;
use super::sources::TextSources;
use crate::Error;
use crate::sql::options::Options;

/// "(given: DELIMITER ';'; found out: QUOTE '"', HEADER true)"
pub(super) fn shown(sniffed: &Sniffed) -> String {
    let options = sniffed.options();
    let list = |given: bool| {
        let listed = options.iter().filter(|option| option.given == given);
        let listed: Vec<String> = listed.map(|option| format!("{} {}", option.name, option.value)).collect();
        if listed.is_empty() { "nothing".to_owned() } else { listed.join(", ") }
    };
    format!("(given: {}; found out: {})", list(true), list(false))
}

/// `error` of a pass over `inputs`: which they are, where it is about none of them by itself.
pub(crate) fn of_inputs(error: LoadError, inputs: &[TextInput]) -> Error {
    let is_nameless = matches!(error, LoadError::OutOfMemory(_));
    let error = Error::from(error);
    match inputs {
        [only] if is_nameless => error.with_file(&only.name),
        [first, others @ ..] if is_nameless => {
            error.reworded(|message| format!("{} and {} others: {message}", first.name, others.len()))
        }
        _ => error,
    }
}

/// `error` of texts whose dialect was found out, the first of which begins with `head`.
pub(super) fn explained(error: Error, head: &[u8], given: &Given) -> Error {
    if !error.kind().is_of_data() || head.is_empty() {
        return error;
    }
    with_found(error, &sniff(head, head.len() < SAMPLE_BYTES, given))
}

/// `error` of texts that were read by what was found.
pub(super) fn with_found(error: Error, sniffed: &Sniffed) -> Error {
    if !error.kind().is_of_data() {
        return error;
    }
    error.reworded(|message| format!("{message} {}", shown(sniffed)))
}

/// `error` of a load from `texts`: with what was found out, or where nothing was to be, with what looks as if it should
/// have been given.
pub(crate) fn of_load(error: Error, texts: &TextSources, options: &Options) -> Error {
    if !error.kind().is_of_data() {
        return error;
    }
    let Ok(head) = texts.head_again(options) else { return error };
    if options.auto {
        return match sniffing(options, &head) {
            Ok(given) => explained(error, &head, &given),
            Err(_) => error,
        };
    }
    let sniffed = sniff(&head, head.len() < SAMPLE_BYTES, &Given::default());
    if head.is_empty() || sniffed.family.value != Family::Delimited || sniffed.columns.len() < 2 {
        return error;
    }
    let differing = options.unlike(&sniffed);
    if differing.is_empty() {
        return error;
    }
    error.reworded(|message| {
        format!(
            "{message} (the file looks as if {} should be given; AUTO takes it for what it looks like)",
            differing.join(", ")
        )
    })
}
