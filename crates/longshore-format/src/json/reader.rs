//! Goes from record to record: what may stand between them, and where reading goes on behind one that is none.

use longshore_csv::{Defect, DefectKind, RowText};

use super::fault::{Expected, Fault};
use super::layout::{self, Layout};
use super::plan::Plan;
use super::record::RecordReader;
use super::token::{Scanned, byte, skip_blanks, trim_end};
use super::utf8::Utf8Check;

/// Reads the records of a text into rows.
pub(super) struct Reader<'a, 'r> {
    text: &'a [u8],
    record: RecordReader<'a>,
    utf8: Utf8Check,
    rows: &'r mut RowText,
    rows_before: usize,
    defects: &'r mut Vec<Defect>,
}

impl<'a, 'r> Reader<'a, 'r> {
    pub(super) fn new(
        text: &'a [u8],
        plan: &'a Plan,
        rejects_unknown: bool,
        rows: &'r mut RowText,
        defects: &'r mut Vec<Defect>,
    ) -> Reader<'a, 'r> {
        assert!(u32::try_from(text.len()).is_ok(), "texts of 4 GiB and more are read in parts");
        let record = RecordReader::new(text, plan, rejects_unknown);
        Reader { text, record, utf8: Utf8Check::default(), rows_before: rows.count(), rows, defects }
    }

    /// Reads until the text ends or the rows are full; returns the bytes taken.
    pub(super) fn read(&mut self, layout: Layout) -> usize {
        match layout {
            Layout::Lines => self.read_lines(),
            Layout::Values => self.read_values(),
            Layout::Array => self.read_arrays(),
        }
    }

    /// A record a line; behind one that is none, the next line comes.
    fn read_lines(&mut self) -> usize {
        let text = self.text;
        let mut at = 0;
        loop {
            at = skip_blanks::<false>(text, at);
            if at == text.len() {
                return at;
            }
            let start = at;
            match self.line(start) {
                Ok(end) => at = end,
                Err(fault) => {
                    let line = &text[start..];
                    let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
                    at = start + line.len();
                    self.defect(start, start + trim_end(line).len(), &fault);
                }
            }
            at += usize::from(at < text.len());
            if self.rows.is_full() {
                return at;
            }
        }
    }

    /// The position of the line end behind the record at `start`.
    #[inline(always)]
    fn line(&mut self, start: usize) -> Scanned {
        let end = self.record.read::<true>(start)?;
        let line_end = skip_blanks::<true>(self.text, end);
        if line_end < self.text.len() && self.text[line_end] != b'\n' {
            return Err(Fault::unexpected(self.text, line_end, Expected::Other("the end of the line")));
        }
        self.push(start, end)?;
        Ok(line_end)
    }

    /// Records one behind the other; behind one that is none, the next one comes where its brackets are balanced.
    fn read_values(&mut self) -> usize {
        let text = self.text;
        let mut at = 0;
        loop {
            at = skip_blanks::<false>(text, at);
            if at == text.len() {
                return at;
            }
            let start = at;
            let read = self.record.read::<false>(start).and_then(|end| self.push(start, end).map(|()| end));
            match read {
                Ok(end) => at = end,
                Err(fault) => {
                    at = layout::value_end(text, start);
                    self.defect(start, start + trim_end(&text[start..at]).len(), &fault);
                }
            }
            if self.rows.is_full() {
                return at;
            }
        }
    }

    /// The elements of arrays; behind one that is no record, the next one comes behind the comma where its brackets
    /// are balanced. A text that begins within an array begins with a comma, or with the array's end.
    fn read_arrays(&mut self) -> usize {
        let text = self.text;
        let mut at = skip_blanks::<false>(text, 0);
        let mut inside = layout::begins_inside(text, at);
        // Within an array, at what follows an element; else at what follows an array.
        while at < text.len() {
            match (byte(text, at), inside) {
                (b'[', false) => {
                    inside = true;
                    let first = skip_blanks::<false>(text, at + 1);
                    at = if byte(text, first) == b']' { first } else { self.element(at, first) };
                }
                (b',', true) => {
                    if self.rows.is_full() && self.rows.count() > self.rows_before {
                        return at;
                    }
                    at = self.element(at, skip_blanks::<false>(text, at + 1));
                }
                (b']', true) => {
                    inside = false;
                    at += 1;
                }
                _ => {
                    let end = layout::stray_end(text, at);
                    let fault = Fault::unexpected(text, at, Expected::Other("an array, or the end of the text,"));
                    self.defect(at, at + trim_end(&text[at..end]).len(), &fault);
                    at = end;
                }
            }
            at = skip_blanks::<false>(text, at);
        }
        at
    }

    /// The position of what follows the element at `start`, before which stands the comma or bracket at `before`.
    fn element(&mut self, before: usize, start: usize) -> usize {
        let text = self.text;
        if start == text.len() {
            // The array is not closed, which is said of the text's end.
            return start;
        }
        let read = self.record.read::<false>(start).and_then(|end| {
            let next = skip_blanks::<false>(text, end);
            if next < text.len() && !matches!(text[next], b',' | b']') {
                return Err(Fault::unexpected(text, next, Expected::Other("',' or ']'")));
            }
            self.push(start, end).map(|()| end)
        });
        match read {
            Ok(end) => end,
            Err(mut fault) => {
                let end = layout::element_end(text, start);
                let nothing = end == start;
                if nothing {
                    fault.remedy = "take out the comma, which separates nothing";
                }
                // Where there is no element at all, what stands before it is shown.
                let start = if nothing { before } else { start };
                self.defect(start, start + trim_end(&text[start..end]).len(), &fault);
                end
            }
        }
    }

    /// Appends the record just read.
    #[inline(always)]
    fn push(&mut self, start: usize, end: usize) -> Scanned<()> {
        if let Some(at) = self.utf8.first_invalid(self.text, start, end) {
            return Err(not_utf8(self.text, at));
        }
        self.record.push_row(start, end, self.rows);
        Ok(())
    }

    #[cold]
    fn defect(&mut self, start: usize, end: usize, fault: &Fault) {
        self.defects.push(Defect {
            row: self.rows.count() - self.rows_before,
            start: start as u32,
            end: end as u32,
            kind: fault.kind,
            reason: fault.reason(start),
            remedy: fault.remedy.to_owned(),
        });
    }
}

#[cold]
fn not_utf8(text: &[u8], at: usize) -> Box<Fault> {
    Fault::new(
        at,
        DefectKind::Encoding,
        format!("found the byte 0x{:02X}, which is not UTF-8,", text[at]),
        "name the encoding of the file",
    )
}
