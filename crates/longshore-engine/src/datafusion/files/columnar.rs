//! Parquet and Arrow files as tables of a query.
//!
//! A file is known by its first bytes, not by its name. `DataFusion` reads it: columns that are not asked for stay
//! unread, and row groups that a predicate rules out are skipped. Several files are one table if they have the same
//! columns. Not here: Parquet files of EXPORT DATABASE (`parquet`).

mod remote;

use std::fmt;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::ipc::reader::{FileReader, StreamReader};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result as Outcome;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::TableType;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::arrow::ArrowFormat;
use datafusion::datasource::file_format::parquet::{ParquetFormat, transform_schema_to_view};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use datafusion::physical_plan::ExecutionPlan;
use longshore_load::{SourceError, memory_pool};
use longshore_source::{FoundFile, Location, StoreOptions, StoredObject};
use longshore_storage::Memory;
use object_store::ObjectMeta;
use object_store::path::Path as StorePath;

use remote::Objects;

use crate::datafusion::errors::external;
use crate::text::FileKind;
use crate::{Error, ErrorKind};

/// Parquet or Arrow files that are one table.
pub(crate) struct Columnar {
    kind: FileKind,
    /// As they were named, and where they are.
    files: Vec<(String, ObjectMeta)>,
    schema: SchemaRef,
    /// The store that has them, if it is not this machine.
    objects: Option<Arc<Objects>>,
}

impl Columnar {
    /// Opens `found`, at least one, which are all of the same kind; `store` says how those elsewhere are asked for, and
    /// what is fetched of them counts against `memory`.
    pub(crate) fn open(found: &[FoundFile], store: &StoreOptions, memory: &Arc<Memory>) -> Result<Self, Error> {
        let mut files: Vec<(String, ObjectMeta)> = Vec::with_capacity(found.len());
        let mut objects = Vec::new();
        let mut first: Option<(FileKind, SchemaRef)> = None;
        for file in found {
            let name = file.location.to_string();
            let (kind, schema, meta) = match &file.location {
                Location::File(path) => {
                    let kind = FileKind::of(path)?;
                    (kind, schema(path, kind)?, meta(path)?)
                }
                Location::Remote(address) => {
                    let object = StoredObject::new(address, store);
                    let object =
                        object.map_err(|error| SourceError::Io { file: name.clone(), action: "open it", error })?;
                    let (kind, schema) = remote::schema(address, &object)?;
                    let object = object.counted(&memory_pool(memory));
                    let (location, size) = (Objects::place(objects.len()), object.bytes);
                    objects.push(object);
                    let last_modified = SystemTime::UNIX_EPOCH.into();
                    let meta = ObjectMeta { location, last_modified, size, e_tag: None, version: None };
                    (kind, schema, meta)
                }
                Location::Stdin => {
                    return Err(Error::invalid(format!(
                        "{name}: Parquet and Arrow files are read in any order; save it to a file first"
                    )));
                }
            };
            match &first {
                None => first = Some((kind, schema)),
                Some((other, _)) if *other != kind => {
                    return Err(Error::invalid(format!(
                        "{} is a {} file, but {} is a {} file; read them one kind at a time",
                        found[0].location,
                        other.name(),
                        name,
                        kind.name()
                    )));
                }
                Some((_, expected)) => check_same(&files[0].0, expected, &name, &schema)?,
            }
            files.push((name, meta));
        }
        if !objects.is_empty() && objects.len() < files.len() {
            return Err(Error::unsupported(format!(
                "{} and {} others: some are on this machine and some are not; read them apart, with UNION ALL",
                found[0].location,
                found.len() - 1
            )));
        }
        let objects = (!objects.is_empty()).then(|| Objects::new(objects));
        let (kind, schema) = first.ok_or_else(|| Error::internal("no file to open"))?;
        Ok(Self { kind, files, schema, objects })
    }

    /// The names of the columns.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.schema.fields().iter().map(|field| field.name().as_str())
    }

    /// The columns: name, type, and why it is that.
    pub(crate) fn described(&self) -> Vec<(String, String, String)> {
        let reason = format!("{} says so", self.kind.described());
        let columns = self.schema.fields().iter().map(|field| {
            let data_type = field.data_type();
            let shown = longshore_storage::ColumnType::from_arrow(data_type)
                .map_or_else(|| data_type.to_string(), |column_type| column_type.to_string());
            (field.name().clone(), shown, reason.clone())
        });
        columns.collect()
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, meta)| meta.size).sum()
    }

    /// The files as they were named.
    pub(crate) fn shown(&self) -> String {
        match self.files.as_slice() {
            [(only, _)] => only.clone(),
            [(first, _), ..] => format!("{first} and {} others", self.files.len() - 1),
            [] => String::new(),
        }
    }

    fn format(&self, state: &dyn Session) -> Arc<dyn FileFormat> {
        match self.kind {
            FileKind::Parquet => Arc::new(ParquetFormat::default().with_options(state.table_options().parquet.clone())),
            _ => Arc::new(ArrowFormat),
        }
    }
}

/// What the user calls a file of a plan.
struct Named(String);

