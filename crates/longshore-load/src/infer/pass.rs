//! The passes over files of one dialect: one as if all their records were whole, and where they are not, one over the whole
//! records alone, which tells the types, and one with repairs of the others.
//!
//! Not here: how the dialect of a pass differs (`whole`), which repaired records count (`fit`), the workers (`read`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use longshore_format::QuoteCheck;
use longshore_format::sniff::Sniffed;
use longshore_format::sniff::types::{Nulls, Reading, TypeSet};
use longshore_storage::BufferPacking;

use super::fit::Fit;
use super::footer::Footer;
use super::guess::{Fixed, Guess, Guesses};
use super::look::{Failed, Looks};
use super::read::{Done, Inference, Taken};
use super::whole::{self, Others};
use super::{InferRequest, Inferred, Keep, again, format};
use crate::control::Control;
use crate::error::LoadError;
use crate::fields::Output;
use crate::files::Files;
use crate::input::InputFile;
use crate::options::{Header, OnError, Repair, RepairLog, Repaired, TextOptions};
use crate::reject::RejectOrder;
use crate::stop::Failure;

/// What is to be inferred, and what the samples told.
pub(super) struct Task<'a> {
    /// The first file.
    pub(super) first: String,
    /// What the user says, and what was looked at.
    pub(super) looks: &'a Looks,
    pub(super) sniffed: Sniffed,
    pub(super) hints: Vec<TypeSet>,
    pub(super) header: Header,
    pub(super) fixed: Vec<Option<Fixed>>,
    pub(super) nulls: Vec<Nulls>,
    pub(super) readings: Vec<Reading>,
    pub(super) request: &'a InferRequest,
    pub(super) control: &'a Control,
    pub(super) keep: Keep,
    pub(super) rejects: Option<&'a RejectOrder>,
}

/// What a pass over all files gave.
struct Pass {
    guess: Arc<Guess>,
    options: TextOptions,
    /// In their order.
    spans: Vec<Done>,
}

