//! Which repaired records are records of their table: those whose values are of the types that all other records give the
//! columns.
//!
//! A record of too few or too many fields may have lost a delimiter in its middle, and then its values stand in wrong
//! columns; or it may be a footer. Its values therefore have no say in the types: the whole records are read alone first,
//! and a repaired one whose values do not fit is refused. Short records at the very end of a file that do not fit are
//! its footer, which is cut off. Not here: how records are repaired (`longshore-format`), which of them may be lines of a
//! text in quotes, and are refused for it (`open_quote`).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use longshore_csv::{Defect, DefectKind, RepairKind};
use longshore_format::sniff::types::{Nulls, Reading, TypeSet, classify_column};

use super::footer::Footer;
use super::guess::column_type;
use super::open_quote::rows_between_quotes;
use super::plan::Plan;
use crate::error::LoadError;
use crate::files::SpanTask;
use crate::options::RowViolation;
use crate::piece::Piece;
use crate::position::bad_record;

/// Records that a footer has at most.
const FOOTER_RECORDS_MAX: usize = 10;

/// What the whole records say, for a pass that repairs the others.
pub(super) struct Fit {
    /// The types of each column.
    types: Vec<TypeSet>,
    /// Where the short records at the end of a file begin, by the file's number.
    ends: BTreeMap<usize, u64>,
    /// Where those begin that are a footer.
    footers: Mutex<BTreeMap<usize, Footer>>,
}

/// The defects at the end of a span, behind its last whole record.
#[derive(Clone, Copy, Default)]
pub(super) struct Tail {
    has_rows: bool,
    /// Where the first of them begins in the file.
    start: Option<u64>,
    records: usize,
    /// Whether one of them is not a short record.
    is_other: bool,
    /// All defects of the span.
    pub(super) defects: u64,
}

impl Tail {
    /// Takes in the next piece of a span.
    pub(super) fn add(&mut self, task: &SpanTask, piece: &Piece<'_>) {
        let rows = piece.rows.count();
        if rows > 0 {
            *self = Self { has_rows: true, defects: self.defects, ..Self::default() };
        }
        self.defects += piece.defects.len() as u64;
        for defect in piece.defects.iter().filter(|defect| defect.row == rows) {
            self.start.get_or_insert(task.span.offset + (piece.start + defect.start as usize) as u64);
            self.records += 1;
            self.is_other |= defect.kind != DefectKind::MissingFields;
        }
    }

    /// The tail of a file up to this span, where `before` is that of the spans before it.
    fn behind(self, before: Self) -> Self {
        if self.has_rows {
            return self;
        }
        Self {
            has_rows: before.has_rows,
            start: before.start.or(self.start),
            records: before.records + self.records,
            is_other: before.is_other || self.is_other,
            defects: before.defects + self.defects,
        }
    }
}

impl Fit {
    /// What a pass over the whole records alone has told: the `types` of the columns, and the tails of `spans` in their
    /// order, with the numbers of their files.
    pub(super) fn new(types: Vec<TypeSet>, spans: impl IntoIterator<Item = (usize, Tail)>) -> Self {
        let mut tails: BTreeMap<usize, Tail> = BTreeMap::new();
        for (file, last) in spans {
            let tail = tails.entry(file).or_default();
            *tail = last.behind(*tail);
        }
        let is_end = |tail: &Tail| tail.has_rows && !tail.is_other && tail.records <= FOOTER_RECORDS_MAX;
        let ends = tails.into_iter().filter(|(_, tail)| is_end(tail));
        let ends = ends.filter_map(|(file, tail)| Some((file, tail.start?))).collect();
        Self { types, ends, footers: Mutex::default() }
    }

    /// For a pass over columns whose types are given.
    pub(super) fn anything(columns: usize) -> Self {
        Self { types: vec![TypeSet::EVERY; columns], ends: BTreeMap::new(), footers: Mutex::default() }
    }

    /// The types of each column.
    pub(super) fn types(&self) -> &[TypeSet] {
        &self.types
    }

