//! The new product catalog that is loaded beside transactions (*Instant Loading*, 5.5): items, and stock of each for
//! every warehouse, as CSV.

use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use super::populate::{data, text};
use super::sizes::{DISTRICTS, Sizes};
use crate::Failure;
use crate::workload::random::Random;

/// Seed of the catalog.
const SEED: u64 = 0x6361_7461;

/// The files.
pub(super) struct Catalog {
    pub(super) item: PathBuf,
    pub(super) stock: PathBuf,
    /// Items of the catalog; their numbers follow those that there are.
    pub(super) items: i32,
}

impl Catalog {
    /// The catalog of so many items for a database of these sizes, generated if it is not there.
    ///
    /// # Errors
    ///
    /// When the files cannot be written.
    pub(super) fn new(folder: &Path, sizes: Sizes, items: i32) -> Result<Catalog, Failure> {
        let name = format!("{}x{items}-from-{}", sizes.warehouses, sizes.items);
        let item = folder.join(format!("tpcc-item-{name}.csv"));
        let stock = folder.join(format!("tpcc-stock-{name}.csv"));
        let numbers = sizes.items + 1..=sizes.items + items;
        let mut random = Random::new(SEED);
        write(&item, |file| {
            for id in numbers.clone() {
                let (image, price) = (random.id(1..=10_000), random.within(100..=10_000));
                let (name, data) = (text(14, 24, &mut random), data(&mut random));
                writeln!(file, "{id}|{image}|{name}|{}.{:02}|{data}", price / 100, price % 100)?;
            }
            Ok(())
        })?;
        write(&stock, |file| {
            for warehouse in 1..=sizes.warehouses {
                for id in numbers.clone() {
                    write!(file, "{id}|{warehouse}|{}", random.id(10..=100))?;
                    for _ in 0..DISTRICTS {
                        write!(file, "|{}", text(24, 24, &mut random))?;
                    }
                    writeln!(file, "|0|0|0|{}", data(&mut random))?;
                }
            }
            Ok(())
        })?;
        Ok(Catalog { item, stock, items })
    }

    /// Bytes of both files.
    ///
    /// # Errors
    ///
    /// When they are gone.
    pub(super) fn bytes(&self) -> Result<u64, Failure> {
        Ok(fs::metadata(&self.item)?.len() + fs::metadata(&self.stock)?.len())
    }
}

/// Writes a file if it is not there, under another name until it is complete.
fn write(path: &Path, lines: impl FnOnce(&mut BufWriter<fs::File>) -> Result<(), Failure>) -> Result<(), Failure> {
    if path.exists() {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let unfinished = path.with_extension("unfinished");
    let mut file = BufWriter::new(fs::File::create(&unfinished)?);
    lines(&mut file)?;
    file.into_inner()?.sync_all()?;
    fs::rename(unfinished, path)?;
    Ok(())
}