impl Task<'_> {
    /// Reads the files: as if all their records were whole, and where they are not, the whole ones first and then all of
    /// them, with repairs.
    pub(super) fn run(&self, inputs: Vec<InputFile>) -> Result<(Inferred, Vec<Done>), Failed> {
        let Self { looks, request, .. } = self;
        let may_repair = request.repairs && whole::can_be_repaired(&self.sniffed);
        if may_repair && inputs.iter().any(|input| input.is_kept) && self.fixed.iter().all(Option::is_some) {
            // Nothing is to be found out that the text would have to be kept for.
            inputs.iter().for_each(InputFile::read_on);
            let pass = self.pass(inputs, self.repairing()?, self.keep, Some(&Fit::anything(self.fixed.len())))?;
            return Ok(self.repaired(pass, Vec::new()));
        }
        if !may_repair || !looks.is_settled && !whole::has_others(&self.sniffed) {
            let sniffed = whole::reading(&self.sniffed, Others::Bad);
            let options = whole::options(&self.sniffed, &looks.given, &request.options, request.repairs, looks.checks);
            let inputs = inputs.iter().map(InputFile::for_pass).collect();
            let pass = self.pass(inputs, self.about(options)?, self.keep, None)?;
            return Ok(Self::inferred(sniffed, pass, Vec::new(), Vec::new()));
        }
        let mut options = self.options(&whole::reading(&self.sniffed, Others::LeftOut))?;
        options.on_error = OnError::Ignore;
        let again = inputs.iter().map(InputFile::for_pass).collect();
        let whole = self.pass(again, options, Keep::Types, None)?;
        let (rows, others) = whole.spans.iter().fold((0, 0), |(rows, others), span| {
            let Taken { rows: more, tail, .. } = &span.taken;
            (rows + more, others + tail.defects)
        });
        if others > rows {
            // Most records are not of this table: what they are nobody knows.
            let options = whole::options(&self.sniffed, &looks.given, &request.options, false, looks.checks);
            let inputs = inputs.iter().map(InputFile::for_pass).collect();
            let pass = self.pass(inputs, self.about(options)?, self.keep, None)?;
            return Ok(Self::inferred(self.sniffed.clone(), pass, Vec::new(), Vec::new()));
        }
        let types: Vec<TypeSet> = (0..whole.guess.len()).map(|column| whole.guess.column(column).known()).collect();
        let mut inputs = inputs;
        let mut cut: BTreeMap<usize, Footer> = BTreeMap::new();
        let mut fit = Fit::new(types, whole.spans.iter().map(|span| (span.task.file.input.number, span.taken.tail)));
        drop(whole);
        loop {
            let options = self.repairing()?;
            let again = inputs.iter().map(InputFile::for_pass).collect();
            let pass = self.pass(again, options, self.keep, Some(&fit))?;
            let (known, footers) = fit.ends();
            if footers.is_empty() {
                return Ok(self.repaired(pass, cut.into_values().collect()));
            }
            cut.extend(footers);
            for input in &mut inputs {
                input.text_end = cut.get(&input.number).map(|footer| footer.byte);
            }
            fit = known;
        }
    }

    /// How to read the files with repairs.
    fn repairing(&self) -> Result<TextOptions, LoadError> {
        self.options(&whole::reading(&self.sniffed, Others::Repaired))
    }

    /// How to read the files if they are what `sniffed` says.
    fn options(&self, sniffed: &Sniffed) -> Result<TextOptions, LoadError> {
        self.about(format::options_given(sniffed, &self.looks.given, &self.request.options, self.looks.checks))
    }

    /// These options, with what the files have in common.
    fn about(&self, options: Result<TextOptions, LoadError>) -> Result<TextOptions, LoadError> {
        Ok(TextOptions { header: self.header, ..options.map_err(|error| error.about(&self.first))? })
    }

    /// Reads all files.
    fn pass(
        &self,
        inputs: Vec<InputFile>,
        options: TextOptions,
        keep: Keep,
        fit: Option<&Fit>,
    ) -> Result<Pass, Failed> {
        let Self { sniffed, request, control, readings, .. } = self;
        let known = fit.map(Fit::types);
        let guess =
            Guess::first(sniffed, self.hints.clone(), known, self.fixed.clone(), readings, &self.looks.given, request);
        let all = (0..guess.schema.columns().len()).collect();
        let output = Output { schema: Arc::clone(&guess.schema), columns: all };
        let schema = Arc::clone(&guess.schema);
        let (tuning, memory) = (request.tuning.clone(), &request.memory);
        let files = Files::new(inputs, schema, vec![output], options.clone(), tuning, memory, control)?;
        let packing = BufferPacking::new(memory, request.storage, request.tuning.merge);
        let inference = Inference {
            files: &files,
            guesses: Guesses::new(guess, readings.clone()),
            nulls: &self.nulls,
            options: &options,
            memory,
            keep,
            packing: (keep == Keep::Rows).then_some(packing),
            rejects: if keep == self.keep { self.rejects } else { None },
            fit,
            control,
            failure: Failure::default(),
            failed_file: Mutex::default(),
            spans: Mutex::default(),
            stale: Mutex::default(),
            texts: again::StreamTexts::new(memory),
        };
        let threads = request.tuning.threads.clamp(1, files.span_count_max().max(1));
        inference.run(threads);
        if let Some(error) = inference.failure.take_first() {
            let file = inference.failed_file.into_inner().unwrap_or_else(PoisonError::into_inner);
            return Err(Failed { error, file: file.and_then(|(_, file)| file) });
        }
        let mut spans = inference.spans.into_inner().unwrap_or_else(PoisonError::into_inner);
        spans.sort_by_key(|span| span.task.sequence);
        let guess = inference.guesses.current();
        Ok(Pass { guess, options, spans })
    }

    /// What a pass told that repaired records.
    fn repaired(&self, pass: Pass, footers: Vec<Footer>) -> (Inferred, Vec<Done>) {
        let log = RepairLog::default();
        for span in &pass.spans {
            span.taken.repairs.clone().note(&span.task, &log);
        }
        let repaired = log.summary();
        Self::inferred(whole::repaired(&self.sniffed, &repaired), pass, repaired, footers)
    }

    /// What the last pass told.
    fn inferred(sniffed: Sniffed, pass: Pass, repaired: Vec<Repaired>, footers: Vec<Footer>) -> (Inferred, Vec<Done>) {
        let Pass { guess, options, spans } = pass;
        // All records and fields were looked at now, so that who reads by these options need not.
        let usual = (Repair::AsSaid, QuoteCheck::Off);
        let options = TextOptions { repair: usual.0, quote_check: usual.1, ..guess.options(&options) };
        let inferred = Inferred {
            columns: guess.columns(),
            options,
            schema: Arc::clone(&guess.schema),
            sniffed,
            rows: spans.iter().map(|span| span.taken.rows).sum(),
            repaired,
            footers,
        };
        (inferred, spans)
    }
}
