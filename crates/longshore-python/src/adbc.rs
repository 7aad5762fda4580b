//! A driver of ADBC (Arrow Database Connectivity): the functions by which its managers use a database of this process.
//!
//! The shared library of the package is the driver: it exports `AdbcDriverInit`, which a manager that runs in the same interpreter
//! finds by the library's path (`longshore.adbc`). Nothing of Python is needed from there on. Statements begin a
//! transaction unless they commit by themselves, parameters are rows of Arrow, and rows go into tables by COPY.
//!
//! Not here: partitions of results, Substrait, statistics. A manager answers that they are not implemented.

mod abi;
mod handles;
mod problem;
mod session;
mod texts;

mod bound;
mod info;
mod objects;
mod statement;

mod functions;
