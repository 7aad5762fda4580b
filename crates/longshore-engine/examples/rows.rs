//! Reads a file into Arrow without a database, queries the rows, appends them to a table, and takes a result as programs take
//! it that know Arrow alone.

use std::error::Error;
use std::sync::Arc;

use arrow::array::{AsArray as _, RecordBatch};
use arrow::datatypes::{DataType, Decimal128Type};
use futures::TryStreamExt as _;
use longshore_engine::{
    Config, Control, Database, Datum, Outcome, TextRequest, copy_rows_text, decimal_columns, numbered, plain_rows,
    read_text,
};

fn main() -> Result<(), Box<dyn Error>> {
    tokio::runtime::Runtime::new()?.block_on(run())
}

pub(crate) async fn run() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("prices.csv");
    std::fs::write(&file, "item;price\nnuts;1,50\nbolts;12,25\nnuts;2\n")?;

    // The dialect and the types are found out: a decimal comma here. Reading blocks, so it has a thread of its own.
    let request = TextRequest { files: vec![file.display().to_string()], ..TextRequest::default() };
    let control = Arc::new(Control::new());
    let read = tokio::task::spawn_blocking(move || read_text(&request, &Config::default(), &control)).await??;
    assert_eq!(read.schema.field(1).data_type(), &DataType::Decimal128(18, 2));

    // In the queries of this session, `prices` is what was read. Nothing is copied but decimals.
    let database = Database::open(Config::default())?;
    let mut session = database.session();
    let batches = read.batches().collect::<Result<Vec<_>, _>>()?;
    session.register("prices", &read.schema, &batches)?;

    // `COPY ... FROM STDIN` reads the rows of a program, column by column of the same names, all of them or none.
    session.execute("CREATE TABLE sales (id INTEGER GENERATED ALWAYS AS IDENTITY, item TEXT, price NUMERIC)").await?;
    session.set_rows(&read.schema, batches.into_iter().map(Ok))?;
    session.execute(&copy_rows_text("sales", &["item".to_owned(), "price".to_owned()])).await?;

    // `?` and `$name` become `$1`, `$2`, in the order of the names.
    let query = numbered("SELECT item, avg(price) AS mean FROM sales WHERE price < $limit GROUP BY item ORDER BY item");
    assert_eq!(query.names, ["limit"]);
    let prepared = session.prepare(&query.sql)?;
    let Outcome::Rows(rows) = session.execute_prepared(&prepared, &[Datum::Text("20")]).await? else {
        return Err("a query returns rows".into());
    };

    // Averages are NUMERIC without a scale, a type that Arrow has not: once all rows are there, they are decimals.
    let rows = plain_rows(rows)?;
    let (schema, types) = (Arc::clone(rows.schema()), rows.types());
    let batches: Vec<RecordBatch> = rows.try_collect().await?;
    let (_, batches) = decimal_columns(&schema, &types, &batches)?;
    let means = batches[0].column(1).as_primitive::<Decimal128Type>();
    let shown: Vec<String> = (0..means.len()).map(|row| means.value_as_string(row)).collect();
    assert_eq!(shown, ["12.2500000000000000", "1.7500000000000000"]);
    println!("{}", shown.join(", "));
    Ok(())
}
