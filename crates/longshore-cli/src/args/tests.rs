//! What command lines mean, and which are refused.

use std::time::Duration;

use super::*;

fn read(line: &[&str]) -> Result<Invocation, clap::Error> {
    let matches = Args::command().try_get_matches_from(std::iter::once(&"longshore").chain(line))?;
    from_matches(&matches)
}

#[test]
fn the_definition_is_sound() {
    Args::command().debug_assert();
}

#[test]
fn steps_keep_their_order() {
    let invocation =
        read(&["-c", "a", "-f", "b", "--threads", "3", "-c", "c", "-f", "-"]).expect("a valid command line");
    assert_eq!(invocation.config.threads, 3);
    let Action::Run(options) = invocation.action else {
        panic!("not a run");
    };
    assert_eq!(
        options.steps,
        [
            Step::Sql(String::from("a")),
            Step::File(PathBuf::from("b")),
            Step::Sql(String::from("c")),
            Step::File(PathBuf::from("-")),
        ]
    );
}

#[test]
fn global_options_stand_anywhere() {
    for line in [&["--threads", "2", "demo", "--scale", "0.1"][..], &["demo", "--scale", "0.1", "--threads", "2"]] {
        let invocation = read(line).expect("a valid command line");
        assert_eq!(invocation.config.threads, 2);
        assert!(matches!(invocation.action, Action::Demo(demo) if demo.scale > 0.09));
    }
}

#[test]
fn tables_are_packed_again_as_the_options_say() {
    let config = |line: &[&str]| read(line).expect("a valid command line").config;
    let usual = config(&[]);
    assert_eq!((usual.autovacuum, usual.autovacuum_naptime), (true, Naptime::DEFAULT));
    let other = config(&["--autovacuum-naptime", "5min", "--autovacuum", "off"]);
    assert_eq!((other.autovacuum, other.autovacuum_naptime.to_string()), (false, "5min".to_owned()));
}

#[test]
fn a_directory_is_no_subcommand() {
    let directory = |line: &[&str]| match read(line).expect("a valid command line").action {
        Action::Run(options) => (options.directory, options.durability.read_only),
        _ => panic!("not a run"),
    };
    assert_eq!(directory(&[]), (None, false));
    assert_eq!(directory(&["-c", "a", "shop"]), (Some(PathBuf::from("shop")), false));
    assert_eq!(directory(&["./demo", "--read-only"]), (Some(PathBuf::from("./demo")), true));
}

#[test]
fn a_directory_is_kept_as_the_options_say() {
    let durability = |line: &[&str]| match read(line).expect("a valid command line").action {
        Action::Run(options) => options.durability,
        _ => panic!("not a run"),
    };
    let usual = durability(&["shop"]);
    assert_eq!((usual.max_wal_size, usual.wal_writer_delay), (1 << 30, Duration::from_millis(200)));
    let line = ["--max-wal-size", "256MB", "shop", "--checkpoint-timeout", "30s", "--wal-writer-delay", "50"];
    let other = durability(&line);
    assert_eq!((other.max_wal_size, other.wal_writer_delay), (256 << 20, Duration::from_millis(50)));
    assert_eq!(other.checkpoint_timeout.to_string(), "30s");
}

#[test]
fn mistakes_are_refused() {
    for line in [
        &["--read-only", "-c", "SELECT 1"][..],
        &["--max-wal-size", "1GB", "-c", "SELECT 1"],
        &["--checkpoint-timeout", "1min"],
        &["--wal-writer-delay", "50ms"],
        &["shop", "--read-only", "--max-wal-size", "1GB"],
        &["shop", "--max-wal-size", "1MB"],
        &["shop", "--max-wal-size", "much"],
        &["shop", "--checkpoint-timeout", "soon"],
        &["shop", "--wal-writer-delay", "1min"],
        &["shop", "--skip-damaged"],
        &["check"],
        &["log"],
        &["shop", "log", "shop"],
        &["shop", "demo"],
        &["shop", "other"],
        &["--threads", "0"],
        &["--memory-limit", "lots"],
        &["--autovacuum", "maybe"],
        &["--autovacuum-naptime", "soon"],
        &["--autovacuum-naptime", "0s"],
        &["-c", "SELECT 1", "demo"],
        &["generate", "tpch", "--scale", "0", "--out", "x"],
        &["generate", "tpch"],
        &["--format", "xml"],
    ] {
        assert!(read(line).is_err(), "{line:?}");
    }
}

#[test]
fn kernels_are_named() {
    assert_eq!(kernel_from(None), Ok(None));
    assert_eq!(kernel_from(Some("portable".as_ref())), Ok(Some(Kernel::Portable)));
    let message = kernel_from(Some("mmx".as_ref())).expect_err("not a kernel");
    assert!(message.contains("portable"), "{message}");
}
