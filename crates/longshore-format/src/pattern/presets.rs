//! Expressions for formats that many programs write.

/// A format with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// The expression that takes a line of it apart.
    pub pattern: &'static str,
    /// What stands for NULL in it.
    pub null_text: &'static str,
    /// The format of its times, as `strptime` has it.
    pub time_format: &'static str,
}

/// The first seven fields of the access logs of web servers.
macro_rules! common {
    () => {
        concat!(
            r"^(?<host>\S+) (?<ident>\S+) (?<user>\S+) \[(?<time>[^\]]*)\] ",
            r#""(?<request>(?:[^"\\]|\\.)*)" (?<status>\d{3}|-) (?<bytes>\d+|-)"#
        )
    };
}

const PRESETS: [Preset; 5] = [
    Preset { name: "common", pattern: concat!(common!(), "$"), null_text: "-", time_format: "%d/%b/%Y:%H:%M:%S %z" },
    Preset {
        name: "combined",
        pattern: concat!(common!(), r#" "(?<referer>(?:[^"\\]|\\.)*)" "(?<user_agent>(?:[^"\\]|\\.)*)"$"#),
        null_text: "-",
        time_format: "%d/%b/%Y:%H:%M:%S %z",
    },
    Preset {
        name: "vhost_combined",
        pattern: concat!(
            r"^(?<vhost>\S+?)(?::(?<port>\d+))? (?<host>\S+) (?<ident>\S+) (?<user>\S+) \[(?<time>[^\]]*)\] ",
            r#""(?<request>(?:[^"\\]|\\.)*)" (?<status>\d{3}|-) (?<bytes>\d+|-) "#,
            r#""(?<referer>(?:[^"\\]|\\.)*)" "(?<user_agent>(?:[^"\\]|\\.)*)"$"#
        ),
        null_text: "-",
        time_format: "%d/%b/%Y:%H:%M:%S %z",
    },
    Preset {
        name: "nginx_error",
        pattern: concat!(
            r"^(?<time>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d) \[(?<level>\w+)\] (?<pid>\d+)#(?<tid>\d+): ",
            r"(?:\*(?<connection>\d+) )?(?<message>.*)$"
        ),
        null_text: "",
        time_format: "%Y/%m/%d %H:%M:%S",
    },
    Preset {
        name: "syslog",
        pattern: concat!(
            r"^(?:<(?<priority>\d{1,3})>)?(?<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (?<host>\S+) ",
            r"(?<program>[^\s:\[]+)(?:\[(?<pid>\d+)\])?: ?(?<message>.*)$"
        ),
        null_text: "",
        time_format: "%b %d %H:%M:%S",
    },
];

/// All formats with a name.
#[must_use]
pub fn presets() -> &'static [Preset] {
    &PRESETS
}

/// The format of this name.
#[must_use]
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name.eq_ignore_ascii_case(name))
}
