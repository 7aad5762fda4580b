//! Files of text without a database: read into Arrow, and looked at.

use std::sync::Arc;

use longshore_engine::{Config, Control, TextRequest, read_text as read};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::rows::Rows;
use crate::runtime::{Running, progress_of, runtime, wait};
use crate::settings;

/// Files that are read, for who looks how far that is.
#[pyclass(module = "longshore._longshore", frozen)]
pub(crate) struct Reading {
    control: Arc<Control>,
}

#[pymethods]
impl Reading {
    #[new]
    fn new() -> Self {
        Self { control: Arc::default() }
    }

    /// Bytes done, bytes in all (0 if that is not known), rows.
    fn progress(&self) -> (u64, u64, u64) {
        progress_of(&self.control)
    }
}

/// Reads files: their rows, and a dictionary of what is to be said of them.
#[pyfunction]
#[pyo3(signature = (reading, files, options, threads=None, memory_limit=None, keeps_rejects=false))]
pub(crate) fn read_text<'py>(
    py: Python<'py>,
    reading: &Reading,
    files: Vec<String>,
    options: &Bound<'py, PyDict>,
    threads: Option<&Bound<'py, PyAny>>,
    memory_limit: Option<&Bound<'py, PyAny>>,
    keeps_rejects: bool,
) -> PyResult<(Rows, Bound<'py, PyDict>)> {
    let request = TextRequest { files, options: settings::options(options)?, keeps_rejects };
    let memory_limit = memory_limit.map(|limit| settings::bytes("memory_limit", limit)).transpose()?;
    let mut config = Config { memory_limit, ..Config::default() };
    if let Some(threads) = threads {
        config.threads = settings::whole("threads", threads)?;
    }
    let (control, running) = (Arc::clone(&reading.control), Running::default());
    running.set(Arc::clone(&control));
    let runtime = runtime()?;
    let made = wait(py, &running, async move {
        let read = runtime.spawn_blocking(move || read(&request, &config, &control)).await;
        read.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    })?;
    let mut made = made.map_err(|error| errors::of_engine(py, &error, None))?;
    let told = PyDict::new(py);
    told.set_item("rows", made.report.rows)?;
    told.set_item("bytes", made.report.bytes_read)?;
    told.set_item("seconds", made.report.seconds)?;
    told.set_item("notice", &made.notice)?;
    told.set_item("rejected", made.rejected)?;
    if let Some(rejects) = made.rejects.take() {
        told.set_item("rejects", Rows::of_texts(*rejects))?;
    }
    Ok((Rows::of_texts(made), told))
}
