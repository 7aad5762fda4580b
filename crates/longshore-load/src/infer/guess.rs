//! What the columns are taken for, shared by all workers, and how it widens.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_csv::decode::DateTimeFormat;
use longshore_format::sniff::types::{Decision, InferredType, Layout, Reading, TypeSet, classify};
use longshore_format::sniff::{Given, Sniffed};
use longshore_storage::{Column, ColumnType, Schema};

use super::{InferRequest, InferredColumn};
use crate::options::TextOptions;

/// A type that the user gave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fixed(pub(super) ColumnType);

/// What one column is taken for.
#[derive(Clone, Debug)]
pub(super) struct ColumnGuess {
    name: String,
    fixed: Option<Fixed>,
    /// The types of all values that were classified.
    known: TypeSet,
    /// The types of values in the samples, which may have been cut out wrongly: they choose what is tried first, and
    /// are forgotten in the end.
    hint: TypeSet,
    /// By which the column is decoded.
    pub(super) decision: Decision,
}

/// What all columns are taken for at some time; never changes.
#[derive(Clone, Debug)]
pub(super) struct Guess {
    columns: Vec<ColumnGuess>,
    /// The columns of the relation, extra ones last.
    pub(super) schema: Arc<Schema>,
}

/// How the values of a column are to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Decoding is all.
    Decode,
    /// After decoding, to see that nothing was lost.
    Verify,
    /// Each by itself, since the type is open.
    Classify,
}

impl Guess {
    /// What the samples tell, and what is `known` already. A default is as a value of the file.
    pub(super) fn first(
        sniffed: &Sniffed,
        hints: Vec<TypeSet>,
        known: Option<&[TypeSet]>,
        fixed: Vec<Option<Fixed>>,
        readings: &[Reading],
        given: &Given,
        request: &InferRequest,
    ) -> Guess {
        let nothing = if given.all_text { TypeSet::TEXT } else { TypeSet::EVERY };
        let columns = sniffed.columns.iter().zip(hints).zip(fixed).zip(readings).enumerate();
        let columns = columns
            .map(|(index, (((column, hint), fixed), reading))| {
                let known = known.map_or(nothing, |known| known[index]);
                let default = request.default_of(&column.name);
                let known = default.map_or(known, |text| known.join(classify(text.as_bytes(), false, reading)));
                let decision = known.join(hint).decide(reading);
                ColumnGuess { name: column.name.clone(), fixed, known, hint, decision }
            })
            .collect();
        let guess = Guess { columns, schema: Arc::new(Schema::new(request.extra.clone())) };
        guess.with_schema(&request.extra)
    }

    /// The same with the schema that its decisions make.
    fn with_schema(self, extra: &[Column]) -> Guess {
        let columns = self.columns.iter().map(|column| Column::new(&column.name, column.column_type(), true));
        let schema = Arc::new(Schema::new(columns.chain(extra.iter().cloned()).collect()));
        Guess { schema, ..self }
    }

    pub(super) fn column(&self, column: usize) -> &ColumnGuess {
        &self.columns[column]
    }

    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether nothing that comes can change it, nor the end of the hints.
    pub(super) fn is_final(&self) -> bool {
        self.columns.iter().all(|column| column.fixed.is_some() || column.known.is_text())
    }

    /// Whether a span decoded by `self` is as if it was decoded by `other`.
    pub(super) fn agrees_with(&self, other: &Guess) -> bool {
        let same =
            |(a, b): (&ColumnGuess, &ColumnGuess)| a.fixed.is_some() || a.decision.value_type == b.decision.value_type;
        self.columns.iter().zip(&other.columns).all(same)
    }

    /// The options with what the columns need beyond them.
    pub(super) fn options(&self, options: &TextOptions) -> TextOptions {
        let mut options = options.clone();
        for column in self.columns.iter().filter(|column| column.fixed.is_none()) {
            let decision = &column.decision;
            let format = decision.value_type.layout().map(Layout::format);
            let format = format.and_then(|format| DateTimeFormat::new(&[format]).ok());
            if decision.null_texts.is_empty() && !decision.quoted_nulls && format.is_none() {
                continue;
            }
            let values = &mut options.values;
            let mut nulls = values.columns.get(&column.name).and_then(|own| own.nulls.clone());
            if !decision.null_texts.is_empty() {
                let texts = nulls.get_or_insert_with(|| values.nulls.clone());
                texts.extend(decision.null_texts.iter().map(|text| (*text).to_owned()));
            }
            let own = values.columns.entry(column.name.clone()).or_default();
            own.nulls = nulls;
            own.quoted_nulls = if decision.quoted_nulls { Some(true) } else { own.quoted_nulls };
            own.format = format.or_else(|| own.format.take());
        }
        options
    }

