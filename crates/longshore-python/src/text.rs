//! Files of text without a database: read into Arrow, and looked at.

use std::sync::Arc;

use longshore_engine::{Config, Control, TextRequest, TextRows, read_text as read};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::rows::Rows;
use crate::runtime::{Running, runtime, wait};
use crate::settings;

/// Reads files: their rows, and a dictionary of what is to be said of them.
#[pyfunction]
#[pyo3(signature = (files, options, threads=None, memory_limit=None, keeps_rejects=false))]
pub(crate) fn read_text<'py>(
    py: Python<'py>,
    files: Vec<String>,
    options: &Bound<'py, PyDict>,
    threads: Option<usize>,
    memory_limit: Option<usize>,
    keeps_rejects: bool,
) -> PyResult<(Rows, Bound<'py, PyDict>)> {
    let request = TextRequest { files, options: settings::options(options)?, keeps_rejects };
    let mut config = Config { memory_limit, ..Config::default() };
    config.threads = threads.unwrap_or(config.threads);
    let (control, running) = (Arc::<Control>::default(), Running::default());
    running.set(Arc::clone(&control));
    let runtime = runtime()?;
    let made = wait(py, &running, async move {
        let read = runtime.spawn_blocking(move || read(&request, &config, &control)).await;
        read.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    })?;
    let made = made.map_err(|error| errors::of_engine(py, &error, None))?;
    let told = PyDict::new(py);
    told.set_item("rows", made.report.rows)?;
    told.set_item("bytes", made.report.bytes_read)?;
    told.set_item("seconds", made.report.seconds)?;
    told.set_item("notice", &made.notice)?;
    told.set_item("rejected", made.rejected)?;
    let TextRows { schema, types, batches, rejects, .. } = made;
    if let Some(rejects) = rejects {
        let TextRows { schema, types, batches, .. } = *rejects;
        told.set_item("rejects", Rows::of_batches(schema, types, batches))?;
    }
    Ok((Rows::of_batches(schema, types, batches), told))
}
