//! Inference on many machines: the same columns and rows on all of them, with and without keeping the rows.

use std::path::Path;

use longshore_format::sniff::Given;
use longshore_load::{Control, InferRequest, Inferred, InputFile, LoadError, Source, Tuning, infer, load_inferred};
use longshore_storage::{Memory, Storage};
use tempfile::NamedTempFile;

use super::{Machine, comma, dump, machines};

pub fn file(text: &[u8]) -> NamedTempFile {
    let file = NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), text).expect("written");
    file
}

pub fn request(tuning: &Tuning) -> InferRequest {
    InferRequest {
        given: Given::default(),
        types: Vec::new(),
        spelled: Vec::new(),
        defaults: Vec::new(),
        extra: Vec::new(),
        by_name: false,
        repairs: true,
        options: comma(),
        tuning: tuning.clone(),
        memory: Memory::new(None),
        storage: Storage::default(),
        found: std::sync::Arc::default(),
    }
}

pub fn input(path: &Path, stream: bool) -> InputFile {
    let path = path.to_owned();
    let open = move || if stream { Source::open_unmapped(&path) } else { Source::open(&path) };
    InputFile::new("FILE", open, &[])
}

/// `name TYPE` of every column.
pub fn columns(inferred: &Inferred) -> String {
    let column = |column: &longshore_load::InferredColumn| format!("{} {}", column.name, column.column_type);
    inferred.columns.iter().map(column).collect::<Vec<_>>().join(", ")
}

/// Columns and rows on one machine; that both ways of inference agree is checked.
pub fn on(machine: &Machine, path: &Path) -> Result<(String, String), String> {
    on_request(machine, path, &request(&machine.tuning))
}

/// The same for a request, whatever its tuning is.
pub fn on_request(machine: &Machine, path: &Path, request: &InferRequest) -> Result<(String, String), String> {
    let mut request = InferRequest { tuning: machine.tuning.clone(), ..request.clone() };
    request.options.mode = machine.mode;
    let inputs = || vec![input(path, machine.stream)];
    let loaded = load_inferred(inputs(), &request, &Control::new());
    let inferred = infer(inputs(), &request, &Control::new());
    let message = |error: LoadError| error.to_string().replace(&path.display().to_string(), "FILE");
    match (loaded, inferred) {
        (Ok((relation, loaded, report)), Ok(inferred)) => {
            assert_eq!(columns(&loaded), columns(&inferred), "{machine:?}");
            assert_eq!((loaded.rows, report.rows), (inferred.rows, inferred.rows), "{machine:?}");
            let bytes = std::fs::metadata(path).expect("the file").len();
            let end = loaded.footers.first().map_or(bytes, |footer| footer.byte);
            assert_eq!(report.bytes, end, "what is read twice counts once, {machine:?}");
            Ok((columns(&loaded), dump(&relation)))
        }
        (Err(error), _) => Err(message(error)),
        (Ok(_), Err(error)) => panic!("infer fails where a load does not: {error}"),
    }
}

/// Checks columns and rows on all machines.
pub fn infers(text: &str, expected_columns: &str, expected_rows: &str) {
    infers_given(Given::default(), text, expected_columns, expected_rows);
}

/// The same where something is given.
pub fn infers_given(given: Given, text: &str, expected_columns: &str, expected_rows: &str) {
    let file = file(text.as_bytes());
    let request = InferRequest { given, ..request(&Tuning::new(1)) };
    for machine in machines() {
        let found = on_request(&machine, file.path(), &request);
        let (columns, rows) = found.unwrap_or_else(|error| panic!("{machine:?}: {error}"));
        assert_eq!(columns, expected_columns, "{machine:?}");
        assert_eq!(rows, expected_rows, "{machine:?}");
    }
}
