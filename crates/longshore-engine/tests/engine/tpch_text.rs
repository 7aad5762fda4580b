//! The eight tables of TPC-H as text, by the generator that `longshore generate tpch` is built on.

use std::fmt::{Display, Write as _};

use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

/// Name and text of each table.
pub(crate) fn tables(scale: f64) -> [(&'static str, String); 8] {
    [
        ("region", lines(RegionGenerator::new(scale, 1, 1).iter())),
        ("nation", lines(NationGenerator::new(scale, 1, 1).iter())),
        ("supplier", lines(SupplierGenerator::new(scale, 1, 1).iter())),
        ("customer", lines(CustomerGenerator::new(scale, 1, 1).iter())),
        ("part", lines(PartGenerator::new(scale, 1, 1).iter())),
        ("partsupp", lines(PartSuppGenerator::new(scale, 1, 1).iter())),
        ("orders", lines(OrderGenerator::new(scale, 1, 1).iter())),
        ("lineitem", lines(LineItemGenerator::new(scale, 1, 1).iter())),
    ]
}

fn lines<R: Display>(rows: impl Iterator<Item = R>) -> String {
    rows.fold(String::new(), |mut text, row| {
        writeln!(text, "{row}").expect("a string takes any text");
        text
    })
}
