//! Names of offsets, as `EST` and `MSK`: those that PostgreSQL knows unless it is told others.
//!
//! Most mean an offset, some a zone whose offset has changed over the years. Not here: names of zones (`zone`).

use super::Zone;

/// What an abbreviation means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Abbreviation {
    /// Always this offset, in seconds east of UTC, and whether it is daylight saving time.
    Fixed {
        /// Seconds east of UTC.
        east: i32,
        /// Whether it is daylight saving time.
        is_dst: bool,
    },
    /// What the zone means by it at the moment in question.
    Of(Zone),
}

impl Abbreviation {
    /// The meaning of an abbreviation, in any case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let is_it = |known: &str| known.eq_ignore_ascii_case(name);
        if let Some((_, east, is_dst)) = FIXED.iter().find(|(known, ..)| is_it(known)) {
            return Some(Self::Fixed { east: *east, is_dst: *is_dst });
        }
        let (_, zone) = OF_ZONES.iter().find(|(known, _)| is_it(known))?;
        Zone::named(zone).map(Self::Of)
    }

    /// The offset that `name` stands for at so many seconds since 1970-01-01 of the local clock.
    #[must_use]
    pub fn offset_of_local(&self, name: &str, seconds: i64) -> i32 {
        match self {
            Self::Fixed { east, .. } => *east,
            Self::Of(zone) => zone.offset_of_abbreviation(name, seconds),
        }
    }
}

/// Names, seconds east of UTC, and whether it is daylight saving time.
#[rustfmt::skip]
const FIXED: [(&str, i32, bool); 145] = [
    ("ACDT", 37_800, true), ("ACSST", 37_800, true), ("ACST", 34_200, false), ("ACT", -18_000, false),
    ("ACWST", 31_500, false), ("ADT", -10_800, true), ("AEDT", 39_600, true), ("AESST", 39_600, true),
    ("AEST", 36_000, false), ("AFT", 16_200, false), ("AKDT", -28_800, true), ("AKST", -32_400, false),
    ("ALMST", 25_200, true), ("ALMT", 21_600, false), ("AMT", -14_400, false), ("AST", -14_400, false),
    ("AWSST", 32_400, true), ("AWST", 28_800, false), ("AZOST", 0, true), ("AZOT", -3_600, false),
    ("BDST", 7_200, true), ("BDT", 21_600, false), ("BNT", 28_800, false), ("BORT", 28_800, false),
    ("BOT", -14_400, false), ("BRA", -10_800, false), ("BRST", -7_200, true), ("BRT", -10_800, false),
    ("BST", 3_600, true), ("BTT", 21_600, false), ("CADT", 37_800, true), ("CAST", 34_200, false),
    ("CCT", 28_800, false), ("CDT", -18_000, true), ("CEST", 7_200, true), ("CET", 3_600, false),
    ("CETDST", 7_200, true), ("CHADT", 49_500, true), ("CHAST", 45_900, false), ("CHUT", 36_000, false),
    ("CLST", -10_800, true), ("COT", -18_000, false), ("CST", -21_600, false), ("CXT", 25_200, false),
    ("DDUT", 36_000, false), ("EAT", 10_800, false), ("EDT", -14_400, true), ("EEST", 10_800, true),
    ("EET", 7_200, false), ("EETDST", 10_800, true), ("EGST", 0, true), ("EGT", -3_600, false),
    ("EST", -18_000, false), ("FET", 10_800, false), ("FJST", 46_800, true), ("FJT", 43_200, false),
    ("FNST", -3_600, true), ("FNT", -7_200, false), ("GALT", -21_600, false), ("GAMT", -32_400, false),
    ("GFT", -10_800, false), ("GILT", 43_200, false), ("GMT", 0, false), ("HKT", 28_800, false),
    ("HST", -36_000, false), ("ICT", 25_200, false), ("IDT", 10_800, true), ("IRT", 12_600, false),
    ("IST", 7_200, false), ("JAYT", 32_400, false), ("JST", 32_400, false), ("KDT", 36_000, true),
    ("KGST", 21_600, true), ("KST", 32_400, false), ("LHST", 37_800, false), ("LIGT", 36_000, false),
    ("MART", -34_200, false), ("MDT", -21_600, true), ("MEST", 7_200, true), ("MESZ", 7_200, true),
    ("MET", 3_600, false), ("METDST", 7_200, true), ("MEZ", 3_600, false), ("MHT", 43_200, false),
    ("MMT", 23_400, false), ("MPT", 36_000, false), ("MSD", 14_400, true), ("MST", -25_200, false),
    ("MUST", 18_000, true), ("MUT", 14_400, false), ("MVT", 18_000, false), ("MYT", 28_800, false),
    ("NDT", -9_000, true), ("NFT", -12_600, false), ("NPT", 20_700, false), ("NST", -12_600, false),
    ("NZDT", 46_800, true), ("NZST", 43_200, false), ("NZT", 43_200, false), ("PDT", -25_200, true),
    ("PET", -18_000, false), ("PGT", 36_000, false), ("PHT", 28_800, false), ("PKST", 21_600, true),
    ("PKT", 18_000, false), ("PMDT", -7_200, true), ("PMST", -10_800, false), ("PONT", 39_600, false),
    ("PST", -28_800, false), ("PWT", 32_400, false), ("PYST", -10_800, true), ("RET", 14_400, false),
    ("SADT", 37_800, true), ("SAST", 7_200, false), ("SCT", 14_400, false), ("TAHT", -36_000, false),
    ("TFT", 18_000, false), ("TJT", 18_000, false), ("TOT", 46_800, false), ("TRUT", 36_000, false),
    ("TVT", 43_200, false), ("UCT", 0, false), ("ULAST", 32_400, true), ("UT", 0, false), ("UTC", 0, false),
    ("UYST", -7_200, true), ("UYT", -10_800, false), ("UZST", 21_600, true), ("UZT", 18_000, false),
    ("VUT", 39_600, false), ("WADT", 28_800, true), ("WAKT", 43_200, false), ("WAST", 25_200, false),
    ("WAT", 3_600, false), ("WDT", 32_400, true), ("WET", 0, false), ("WETDST", 3_600, true), ("WFT", 43_200, false),
    ("WGST", -7_200, true), ("WGT", -10_800, false), ("XJT", 21_600, false), ("YAPT", 36_000, false),
    ("YEKST", 21_600, true), ("Z", 0, false), ("ZULU", 0, false),
];

