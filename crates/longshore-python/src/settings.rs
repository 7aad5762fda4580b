//! Keywords of calls as options of the engine, and as its configuration.

use longshore_engine::{Config, Durability, OptionSetting, WalSize};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString};

use crate::errors;

/// The options of `keywords`: those that are None are left out.
pub(crate) fn options(keywords: &Bound<'_, PyDict>) -> PyResult<Vec<(String, OptionSetting)>> {
    let mut options = Vec::with_capacity(keywords.len());
    for (name, value) in keywords {
        let name: String = name.extract()?;
        if !value.is_none() {
            options.push((name.clone(), setting(&name, &value)?));
        }
    }
    Ok(options)
}

fn setting(name: &str, value: &Bound<'_, PyAny>) -> PyResult<OptionSetting> {
    if value.is_instance_of::<PyBool>() {
        return Ok(OptionSetting::Flag(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(OptionSetting::Number(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(OptionSetting::Text(value.extract()?));
    }
    if let Ok(columns) = value.cast::<PyDict>() {
        let columns = columns.iter().map(|(column, value)| Ok((column.extract()?, setting(name, &value)?)));
        return Ok(OptionSetting::PerColumn(columns.collect::<PyResult<_>>()?));
    }
    if let Ok(texts) = value.extract::<Vec<String>>() {
        return Ok(OptionSetting::Texts(texts));
    }
    let class = value.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "{name} takes a str, an int, a bool, a list of str or a dict by column, not a {class}"
    )))
}

/// How a database is opened, and what of `keywords` is no part of that: settings of its sessions.
pub(crate) struct Opening {
    pub(crate) config: Config,
    pub(crate) durability: Durability,
    pub(crate) settings: Vec<(String, String)>,
}

impl Opening {
    pub(crate) fn of(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut made = Self { config: Config::default(), durability: Durability::default(), settings: Vec::new() };
        for (name, value) in keywords.into_iter().flatten() {
            let name: String = name.extract()?;
            made.set(&name, &value)?;
        }
        Ok(made)
    }

    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let Self { config, durability, settings } = self;
        let written = || -> PyResult<String> {
            if value.is_instance_of::<PyBool>() {
                return Ok(value.extract::<bool>()?.to_string());
            }
            value.str()?.extract()
        };
        match name {
            "threads" => config.threads = whole(name, value)?,
            "memory_limit" if value.is_none() => config.memory_limit = None,
            "memory_limit" => config.memory_limit = Some(bytes(name, value)?),
            "superuser" => config.superuser = value.extract()?,
            "optimizer" => config.optimizer = flag(name, value)?,
            "autovacuum" => config.autovacuum = flag(name, value)?,
            "autovacuum_naptime" => config.autovacuum_naptime = read(name, value, &written()?)?,
            "read_only" => durability.read_only = flag(name, value)?,
            "max_wal_size" => durability.max_wal_size = bytes(name, value)? as u64,
            "checkpoint_timeout" => durability.checkpoint_timeout = read(name, value, &written()?)?,
            "wal_writer_delay" => {
                let delay = Durability::parse_wal_writer_delay(&written()?);
                durability.wal_writer_delay = delay.map_err(|problem| refused(value.py(), name, &problem))?;
            }
            _ => settings.push((name.to_owned(), written()?)),
        }
        Ok(())
    }
}

fn flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value.extract().map_err(|_| PyTypeError::new_err(format!("{name} takes True or False")))
}

/// A number from 0.
pub(crate) fn whole(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    value.extract().map_err(|_| PyTypeError::new_err(format!("{name} takes a whole number that is not negative")))
}

/// Bytes: a number of them, or a text such as '4GB'.
pub(crate) fn bytes(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    if let Ok(bytes) = value.extract::<usize>() {
        return Ok(bytes);
    }
    let Ok(text) = value.extract::<String>() else {
        return Err(PyTypeError::new_err(format!("{name} takes a whole number of bytes, or a text such as '4GB'")));
    };
    let size: WalSize = read(name, value, &text)?;
    Ok(size.bytes() as usize)
}

fn read<T: std::str::FromStr<Err = String>>(name: &str, value: &Bound<'_, PyAny>, text: &str) -> PyResult<T> {
    text.parse().map_err(|problem: String| refused(value.py(), name, &problem))
}

fn refused(py: Python<'_>, name: &str, problem: &str) -> PyErr {
    errors::own(py, "22023", &format!("{name}: {problem}"))
}
