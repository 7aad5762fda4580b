//! Decides what each of the eight tables holds: its name, its size, and its rows as text.
//!
//! Not here: files and threads (`generate`).

use std::fmt::Display;
use std::io::Write as _;

use tpchgen::csv::{CustomerCsv, LineItemCsv, NationCsv, OrderCsv, PartCsv, PartSuppCsv, RegionCsv, SupplierCsv};
use tpchgen::distribution::Distributions;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen::text::TextPool;

use super::TextFormat;

/// A table of TPC-H.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    /// 5 rows at every scale.
    Region,
    /// 25 rows at every scale.
    Nation,
    /// 10,000 rows times the scale.
    Supplier,
    /// 150,000 rows times the scale.
    Customer,
    /// 200,000 rows times the scale.
    Part,
    /// 800,000 rows times the scale.
    PartSupp,
    /// 1,500,000 rows times the scale.
    Orders,
    /// About 6,000,000 rows times the scale.
    LineItem,
}

/// Which share of a table to write, and how.
pub(super) struct Part<'a> {
    pub(super) format: TextFormat,
    pub(super) scale: f64,
    /// From 1.
    pub(super) number: i32,
    pub(super) count: i32,
    pub(super) pool: &'a TextPool,
}

/// Writes the rows of `$generator` for `$part` as its format asks.
macro_rules! write_rows {
    ($part:expr, $out:expr, $generator:ident, $csv:ident, pool) => {
        write_rows!(@ $part, $out, $csv, $generator::new_with_text_pool(
            $part.scale, $part.number, $part.count, $part.pool))
    };
    ($part:expr, $out:expr, $generator:ident, $csv:ident, fixed) => {
        write_rows!(@ $part, $out, $csv, $generator::new_with_distributions_and_text_pool(
            Distributions::static_default(), $part.pool))
    };
    ($part:expr, $out:expr, $generator:ident, $csv:ident) => {
        write_rows!(@ $part, $out, $csv, $generator::new_with_distributions_and_text_pool(
            $part.scale, $part.number, $part.count, Distributions::static_default(), $part.pool))
    };
    (@ $part:expr, $out:expr, $csv:ident, $generator:expr) => {
        match $part.format {
            TextFormat::Tbl => write_lines($generator.iter(), $out),
            TextFormat::Csv => write_lines($generator.iter().map($csv::new), $out),
        }
    };
}

impl Table {
    /// All of them, small ones first; the order in which files are made and loaded.
    pub(crate) const ALL: [Self; 8] = [
        Self::Region,
        Self::Nation,
        Self::Supplier,
        Self::Customer,
        Self::Part,
        Self::PartSupp,
        Self::Orders,
        Self::LineItem,
    ];

    /// Its SQL name, also the stem of its file name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Region => "region",
            Self::Nation => "nation",
            Self::Supplier => "supplier",
            Self::Customer => "customer",
            Self::Part => "part",
            Self::PartSupp => "partsupp",
            Self::Orders => "orders",
            Self::LineItem => "lineitem",
        }
    }

    /// How many rows of the generator's unit there are: a lineitem part is cut by orders, a partsupp part by parts.
    pub(crate) fn source_rows(self, scale: f64) -> u64 {
        let rows = |base: i32| (f64::from(base) * scale) as u64;
        match self {
            Self::Region | Self::Nation => 1,
            Self::Supplier => rows(10_000),
            Self::Customer => rows(150_000),
            Self::Part | Self::PartSupp => rows(200_000),
            Self::Orders | Self::LineItem => rows(OrderGenerator::SCALE_BASE),
        }
    }

    /// About how many bytes of `.tbl` text there are.
    pub(crate) fn bytes_estimate(self, scale: f64) -> u64 {
        // The lengths of dbgen's files at scale factor 1.
        let at_one = match self {
            Self::Region => return 389,
            Self::Nation => return 2_224,
            Self::Supplier => 1_409_184.0,
            Self::Customer => 24_346_144.0,
            Self::Part => 24_135_125.0,
            Self::PartSupp => 118_984_616.0,
            Self::Orders => 171_952_161.0,
            Self::LineItem => 759_863_287.0,
        };
        (at_one * scale) as u64
    }

    /// The key of the last row of a complete file, which tells the scale factor.
    pub(crate) fn last_key(self, scale: f64) -> u64 {
        match self {
            Self::Region => 4,
            Self::Nation => 24,
            Self::Orders | Self::LineItem => OrderGenerator::make_order_key(self.source_rows(scale) as i64) as u64,
            _ => self.source_rows(scale),
        }
    }

    /// The header line of its CSV file, without a line end.
    pub(super) fn csv_header(self) -> &'static str {
        match self {
            Self::Region => RegionCsv::header(),
            Self::Nation => NationCsv::header(),
            Self::Supplier => SupplierCsv::header(),
            Self::Customer => CustomerCsv::header(),
            Self::Part => PartCsv::header(),
            Self::PartSupp => PartSuppCsv::header(),
            Self::Orders => OrderCsv::header(),
            Self::LineItem => LineItemCsv::header(),
        }
    }

    /// Appends the rows of one part to `out`; returns their number.
    pub(super) fn write_part(self, part: &Part<'_>, out: &mut Vec<u8>) -> u64 {
        match self {
            Self::Region => write_rows!(part, out, RegionGenerator, RegionCsv, fixed),
            Self::Nation => write_rows!(part, out, NationGenerator, NationCsv, fixed),
            Self::Supplier => write_rows!(part, out, SupplierGenerator, SupplierCsv),
            Self::Customer => write_rows!(part, out, CustomerGenerator, CustomerCsv),
            Self::Part => write_rows!(part, out, PartGenerator, PartCsv),
            Self::PartSupp => write_rows!(part, out, PartSuppGenerator, PartSuppCsv, pool),
            Self::Orders => write_rows!(part, out, OrderGenerator, OrderCsv),
            Self::LineItem => write_rows!(part, out, LineItemGenerator, LineItemCsv),
        }
    }
}

fn write_lines<R: Display>(rows: impl Iterator<Item = R>, out: &mut Vec<u8>) -> u64 {
    let mut count = 0;
    for row in rows {
        writeln!(out, "{row}").expect("writing to memory cannot fail");
        count += 1;
    }
    count
}
