//! What is done to the tables beside the sessions, and must not change what statements answer.

use longshore_engine::ErrorKind;
use longshore_testing::Random;

use super::super::run;
use super::World;

/// A random one of them, outside of all histories. It may find others in its way.
pub(super) async fn one(world: &World, random: &mut Random) {
    let sql = match random.below(12) {
        0 | 1 => "CREATE INDEX IF NOT EXISTS log_k ON log (k)",
        2 | 3 => "DROP INDEX IF EXISTS log_k",
        4 => "CREATE INDEX IF NOT EXISTS acc_t ON acc (t, k)",
        5 => "DROP INDEX IF EXISTS acc_t",
        6 => "CREATE INDEX IF NOT EXISTS chi_c_p ON chi_c USING hash (p)",
        7 => "DROP INDEX IF EXISTS chi_c_p",
        8 => "ALTER TABLE log ADD COLUMN IF NOT EXISTS more int DEFAULT 5",
        9 => "ALTER TABLE log DROP COLUMN IF EXISTS more",
        10 => "ALTER TABLE par ADD COLUMN IF NOT EXISTS more int DEFAULT 5",
        _ => "ALTER TABLE par DROP COLUMN IF EXISTS more",
    };
    let mut session = world.database.session();
    if let Err(error) = run(&mut session, sql).await {
        assert!(matches!(error.kind(), ErrorKind::Conflict), "{sql}: {error}");
    }
}
