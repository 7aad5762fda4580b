//! What kind of file a statement names: text, Parquet, Arrow.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::Error;
use crate::sql::options::Format;

/// Bytes that tell what a file is.
pub(crate) const HEAD_BYTES: u64 = 8;

/// What the first bytes of a file tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Text,
    Parquet,
    /// Arrow's file format, with an index at its end.
    Arrow,
    /// Arrow's stream format.
    ArrowStream,
    /// The binary format of PostgreSQL's COPY.
    Binary,
}

impl FileKind {
    /// What the file `path` is. What is not a regular file is taken for text, since it can be read only once.
    pub(crate) fn of(path: &Path) -> Result<Self, Error> {
        let failed = |error| Error::io("open", path, &error);
        if !path.metadata().map_err(failed)?.is_file() {
            return Ok(Self::Text);
        }
        let mut head = Vec::new();
        File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head)).map_err(failed)?;
        Ok(Self::of_head(&head))
    }

    pub(crate) fn of_head(head: &[u8]) -> Self {
        match head {
            [b'P', b'A', b'R', b'1' | b'E', ..] => Self::Parquet,
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Self::Arrow,
            [0xFF, 0xFF, 0xFF, 0xFF, ..] => Self::ArrowStream,
            b"PGCOPY\n\xFF" => Self::Binary,
            _ => Self::Text,
        }
    }

    /// What it is, in words.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Parquet => "a Parquet file",
            Self::Arrow => "an Arrow file",
            Self::ArrowStream => "an Arrow stream",
            Self::Binary => "PostgreSQL's binary format",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Parquet => "Parquet",
            Self::Arrow | Self::ArrowStream => "Arrow",
            Self::Binary => "binary",
        }
    }

    /// Refuses what `name` is where another `format` was asked for.
    pub(crate) fn check(self, format: Option<Format>, name: &str) -> Result<(), Error> {
        let wanted = match format {
            None => return Ok(()),
            Some(Format::Native) => {
                return Err(Error::unsupported(
                    "COPY with FORMAT native is not supported yet; use IMPORT DATABASE, or FORMAT csv",
                ));
            }
            Some(text) if text.is_text() => self == Self::Text,
            Some(Format::Parquet) => self == Self::Parquet,
            Some(Format::Binary) => self == Self::Binary,
            Some(_) => matches!(self, Self::Arrow | Self::ArrowStream),
        };
        if wanted {
            return Ok(());
        }
        let format = format.map_or("csv", Format::name);
        Err(Error::invalid(format!(
            "{name}: FORMAT {format} was given, but this is {}; leave FORMAT out, or name the format that it has",
            self.described()
        )))
    }
}
