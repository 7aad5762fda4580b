//! Writes what statements give: through a pager, as formats say, or by all workers as CSV.

use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use console::Term;
use futures::StreamExt as _;
use longshore_engine::RowStream;

use super::pager::Pager;
use super::results::Results;
use super::{Failure, Paging, Reason, Runner};
use crate::output::{Format, Printer, Screen};
use crate::progress::Display;

/// Bytes of results that are gathered before they are written.
const OUTPUT_BUFFER_BYTES: usize = 256 << 10;
/// A terminal that does not tell its size, in character cells.
const SCREEN_DEFAULT: (u16, u16) = (24, 80);

impl Runner {
    /// Writes rows to where results go.
    pub(super) fn show(&self, rows: &RecordBatch) -> Result<(), Failure> {
        let mut printer = self.printer(rows.schema());
        let mut out = self.out();
        printer.batch(rows, &mut out).and_then(|()| printer.finish(&mut out)).map_err(Reason::output)?;
        Ok(out.finish().map_err(Reason::output)?)
    }

    /// Writes text to where results go.
    pub(super) fn show_text(&self, text: &str) -> Result<(), Failure> {
        let mut out = self.out();
        out.write_all(text.as_bytes()).map_err(Reason::output)?;
        Ok(out.finish().map_err(Reason::output)?)
    }

    fn printer(&self, schema: SchemaRef) -> Printer {
        Printer::new(&self.look, self.screen(), schema)
    }

    /// What results are shown on.
    fn screen(&self) -> Screen {
        let (height, width) = Term::stdout().size_checked().filter(|size| size.1 > 0).unwrap_or(SCREEN_DEFAULT);
        let is_styled = self.is_interactive && self.results.is_stdout() && console::colors_enabled();
        Screen { width: usize::from(width), height: usize::from(height), is_styled }
    }

    /// Where results go, through a pager where one is wanted.
    fn out(&self) -> Out {
        let is_shown = self.results.is_stdout() && io::stdout().is_terminal();
        match self.paging {
            Paging::Long | Paging::Always if is_shown => {
                Out::Paged(Pager::new(self.screen(), self.paging == Paging::Always))
            }
            _ => Out::Direct(BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, self.results.clone())),
        }
    }

    /// Whether rows go to a file or a program as CSV in its usual form, which all workers can write.
    fn writes_plain_csv(&self) -> bool {
        let is_shown = self.results.is_stdout() && io::stdout().is_terminal();
        let look = &self.look;
        look.format == Format::Csv && !look.tuples_only && look.null.as_ref().is_none_or(String::is_empty) && !is_shown
    }

    /// Writes the rows to where results go as they come; returns their number.
    pub(super) async fn print(&self, mut rows: RowStream, display: &mut Display) -> Result<u64, Failure> {
        if self.writes_plain_csv() && rows.has_plain_columns() {
            let threads = self.database().config().threads;
            let written = rows.write_csv(self.results.clone(), threads).await;
            if self.results.is_broken() {
                return Err(Reason::BrokenPipe.into());
            }
            return Ok(written?);
        }
        let mut printer = self.printer(Arc::clone(rows.schema()));
        let mut out = self.out();
        let mut count = 0;
        while let Some(batch) = rows.next().await {
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) => {
                    display.stop();
                    out.finish().map_err(Reason::output)?;
                    return Err(error.into());
                }
            };
            if batch.num_rows() == 0 {
                continue;
            }
            display.stop();
            count += batch.num_rows() as u64;
            printer.batch(&batch, &mut out).map_err(Reason::output)?;
            if out.was_left() {
                return Ok(count);
            }
        }
        display.stop();
        printer.finish(&mut out).map_err(Reason::output)?;
        out.finish().map_err(Reason::output)?;
        Ok(count)
    }
}

/// What results are written to.
enum Out {
    Direct(BufWriter<Results>),
    Paged(Pager),
}

impl Out {
    /// Whether nobody wants to see more.
    fn was_left(&self) -> bool {
        matches!(self, Self::Paged(pager) if pager.was_left())
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Direct(mut writer) => writer.flush(),
            Self::Paged(pager) => pager.finish(),
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(writer) => writer.write(bytes),
            Self::Paged(pager) => pager.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Direct(writer) => writer.flush(),
            Self::Paged(pager) => pager.flush(),
        }
    }
}