    /// The columns as the user sees them.
    pub(super) fn columns(&self) -> Vec<InferredColumn> {
        let column = |column: &ColumnGuess| InferredColumn {
            name: column.name.clone(),
            column_type: column.column_type(),
            given: column.fixed.is_some(),
            reason: if column.fixed.is_some() { "given".to_owned() } else { column.decision.reason.clone() },
        };
        self.columns.iter().map(column).collect()
    }
}

impl ColumnGuess {
    /// The type that it is decoded as.
    pub(super) fn column_type(&self) -> ColumnType {
        self.fixed.map_or_else(|| column_type(&self.decision.value_type), |Fixed(given)| given)
    }

    /// Whether its type is given.
    pub(super) fn is_fixed(&self) -> bool {
        self.fixed.is_some()
    }

    /// The types of all values that were classified.
    pub(super) fn known(&self) -> TypeSet {
        self.known
    }

    /// Whether values of other types widen it.
    pub(super) fn may_widen(&self) -> bool {
        self.fixed.is_none() && !self.known.is_text() && (!self.decision.is_settled() || !self.is_text())
    }

    fn is_text(&self) -> bool {
        self.decision.value_type == InferredType::Text
    }

    /// How its values are looked at; `sampled` tells that they are in a place that a hint came from.
    pub(super) fn look(&self, sampled: bool) -> Look {
        if self.fixed.is_some() || self.known.is_text() {
            Look::Decode
        } else if sampled || !self.decision.is_settled() {
            Look::Classify
        } else if self.is_text() {
            // By the hint; what it came from is classified.
            Look::Decode
        } else {
            Look::Verify
        }
    }
}

/// The guess of the moment.
pub(super) struct Guesses {
    current: Mutex<Arc<Guess>>,
    /// Of each column.
    pub(super) readings: Vec<Reading>,
}

impl Guesses {
    pub(super) fn new(first: Guess, readings: Vec<Reading>) -> Guesses {
        Guesses { current: Mutex::new(Arc::new(first)), readings }
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Guess>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn current(&self) -> Arc<Guess> {
        Arc::clone(&self.lock())
    }

    /// Takes in what values of the columns were found to be.
    pub(super) fn join(&self, found: &[TypeSet]) {
        let mut current = self.lock();
        self.change(&mut current, |column, index| column.known = column.known.join(found[index]));
    }

    /// Takes in what a piece was found to be that `column` could not be read in by `guess`. If even that does not
    /// explain it, the column is text.
    pub(super) fn widen(&self, found: &[TypeSet], guess: &Arc<Guess>, column: usize) {
        let mut current = self.lock();
        self.change(&mut current, |column, index| column.known = column.known.join(found[index]));
        let tried = &guess.columns[column].decision;
        let now = &current.columns[column].decision;
        let is_new = now.value_type != tried.value_type
            || now.null_texts != tried.null_texts
            || now.quoted_nulls != tried.quoted_nulls;
        if !is_new {
            self.change(&mut current, |guess, index| {
                if index == column {
                    guess.known = TypeSet::TEXT;
                }
            });
        }
    }

    /// Forgets the hints: what is known is what all values were checked for.
    pub(super) fn drop_hints(&self) {
        let mut current = self.lock();
        self.change(&mut current, |column, _| column.hint = TypeSet::EVERY);
    }

    fn change(&self, current: &mut MutexGuard<'_, Arc<Guess>>, change: impl Fn(&mut ColumnGuess, usize)) {
        let mut next = Guess::clone(current);
        for (index, column) in next.columns.iter_mut().enumerate() {
            change(column, index);
            column.decision = column.known.join(column.hint).decide(&self.readings[index]);
        }
        let extra = next.schema.columns()[next.columns.len()..].to_vec();
        **current = Arc::new(next.with_schema(&extra));
    }
}

/// The type of a column with values of an inferred type.
#[must_use]
pub fn column_type(value_type: &InferredType) -> ColumnType {
    match *value_type {
        InferredType::Boolean => ColumnType::Boolean,
        InferredType::Integer => ColumnType::Integer,
        InferredType::BigInt => ColumnType::BigInt,
        InferredType::Decimal { precision, scale } => ColumnType::Decimal { precision, scale },
        InferredType::Double => ColumnType::Double,
        InferredType::Date(_) => ColumnType::Date,
        InferredType::Time => ColumnType::Time,
        InferredType::Timestamp(_) => ColumnType::Timestamp,
        InferredType::TimestampTz => ColumnType::TimestampTz,
        InferredType::Uuid => ColumnType::Uuid,
        InferredType::Text => ColumnType::Text,
    }
}