/// The Parquet and Arrow files that `plan` reads, as they were named: in errors, which do not say in which file they are.
pub(in crate::datafusion) fn files_of(plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    let found = plan.apply(|node| {
        let source = node.downcast_ref::<DataSourceExec>().map(DataSourceExec::data_source);
        if let Some(config) = source.and_then(|source| source.downcast_ref::<FileScanConfig>()) {
            let files = config.file_groups.iter().flat_map(FileGroup::iter);
            for named in files.filter_map(|file| file.extension::<Named>()) {
                // A file may be read in several parts.
                if !names.contains(&named.0) {
                    names.push(named.0.clone());
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    });
    match (found, names.as_slice()) {
        (Err(_), _) | (_, []) => None,
        (Ok(_), [only]) => Some(only.clone()),
        (Ok(_), [first, others @ ..]) => Some(format!("{first} and {} others", others.len())),
    }
}

/// The columns of a file, strings as views, which is how we keep them.
fn schema(path: &Path, kind: FileKind) -> Result<SchemaRef, Error> {
    let file = File::open(path).map_err(|error| Error::io("open", path, &error))?;
    let damaged = |error: &dyn fmt::Display| {
        Error::in_file(ErrorKind::Damaged, path, format!("not a sound {} file: {error}", kind.name()))
    };
    match kind {
        FileKind::Text | FileKind::Binary => Err(neither(&path.display())),
        FileKind::Parquet => {
            let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(|e| damaged(&e))?;
            Ok(viewed(&metadata))
        }
        FileKind::Arrow => Ok(FileReader::try_new(file, None).map_err(|e| damaged(&e))?.schema()),
        FileKind::ArrowStream => Ok(StreamReader::try_new(file, None).map_err(|e| damaged(&e))?.schema()),
    }
}

fn neither(name: &dyn fmt::Display) -> Error {
    let message =
        format!("{name} is neither a Parquet nor an Arrow file; read it with FORMAT csv, or whatever its text is");
    Error::invalid(message)
}

fn viewed(metadata: &ArrowReaderMetadata) -> SchemaRef {
    Arc::new(transform_schema_to_view(metadata.schema()).with_metadata(std::collections::HashMap::default()))
}

fn meta(path: &Path) -> Result<ObjectMeta, Error> {
    let failed = |error| Error::io("open", path, &error);
    let metadata = path.metadata().map_err(failed)?;
    let absolute = std::path::absolute(path).map_err(failed)?;
    let location = StorePath::from_absolute_path(&absolute)
        .map_err(|error| Error::in_file(ErrorKind::Invalid, path, format!("not a path that can be read: {error}")))?;
    // By it `DataFusion` tells whether the footer that it has is of this version of the file. The time of the last change
    // of any kind cannot be set back.
    let seconds = u64::try_from(metadata.ctime()).unwrap_or(0);
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).unwrap_or(0);
    let last_modified = (SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds)).into();
    Ok(ObjectMeta { location, last_modified, size: metadata.len(), e_tag: None, version: None })
}

fn check_same(first: &str, expected: &Schema, path: &str, found: &Schema) -> Result<(), Error> {
    let columns = |schema: &Schema| {
        let fields = schema.fields().iter().map(|field| (field.name().clone(), field.data_type().clone()));
        fields.collect::<Vec<_>>()
    };
    let (expected, found) = (columns(expected), columns(found));
    if expected == found {
        return Ok(());
    }
    let shown = |columns: &[(String, _)]| columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    let differing = expected.iter().zip(&found).find(|(a, b)| a.0 == b.0 && a.1 != b.1);
    Err(Error::invalid(match differing {
        Some((a, b)) => {
            format!(
                "column {} is {} in {} and {} in {}; read the files one by one, with casts",
                a.0, a.1, first, b.1, path
            )
        }
        None => format!(
            "{} has the columns {}, but {} has {}; read the files one by one",
            first,
            shown(&expected),
            path,
            shown(&found)
        ),
    }))
}

impl fmt::Debug for Columnar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Columnar").field("files", &self.shown()).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for Columnar {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Outcome<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Outcome<Arc<dyn ExecutionPlan>> {
        let format = self.format(state);
        let source = format.file_source(TableSchema::from(Arc::clone(&self.schema)));
        let file = |(name, meta): &(String, ObjectMeta)| {
            PartitionedFile::new_from_meta(meta.clone()).with_extension(Named(name.clone()))
        };
        let mut files: Vec<_> = self.files.iter().map(file).collect();
        let store = match &self.objects {
            None => ObjectStoreUrl::parse("file://").map_err(|error| external(Error::internal(error.to_string())))?,
            Some(objects) => {
                let registered = Arc::new(objects.register(state.runtime_env())?);
                // Whoever has a file of the plan may read it.
                let keep = |file: PartitionedFile| file.with_extension(Arc::clone(&registered));
                files = files.into_iter().map(keep).collect();
                registered.url.clone()
            }
        };
        let config = FileScanConfigBuilder::new(store, source)
            .with_file_groups(vec![FileGroup::new(files)])
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        format.create_physical_plan(state, config).await
    }
}
