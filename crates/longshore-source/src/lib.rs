//! Finds and opens texts: patterns of paths, folders, compressed, encoded and remote files.
//!
//! What comes out is a [`longshore_load::Source`] per file. Not here: records, fields, types.
