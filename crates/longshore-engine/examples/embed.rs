//! Opens a database, loads a file and reads the rows of a query.

use std::error::Error;

use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;
use futures::TryStreamExt as _;
use longshore_engine::{Config, Database, Outcome};

fn main() -> Result<(), Box<dyn Error>> {
    tokio::runtime::Runtime::new()?.block_on(run())
}

pub(crate) async fn run() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("sales.csv");
    std::fs::write(&file, "id,customer,price\n1,Anna,12.50\n2,Ben,3\n3,Anna,7.25\n")?;

    let database = Database::open(Config { memory_limit: Some(1 << 30), ..Config::default() })?;
    let mut session = database.session();
    session.execute("CREATE TABLE sales (id INTEGER PRIMARY KEY, customer TEXT, price DECIMAL(10,2))").await?;

    let load = format!("COPY sales FROM '{}' (HEADER true)", file.display());
    if let Outcome::Done { tag, report, .. } = session.execute(&load).await? {
        assert_eq!((tag.as_str(), report.rows), ("COPY 3", 3));
    }

    // The rows come in batches of Arrow columns, and are made while they are read.
    let query = "SELECT customer, count(*) AS sales FROM sales GROUP BY customer ORDER BY customer";
    let Outcome::Rows(mut rows) = session.execute(query).await? else {
        return Err("a query returns rows".into());
    };
    let mut found = Vec::new();
    while let Some(batch) = rows.try_next().await? {
        let customers = batch.column(0).as_string_view();
        let sales = batch.column(1).as_primitive::<Int64Type>();
        for row in 0..batch.num_rows() {
            found.push((customers.value(row).to_owned(), sales.value(row)));
        }
    }
    assert_eq!(found, [("Anna".to_owned(), 2), ("Ben".to_owned(), 1)]);

    // An error has a message for people and a code for programs.
    let Err(error) = session.execute("INSERT INTO sales VALUES (1, 'Cleo', 5)").await else {
        return Err("the key is there already".into());
    };
    assert_eq!(error.kind().sqlstate(), "23505");
    println!("{error}");
    Ok(())
}
