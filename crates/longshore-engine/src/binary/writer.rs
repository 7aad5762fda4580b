//! Rows in COPY's binary format.

use arrow_array::RecordBatch;
use longshore_load::{LoadError, RowWriter};

use super::SIGNATURE;
use super::encode::Binaries;
use crate::TypeId;

/// Writes rows whose columns have these types.
#[derive(Debug)]
pub(crate) struct BinaryWriter(pub(crate) std::sync::Arc<[TypeId]>);

impl RowWriter for BinaryWriter {
    fn begin(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(SIGNATURE);
        // Neither flags nor an extension.
        out.extend_from_slice(&[0; 8]);
    }

    fn write(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), LoadError> {
        let columns = batch.columns().iter().zip(self.0.iter()).map(|(array, id)| {
            let binaries = Binaries::of_type(array, id);
            binaries
                .map(|binaries| (array, binaries))
                .ok_or_else(|| LoadError::Query(format!("values of type {} have no binary format", array.data_type())))
        });
        let columns: Vec<_> = columns.collect::<Result<_, _>>()?;
        let count = i16::try_from(columns.len())
            .map_err(|_| LoadError::Query("a row has more columns than the binary format has room for".to_owned()))?;
        for row in 0..batch.num_rows() {
            out.extend_from_slice(&count.to_be_bytes());
            for (array, binaries) in &columns {
                binaries.write_field(array, row, out);
            }
        }
        Ok(())
    }

    fn end(&self) -> &'static [u8] {
        &[0xFF, 0xFF]
    }
}
