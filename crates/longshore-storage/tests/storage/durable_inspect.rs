//! Directories that are looked at, not opened: what is sound of one that is damaged comes back, and its log is described.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use longshore_simdisk::SimDisk;
use longshore_storage::data_directory::{DataDirectory, LogEnd, LogEntry, Salvaged};
use longshore_storage::disk::{Disk, OpenMode};
use longshore_storage::log::Lsn;
use longshore_storage::{Described, Memory, RelationId, Transactions};
use longshore_testing::{Random, share};

use crate::durable_support::{PATH, State, World, check_state, dyn_disk, emptied};
use crate::redo_support::rows_by_id;

/// A database at work that was left as it was, and what is durable of it.
fn left(seed: u64, steps: usize) -> (SimDisk, State) {
    let (mut world, disk) = (World::new(seed), SimDisk::new(seed));
    world.append_rows = 60;
    let mut open = world.open(&disk).unwrap();
    for _ in 0..steps {
        world.step(&mut open).unwrap();
    }
    open.directory.log().wait(open.directory.log().end()).unwrap();
    drop(open);
    (disk, emptied(world.states.last().unwrap()))
}

fn salvage(disk: &SimDisk) -> Salvaged {
    let (memory, transactions) = (Memory::new(None), Transactions::new());
    DataDirectory::salvage(&dyn_disk(disk), Path::new(PATH), &memory, &transactions, 2).unwrap()
}

/// Files of a folder of the database.
fn files(disk: &SimDisk, folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(PATH).join(folder);
    disk.list(&folder).unwrap().iter().map(|name| folder.join(name)).collect()
}

/// Flips a bit of a file; does so again to have it back.
fn flip(disk: &SimDisk, path: &Path, at: u64) {
    let file = disk.open(path, OpenMode::Write).unwrap();
    let mut byte = [0];
    file.read_at(&mut byte, at).unwrap();
    file.write_at(&[byte[0] ^ 4], at).unwrap();
}

/// That what came back is what there was, but for rows whose chunks are missing.
fn check_salvaged(salvaged: &Salvaged, state: &State) {
    for (id, expected) in state {
        let (schema, rows, _) = &**expected;
        let relation = &salvaged.recovered.relations[id];
        assert_eq!(relation.schema(), schema);
        let found = rows_by_id(&relation.snapshot());
        let places = salvaged.lost.get(id);
        for (row, cells) in &found {
            assert_eq!(rows.get(row), Some(cells), "{id}, row {row}: nothing that was not there");
        }
        let missing = rows.keys().filter(|row| !found.contains_key(row));
        for row in missing {
            let is_lost = places.is_some_and(|places| places.contains(&(row.chunk() as u32)));
            assert!(is_lost, "{id}, row {row}: nothing is missing that is not said to be");
        }
    }
}

#[test]
fn what_is_sound_comes_back() {
    let (mut found, mut lost) = (0, 0);
    for seed in 0..share(12) as u64 {
        let (disk, state) = left(seed, 60);
        let whole = salvage(&disk);
        assert!(whole.damage.is_empty() && whole.lost.is_empty() && !whole.is_stale, "{:?}", whole.damage);
        check_state(&whole.recovered.relations, &state);
        let mut random = Random::new(seed);
        for path in files(&disk, "blocks") {
            let bytes = disk.open(&path, OpenMode::Read).unwrap().length().unwrap();
            for _ in 0..12 {
                let at = random.below(bytes as usize) as u64;
                flip(&disk, &path, at);
                let salvaged = salvage(&disk);
                check_salvaged(&salvaged, &state);
                found += salvaged.damage.len();
                lost += salvaged.lost.len();
                let shown = path.to_str().unwrap();
                assert!(salvaged.damage.iter().all(|error| error.to_string().contains(shown)), "{:?}", salvaged.damage);
                assert!(salvaged.lost.is_empty() || !salvaged.damage.is_empty());
                flip(&disk, &path, at);
            }
            disk.rename(&path, &path.with_extension("away")).unwrap();
            check_salvaged(&salvage(&disk), &state);
            disk.rename(&path.with_extension("away"), &path).unwrap();
        }
        check_state(&salvage(&disk).recovered.relations, &state);
    }
    assert!(found > 20 && lost > 10, "{found} found, {lost} lost");
}

/// What is in a log, from a position on: where records begin, and the lines of each.
fn dump(disk: &SimDisk, from: Option<Lsn>) -> (BTreeMap<Lsn, Vec<String>>, LogEnd) {
    let mut records: BTreeMap<Lsn, Vec<String>> = BTreeMap::new();
    let end = DataDirectory::dump_log(&dyn_disk(disk), Path::new(PATH), from, &mut |entry| match entry {
        LogEntry::Checkpoint(_) => {}
        LogEntry::Record { start, .. } => drop(records.insert(start, Vec::new())),
        LogEntry::Part(Described::Line(line)) => records.last_entry().unwrap().get_mut().push(line.to_owned()),
        LogEntry::Part(Described::Payload(payload)) => {
            records.last_entry().unwrap().get_mut().push(format!("payload {payload:?}"));
        }
        LogEntry::Unread(problem) => panic!("{problem}"),
        LogEntry::OtherVersion(version) => panic!("version {version}"),
    });
    (records, end.unwrap())
}

#[test]
fn logs_are_described() {
    let mut all = String::new();
    for seed in 0..20 {
        let (disk, _) = left(seed, 40);
        let (records, end) = dump(&disk, None);
        assert!(matches!(end, LogEnd::Clean(_) | LogEnd::Torn { .. }), "{end:?}");
        // Each transaction has said its number.
        assert!(records.values().all(|lines| lines.iter().any(|line| line.starts_with("payload"))));
        let Some((&from, _)) = records.iter().nth(records.len() / 2) else { continue };
        let (later, _) = dump(&disk, Some(from));
        assert!(later.iter().eq(records.range(from..)), "a part of it says the same");
        for line in records.values().flatten() {
            all += line;
            all.push('\n');
        }
    }
    for part in [
        "joins: t (id BIGINT",
        "): insert row ",
        ": update row ",
        ": delete row ",
        ": delete rows ",
        " goes\n",
        " is altered: t (",
        " (new)",
    ] {
        assert!(all.contains(part), "{part}");
    }
}

#[test]
fn a_damaged_log_is_described_up_to_there() {
    let (disk, _) = left(1, 60);
    let (records, _) = dump(&disk, None);
    let path = files(&disk, "log").into_iter().find(|path| path.extension().is_some_and(|end| end == "log")).unwrap();
    // The header of the first frame.
    flip(&disk, &path, 41);
    let (found, end) = dump(&disk, None);
    match end {
        LogEnd::Damaged(error) => {
            let error = error.to_string();
            assert!(error.starts_with(&format!("{}: offset 40", path.display())), "{error}");
        }
        other => panic!("{other:?} behind {} of {} records", found.len(), records.len()),
    }
    assert!(found.is_empty());
    let salvaged = salvage(&disk);
    assert!(salvaged.recovered.relations.keys().all(|id| *id >= RelationId(1)));
}
