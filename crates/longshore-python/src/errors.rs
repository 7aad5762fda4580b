//! Errors of the engine as exceptions of `longshore.errors`, which has their classes by SQLSTATE.

use longshore_engine::Error;
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The exception for an error; `sql` is the text of its statement.
pub(crate) fn of_engine(py: Python<'_>, error: &Error, sql: Option<&str>) -> PyErr {
    let placed = sql.map(|sql| error.clone().in_statement(sql));
    let error = placed.as_ref().unwrap_or(error);
    let details = error.details();
    let made = || {
        let about = PyDict::new(py);
        about.set_item("file", &details.file)?;
        about.set_item("line", details.line)?;
        about.set_item("byte", details.byte)?;
        about.set_item("table", &details.table)?;
        about.set_item("column", &details.column)?;
        about.set_item("constraint", &details.constraint)?;
        about.set_item("data_type", &details.data_type)?;
        about.set_item("position", details.position)?;
        about.set_item("value", &details.value)?;
        made(py, error.kind().sqlstate(), &error.to_string(), Some(&about))
    };
    made().unwrap_or_else(|problem| problem)
}

/// The exception for what went wrong in this package.
pub(crate) fn own(py: Python<'_>, sqlstate: &str, message: &str) -> PyErr {
    made(py, sqlstate, message, None).unwrap_or_else(|problem| problem)
}

/// An interface that is used wrongly.
pub(crate) fn misuse(py: Python<'_>, message: &str) -> PyErr {
    let class = py.import(intern!(py, "longshore.errors")).and_then(|errors| errors.getattr("InterfaceError"));
    match class.and_then(|class| class.call1((message,))) {
        Ok(exception) => PyErr::from_value(exception),
        Err(problem) => problem,
    }
}

/// What is no error of a statement, such as a runtime that cannot start.
pub(crate) fn of_system(error: &dyn std::error::Error) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

fn made(py: Python<'_>, sqlstate: &str, message: &str, about: Option<&Bound<'_, PyDict>>) -> PyResult<PyErr> {
    let errors = py.import(intern!(py, "longshore.errors"))?;
    let exception = errors.getattr(intern!(py, "of_sqlstate"))?.call((sqlstate, message), about)?;
    Ok(PyErr::from_value(exception))
}
