//! Order-independent checksum of a snapshot.
