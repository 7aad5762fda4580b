//! Which statements make sense in Longshore, or will.

use std::collections::BTreeSet;

use regex::Regex;

/// How statements begin that are about what Longshore is not to have, or not as a part of its SQL.
const BEGINNINGS: &str = r"(?ix)^\s*(
    (create|alter|drop)\s+(or\s+replace\s+)?(constraint\s+|event\s+)?(function|procedure|routine|aggregate|trigger|rule|operator
        |cast|language|role|user|group|extension|publication|subscription|server|foreign|tablespace|database|access|policy
        |text\s+search|transform|conversion|statistics|collation|materialized|trusted|procedural)\b
    | create\s+type\s+\S+\s*(;|$|\(|as\s*\(|as\s+range)
    | alter\s+(default|large|system)\b
    | (grant|revoke|reassign|security|cluster|reindex|listen|notify|unlisten|do|call|load|declare|fetch|move|close|explain|refresh
        |import)\b
    | prepare\s+transaction | (commit|rollback)\s+prepared
    | set\s+(session\s+authorization|role|local\s+role)\b | reset\s+(session|role)
    | (create|alter)\s+.*\b(partition\s+(by|of)|inherits\s*\(|attach\s+partition|detach\s+partition|no\s+inherit|inherit\s)
    | create\s+(table|temp\s+table)\s+\S+\s+of\s
    | alter\s+table\s.*\s(enable|disable|cluster|replica|row\s+level|force)\s
    | (alter|create)\s.*\s(set\s+storage|set\s+statistics|set\s+compression|exclude\s+using|set\s+\(|reset\s+\()
    | create\s.*\susing\s+(gin|gist|brin|spgist|heap2?)\b
)";

/// Words of what Longshore has no place for, wherever they stand.
const WORDS: &str = r"(?ix)\b(
    pg_(class|attribute|attrdef|type|proc|operator|constraint|index|indexes|namespace|depend|rewrite|trigger|opclass|opfamily|am
        |amop|amproc|database|authid|roles|user|tables|views|stats?\w*|statio\w*|locks|settings|description|inherits|language
        |cast|collation|enum|range|tablespace|cursors|prepared_\w+|policy|rules|sequences?|statistic\w*|matviews|file_\w+|largeobject\w*
        |get_\w+|describe_\w+|identify_\w+|relation_\w+|(table|index|total_relation)\w*_size|filenode\w*|read_\w*|ls_\w+|advisory\w*|sleep
        |input_\w+|event_\w+|lsn|snapshot|current_wal\w*|wal\w*|stat_\w+|log_\w+|promote|notify)
    | lo_\w+ | xml\w* | tsvector | tsquery | to_ts(vector|query) | regproc\w* | regoper\w* | regrole | regconfig | regcollation
    | oidvector | int2vector | aclitem | ctid | cmin | cmax | xmin | xmax | tableoid | oid | money | cash
    | point | lseg | box | path | polygon | circle | line | inet | cidr | macaddr8? | pg_lsn
    | int[48](multi)?range | num(multi)?range | ts(tz)?(multi)?range | date(multi)?range | textrange
    | current_role | plpgsql | refcursor | security_barrier | for\s+(no\s+key\s+)?(update|share|key\s+share)
    | where\s+current\s+of | without\s+oids | with\s+oids | has_\w+_privilege
)\b | \boperator\s*\( | collate\s+.(en_|de_|ucs_|fr_|sv_|ja_|tr_|und) ";

/// What a statement makes.
const MADE: &str = r#"(?ix)^\s*create\s+(or\s+replace\s+)?((global|local)\s+)?(temp\w*\s+|unlogged\s+)?(unique\s+|recursive\s+|materialized\s+)?
    (table|view|function|procedure|aggregate|type|domain|index|operator|sequence|rule|trigger|foreign\s+table)\s+
    (concurrently\s+)?(if\s+not\s+exists\s+)?(\w+\.)?"?(?P<name>\w+)"#;

/// Knows what is left out so far.
#[derive(Debug)]
pub struct Scope {
    beginnings: Regex,
    words: Regex,
    made: Regex,
    name: Regex,
    comment: Regex,
    /// Names of what would have been made by statements that are left out.
    missing: BTreeSet<String>,
}

impl Default for Scope {
    fn default() -> Self {
        let regex = |pattern: &str| Regex::new(pattern).expect("the pattern is right");
        Self {
            beginnings: regex(BEGINNINGS),
            words: regex(WORDS),
            made: regex(MADE),
            name: regex(r"[A-Za-z_][A-Za-z0-9_]*"),
            comment: regex(r"(?m)^\s*--.*$|(?s)/\*.*?\*/"),
            missing: BTreeSet::new(),
        }
    }
}

impl Scope {
    /// Whether `sql` is to be run on both; what it would have made is remembered otherwise.
    pub fn has(&mut self, sql: &str, needs_psql: bool) -> bool {
        let sql = &*self.comment.replace_all(sql, "");
        let made = self.made.captures(sql).map(|found| found["name"].to_ascii_lowercase());
        let is_out = needs_psql || self.beginnings.is_match(sql) || self.words.is_match(sql) || self.names_missing(sql);
        if let Some(name) = made {
            if is_out {
                self.missing.insert(name);
            } else {
                self.missing.remove(&name);
            }
        }
        !is_out
    }

    fn names_missing(&self, sql: &str) -> bool {
        self.name.find_iter(sql).any(|name| self.missing.contains(&name.as_str().to_ascii_lowercase()))
    }
}