/// Names, and the zones that they belong to.
#[rustfmt::skip]
const OF_ZONES: [(&str, &str); 50] = [
    ("AMST", "Asia/Yerevan"), ("ANAST", "Asia/Anadyr"), ("ANAT", "Asia/Anadyr"),
    ("ARST", "America/Argentina/Buenos_Aires"), ("ART", "America/Argentina/Buenos_Aires"), ("AZST", "Asia/Baku"),
    ("AZT", "Asia/Baku"), ("CKT", "Pacific/Rarotonga"), ("CLT", "America/Santiago"), ("DAVT", "Antarctica/Davis"),
    ("EASST", "Pacific/Easter"), ("EAST", "Pacific/Easter"), ("FKST", "Atlantic/Stanley"),
    ("FKT", "Atlantic/Stanley"), ("GEST", "Asia/Tbilisi"), ("GET", "Asia/Tbilisi"), ("GYT", "America/Guyana"),
    ("IOT", "Indian/Chagos"), ("IRKST", "Asia/Irkutsk"), ("IRKT", "Asia/Irkutsk"), ("KGT", "Asia/Bishkek"),
    ("KOST", "Pacific/Kosrae"), ("KRAST", "Asia/Krasnoyarsk"), ("KRAT", "Asia/Krasnoyarsk"),
    ("LHDT", "Australia/Lord_Howe"), ("LINT", "Pacific/Kiritimati"), ("LKT", "Asia/Colombo"),
    ("MAGST", "Asia/Magadan"), ("MAGT", "Asia/Magadan"), ("MAWT", "Antarctica/Mawson"), ("MSK", "Europe/Moscow"),
    ("NOVST", "Asia/Novosibirsk"), ("NOVT", "Asia/Novosibirsk"), ("NUT", "Pacific/Niue"), ("OMSST", "Asia/Omsk"),
    ("OMST", "Asia/Omsk"), ("PETST", "Asia/Kamchatka"), ("PETT", "Asia/Kamchatka"), ("PYT", "America/Asuncion"),
    ("SGT", "Asia/Singapore"), ("TKT", "Pacific/Fakaofo"), ("TMT", "Asia/Ashgabat"), ("ULAT", "Asia/Ulaanbaatar"),
    ("VET", "America/Caracas"), ("VLAST", "Asia/Vladivostok"), ("VLAT", "Asia/Vladivostok"),
    ("VOLT", "Europe/Volgograd"), ("YAKST", "Asia/Yakutsk"), ("YAKT", "Asia/Yakutsk"), ("YEKT", "Asia/Yekaterinburg"),
];
