//! Where answers differ from PostgreSQL's and are meant to, or are known to, each with its reason.

use crate::rows::{Answer, Refusal};

/// A difference that is no finding.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// Whether a statement with these answers, ours and PostgreSQL's, shows it.
    pub is: fn(&str, &Answer, &Answer) -> bool,
    /// Why it is there.
    pub reason: &'static str,
}

/// Whether the statement was refused before it ran.
fn is_refused(answer: &Answer) -> bool {
    let codes = ["0A", "42", "22023"];
    let known = |refusal: &Refusal| refusal.sqlstate.starts_with("XX") && !refusal.is_internal();
    let has_code = |refusal: &Refusal| codes.iter().any(|code| refusal.sqlstate.starts_with(code));
    answer.as_ref().is_err_and(|refusal| has_code(refusal) || known(refusal))
}

fn is_constraint(answer: &Answer) -> bool {
    answer.as_ref().is_err_and(|refusal| refusal.sqlstate.starts_with("23"))
}

/// Whether a value could not be computed.
fn is_of_data(answer: &Answer) -> bool {
    answer.as_ref().is_err_and(|refusal| refusal.sqlstate.starts_with("22"))
}

fn is_ungrouped(answer: &Answer) -> bool {
    answer.as_ref().is_err_and(|refusal| refusal.sqlstate == "42803")
}

/// Whether a function takes any type, and was given a literal that has none yet.
fn is_of_unknown(refusal: &Refusal) -> bool {
    refusal.sqlstate == "42804" && refusal.message.contains("polymorphic type")
}

/// All of them.
pub const DIFFERENCES: &[Difference] = &[
    Difference { is: |_, ours, theirs| is_refused(ours) && theirs.is_ok(), reason: "this version does not do it" },
    Difference {
        is: |_, ours, theirs| is_refused(ours) && is_refused(theirs),
        reason: "what is wrong before a statement runs has less codes",
    },
    Difference {
        is: |_, ours, theirs| ours.is_ok() && theirs.as_ref().is_err_and(is_of_unknown),
        reason: "a literal without a type is a text, wherever any type will do",
    },
    Difference {
        is: |_, _, theirs| theirs.as_ref().is_err_and(|refusal| refusal.sqlstate == "57014"),
        reason: "PostgreSQL ran into its time limit",
    },
    Difference {
        is: |sql, ours, theirs| ours.is_ok() && is_ungrouped(theirs) && sql.contains(" AND "),
        reason: "PostgreSQL makes one AND of two within each other, and does not find the group that one of them is",
    },
    Difference {
        is: |_, ours, theirs| ours.as_ref().is_ok_and(Vec::is_empty) && is_of_data(theirs),
        reason: "PostgreSQL computes constants before a statement runs, also where there is no row to compute them for",
    },
    Difference {
        is: |_, ours, theirs| is_constraint(ours) && is_constraint(theirs),
        reason: "of several constraints that a statement breaks, PostgreSQL tells that of the first row that breaks one",
    },
];

/// Why the answers differ, if they are known to.
#[must_use]
pub fn reason(sql: &str, ours: &Answer, theirs: &Answer) -> Option<&'static str> {
    DIFFERENCES.iter().find(|difference| (difference.is)(sql, ours, theirs)).map(|difference| difference.reason)
}
