//! A stream whose first bytes decide what is done with it: decompression, then decoding.
//!
//! Everything happens at the first read, not when the stream is opened, so that a slow one keeps nobody waiting who
//! cannot be interrupted.

use std::io::{self, Read};
use std::sync::Arc;

use crate::budget::Budget;
use crate::byte_counter::ByteCounter;
use crate::container::{self, Container, HEAD_BYTES};
use crate::encoding::{self, Encoding, EncodingErrors};
use crate::options::{Compression, OpenOptions};

type Input = Box<dyn Read + Send>;

/// `input`, decompressed and as UTF-8; the bytes read from it count on `counter`.
pub(crate) fn text(input: Input, options: &OpenOptions, counter: Arc<ByteCounter>, budget: Budget) -> Input {
    let (first, second, inner) = (options.clone(), options.clone(), budget.clone());
    let plain = Staged::new(input, move |head, input| decompressed(&head, input, &first, counter, &inner));
    Box::new(Staged::new(Box::new(plain), move |head, input| decoded(&head, input, &second, &budget)))
}

/// What to do with a file that begins with `head`; `is_whole` says that this is all of it.
pub(crate) fn container_of(head: &Head, compression: Compression) -> io::Result<Option<Container>> {
    let refused = |problem: String| io::Error::new(io::ErrorKind::InvalidData, problem);
    match compression {
        Compression::None => Ok(None),
        Compression::Named(container) if head.bytes.is_empty() => {
            Err(refused(format!("the file is empty, which is no {} file", container.name())))
        }
        Compression::Named(container) => Ok(Some(container)),
        Compression::Auto => {
            let stump = container::stump(&head.bytes).filter(|_| head.is_whole);
            if let Some(container) = stump {
                let name = container.name();
                return Err(refused(format!("the file ends inside the signature of {name}: it is cut short")));
            }
            if let Some(found) = container::foreign(&head.bytes) {
                return Err(refused(format!(
                    "this is {found}, which cannot be read as text (set COMPRESSION 'none' if it is text)"
                )));
            }
            Ok(Container::of(&head.bytes))
        }
    }
}

fn decompressed(
    head: &Head,
    input: Input,
    options: &OpenOptions,
    counter: Arc<ByteCounter>,
    budget: &Budget,
) -> io::Result<Input> {
    let Some(container) = container_of(head, options.compression)? else {
        return Ok(Box::new(Counted { input, counter }));
    };
    let named = options.compression != Compression::Auto;
    Ok(Box::new(container.decompress(input, counter, budget, options.threads, named)?))
}

fn decoded(head: &Head, input: Input, options: &OpenOptions, budget: &Budget) -> io::Result<Input> {
    if options.compression == Compression::Auto
        && let Some(inner) = Container::of(&head.bytes)
    {
        let problem = format!("inside the compressed file is a {} file, not text; unpack it first", inner.name());
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    if let (Compression::Auto, Some(found)) = (options.compression, container::foreign(&head.bytes)) {
        let problem = format!("inside the compressed file is {found}, not text; unpack it first");
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    let encoding = Encoding::of(&head.bytes, options.encoding)?;
    if encoding == Encoding::UTF_8 && options.encoding_errors == EncodingErrors::Stop {
        return Ok(input);
    }
    encoding::decoded(input, encoding, options.encoding_errors, options.threads, budget)
}

/// The first bytes of a stream.
pub(crate) struct Head {
    pub(crate) bytes: Vec<u8>,
    /// Whether the stream has no more.
    pub(crate) is_whole: bool,
}

type Build = Box<dyn FnOnce(Head, Input) -> io::Result<Input> + Send>;

/// A stream that becomes another one when its first bytes are known.
enum Staged {
    Waiting { input: Option<Input>, head: Vec<u8>, build: Option<Build> },
    Ready(Input),
    Failed(io::ErrorKind, String),
}

impl Staged {
    fn new(input: Input, build: impl FnOnce(Head, Input) -> io::Result<Input> + Send + 'static) -> Self {
        Self::Waiting { input: Some(input), head: Vec::new(), build: Some(Box::new(build)) }
    }
}

impl Read for Staged {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self {
                Self::Ready(input) => return input.read(into),
                Self::Failed(kind, problem) => return Err(io::Error::new(*kind, problem.clone())),
                Self::Waiting { input, head, build } => {
                    let mut buffer = [0; HEAD_BYTES];
                    let source = input.as_mut().expect("taken only when ready");
                    let room = HEAD_BYTES - head.len();
                    let read = source.read(&mut buffer[..room])?;
                    head.extend_from_slice(&buffer[..read]);
                    if read > 0 && head.len() < HEAD_BYTES {
                        continue;
                    }
                    let bytes = std::mem::take(head);
                    let replay = io::Cursor::new(bytes.clone());
                    let input = input.take().expect("taken only here");
                    let build = build.take().expect("taken only here");
                    let built = build(Head { bytes, is_whole: read == 0 }, Box::new(replay.chain(input)));
                    *self = match built {
                        Ok(input) => Self::Ready(input),
                        Err(error) => Self::Failed(error.kind(), error.to_string()),
                    };
                }
            }
        }
    }
}

/// Counts what is read.
struct Counted {
    input: Input,
    counter: Arc<ByteCounter>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into)?;
        self.counter.add(read as u64);
        Ok(read)
    }
}
