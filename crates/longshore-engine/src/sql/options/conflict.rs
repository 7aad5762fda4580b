//! What becomes of rows whose key is there already: `ON_CONFLICT`, `ON_CONFLICT_KEY`.

use super::given::Given;
use super::rejects::{ErrorChoice, RejectOptions};
use super::{OptionValue, Use};
use crate::Error;

/// What was said about rows whose key is there already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ConflictOptions {
    pub(crate) choice: ConflictChoice,
    /// The PRIMARY KEY, UNIQUE constraint or unique index that is meant, if one was named.
    pub(crate) key: Option<String>,
}

/// What to do about a row whose key is there already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ConflictChoice {
    #[default]
    Stop,
    /// Leave it out, and tell of it as of bad records.
    Reject,
    /// Leave it out.
    KeepFirst,
    /// It takes the place of the row that is there.
    KeepLast,
    /// Its values go to the row that is there.
    Update,
}

impl ConflictChoice {
    /// As options spell it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Reject => "reject",
            Self::KeepFirst => "keep_first",
            Self::KeepLast => "keep_last",
            Self::Update => "update",
        }
    }
}

impl ConflictOptions {
    pub(super) fn new(given: &Given<'_>, place: Use, rejects: &RejectOptions) -> Result<Self, Error> {
        let choice = given.choice("ON_CONFLICT", |name| match name.replace(' ', "_").as_str() {
            "stop" => Some(ConflictChoice::Stop),
            "reject" => Some(ConflictChoice::Reject),
            "keep_first" => Some(ConflictChoice::KeepFirst),
            "keep_last" => Some(ConflictChoice::KeepLast),
            "update" => Some(ConflictChoice::Update),
            _ => None,
        })?;
        let choice = choice.unwrap_or_default();
        if choice != ConflictChoice::Stop && rejects.dry_run {
            return Err(given.bad("ON_CONFLICT", "DRY_RUN compares no keys; leave one of them out"));
        }
        if choice == ConflictChoice::Reject && place == Use::CopyQuery {
            return Err(
                given.bad("ON_CONFLICT", "the rows of a query are no records to reject; keep_first leaves them out")
            );
        }
        if choice == ConflictChoice::Reject && rejects.on_error == ErrorChoice::Stop {
            let problem = "reject needs a place for rejects; set ON_ERROR to table 'name', file 'path' or ignore";
            return Err(given.bad("ON_CONFLICT", problem));
        }
        let key = match given.item("ON_CONFLICT_KEY").map(|item| &item.value) {
            None => None,
            Some(OptionValue::Word(name) | OptionValue::Text(name)) => Some(name.clone()),
            Some(_) => return Err(given.bad("ON_CONFLICT_KEY", "the name of a constraint or of an index is expected")),
        };
        if key.is_some() && choice == ConflictChoice::Stop {
            return Err(given.bad(
                "ON_CONFLICT_KEY",
                "has a meaning with ON_CONFLICT reject, keep_first, keep_last or update only",
            ));
        }
        Ok(Self { choice, key })
    }
}
