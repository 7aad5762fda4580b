//! tokio-postgres: see `tests`.