    /// When all files were read: the same for another pass, and where the footers begin that are to be cut off before it,
    /// by the numbers of the files.
    pub(super) fn ends(self) -> (Self, BTreeMap<usize, Footer>) {
        let footers = self.footers.into_inner().unwrap_or_else(PoisonError::into_inner);
        (Self { footers: Mutex::default(), ..self }, footers)
    }

    /// The repaired rows of a piece that do not fit, in their order, without those of a footer; all of them go to `left`.
    pub(super) fn misfits(
        &self,
        task: &SpanTask,
        piece: &Piece<'_>,
        plan: &Plan,
        nulls: &[Nulls],
        readings: &[Reading],
        left: &mut Vec<usize>,
    ) -> Vec<RowViolation> {
        left.clear();
        let mut violations = Vec::new();
        let mut marks = Vec::new();
        let between_quotes = rows_between_quotes(task, piece);
        for &(row, kind) in piece.repairs() {
            if between_quotes.binary_search(&row).is_ok() {
                left.push(row);
                violations.push(RowViolation {
                    row,
                    kind: DefectKind::MissingFields,
                    reason: "has too few fields, and may be a line of a text that a quote in a line before it opens".to_owned(),
                    remedy: "set QUOTE to that character if it is, or ON_ERROR ignore, which leaves such records out and \
                             tells of them",
                });
                continue;
            }
            // A quote within a field puts nothing into another one.
            let (kind, what) = match kind {
                RepairKind::Short => (DefectKind::MissingFields, "too few"),
                RepairKind::Long => (DefectKind::ExtraFields, "too many"),
                RepairKind::StrayQuote => continue,
            };
            let rows = piece.rows.select(&[row as u32], &mut marks);
            let misfit = (0..self.types.len()).find(|&column| {
                let known = self.types[column];
                let Some(position) = plan.position(column).filter(|_| known != TypeSet::EVERY) else { return false };
                if plan.is_fixed(column) {
                    // What is wrong with it is told as for any other record.
                    return false;
                }
                let (before, after) = {
                    let found = classify_column(&rows, position, &nulls[column], &readings[column]);
                    (known.decide(&readings[column]), known.join(found).decide(&readings[column]))
                };
                (before.value_type, before.null_texts, before.quoted_nulls)
                    != (after.value_type, after.null_texts, after.quoted_nulls)
            });
            let Some(column) = misfit else { continue };
            left.push(row);
            let at = task.span.offset + (piece.start + piece.record(row).0) as u64;
            let number = task.file.input.number;
            if self.ends.get(&number).is_some_and(|end| at >= *end) {
                let mut footers = self.footers.lock().unwrap_or_else(PoisonError::into_inner);
                let footer = Footer::at(task, piece, row);
                match footers.get_mut(&number) {
                    Some(known) if known.byte <= at => {}
                    Some(known) => *known = footer,
                    None => drop(footers.insert(number, footer)),
                }
                continue;
            }
            let column_type = column_type(&self.types[column].decide(&readings[column]).value_type);
            violations.push(RowViolation {
                row,
                kind,
                reason: format!(
                    "has {what} fields, and so its values do not fit: that of column {} is not {column_type} as in all \
                     whole records",
                    plan.name(column)
                ),
                remedy: "mend the record, set QUOTE if it is a line of a text in quotes, or ON_ERROR ignore, which leaves such \
                         records out and tells of them",
            });
        }
        violations
    }
}

/// The error for a repaired record that does not fit.
pub(super) fn error(task: &SpanTask, piece: &Piece<'_>, misfit: &RowViolation) -> LoadError {
    let &RowViolation { row, kind, ref reason, remedy } = misfit;
    let (start, end) = piece.record(row);
    let (start, end, reason, remedy) = (start as u32, end as u32, reason.clone(), remedy.to_owned());
    bad_record(task, piece, &Defect { row, start, end, kind, reason, remedy })
}
