//! The native file format (the unload of the paper): columnar, compressed, checksummed.
