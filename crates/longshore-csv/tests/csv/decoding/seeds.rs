//! Fields that are values of a type, or nearly; separated by bars.

use longshore_csv::ValueType;
use longshore_value::numeric::Limit;

const INTEGERS: &str = "\
    0|-0|7|-7|42|123|1234|32767|32768|-32768|-32769|2147483647|2147483648|-2147483648|-2147483649|12345678|\
    123456789|999999999999999|1234567890123456|12345678901234567|9223372036854775807|9223372036854775808|\
    -9223372036854775808|-9223372036854775809|99999999999999999999|18446744073709551617|+5| 5|5 |\t-5\t|\
    00000012|0000000000000000000000001|--5|-|+|1.0|1e3|1_000";

const DECIMALS: &str = "\
    0|-0|0.00|-0.01|17|12.5|12.50|-12.50|21168.23|104949.50|0.04|1234567.89|123456789012.34|1234567890123.45|\
    12345678901234.56|-1234567890123.45|9999999999999.99|9999999999999.994|9999999999999.995|\
    -9999999999999.995|0.005|-0.005|0.0049999999999999999999|.5|5.|.|-.|-.5|1e3|1.5e-2|1E+2|1e|1e+|\
    1e99999999999|1e-99999999999|0e99999999999|1.2.3|1,5|+12.50| 12.50 |123456789012345678|\
    99999999999999999999999999999999999999|100000000000000000000000000000000000000|\
    999999999999999999999999999999999999.99|0.99999999999999999999999999999999999999|\
    000000000000000000000000000000000000000001.25|12345678901234567890.12|-12345678901234567890.12|\
    1234567890123456.7|123456789012345.67|-123456789012345.67";

const FLOATS: &str = "\
    0|-0|0.0|-0.0|1|1.5|-1.5|.5|5.|.|1e3|1E-3|1.7976931348623157e308|1.8e308|-1e400|1e-400|4.9e-324|\
    2.2250738585072014e-308|2e-324|0e-400|0.1|123456.789|3.4028235e38|3.4028236e38|1e-46|1.4e-45|\
    9007199254740992|9007199254740993|16777216|16777217|0.30000000000000004|nan|NaN|-nan|inf|-inf|+Infinity|\
    INFINITY|infinit|1e|1e+|e5|+1.5| 1.5 |0x10|1_0|7.038531e-26|1.00000017881393432617187499|\
    1.00000017881393421514957253748434595763683319091796875001|1.000000059604645|1.0000000596046448|\
    123456789012345.6|8388608.5|8388609.5";

const DATES: &str = "\
    1996-03-13|1970-01-01|0001-01-01|9999-12-31|2000-02-29|1900-02-29|2004-02-29|2001-02-29|2024-04-31|\
    0000-01-01|1996-3-13|1996-03-1|1996-3-1|1996-13-01|1996-00-01|1996-01-00|1996-01-32|199-01-01|\
    19960-01-01|1996/03/13| 1996-03-13|1996-03-13 |1996-03-13x|19960313|+996-01-01|1996-003-13";

const TIMES: &str = "\
    00:00:00|23:59:59|23:59:59.999999|23:59:59.9999999|23:59:59.9999994|12:34:56.5|12:34:56.123|\
    12:34:56.1234567|12:34|1:02|1:2:3|24:00:00|12:60:00|12:00:60|12:34:56.|12:34:56.x| 12:34:56 |123:00:00|\
    12:34:56Z|12-34-56";

const TIMESTAMPS: &str = "\
    1996-03-13 12:34:56|1996-03-13T12:34:56|1996-03-13t12:34:56.789|1996-03-13 12:34:56.123456|1996-03-13|\
    1996-03-13 12:34|9999-12-31 23:59:59.999999|9999-12-31 23:59:59.9999999|0001-01-01 00:00:00|\
    1996-03-13 12:34:56Z|1996-03-13 12:34:56+00|1996-03-13 12:34:56+00:00|1996-03-13 12:34:56.5+02|\
    1996-03-13 12:34:56-05:30|1996-03-13 12:34:56+02:30:15|1996-03-13 12:34:56+0230|1996-03-13 12:34:56 +02|\
    1996-03-13 12:34:56+16|1996-03-13 12:34:56+2|0001-01-01 00:00:00+01|9999-12-31 23:59:59-01|1996-03-13Z|\
    1996-03-13 |1996-03-13  12:34:56|1996-02-30 00:00:00|1996-03-13 24:00:00|1996-03-13+00|\
    1996-03-13 12:34+00|1996-03-13 12:34Z|1996-03-13 12+00:00|1996-03-13 12:34:56+02:|\
    1996-03-13 12:34:56.1234564+00:00";

const TEXTS: &str = "|a|ab|NONE|COLLECT COD|twelve bytes|thirteen byte|TAKE BACK RETURN|DELIVER IN PERSON|\
    a string of exactly thirty-two b|a string of exactly sixty-four bytes, which fill one block of 64|\
    sixty-three bytes are one less than a block holds, and no more.|\
    a string that is longer than one block of 64 bytes, so that what is left over has to be copied as well|\
    blanks   |   | |ten chars!|eleven char|ten chars!    |ten chars!  x|\u{e4}\u{f6}\u{fc}|\
    \u{e4}\u{f6}\u{fc}\u{e4}\u{f6}\u{fc}\u{e4}\u{f6}\u{fc}\u{e4}|\
    \u{e4}\u{f6}\u{fc}\u{e4}\u{f6}\u{fc}\u{e4}\u{f6}\u{fc}\u{e4}\u{e4}|\u{1F600}\u{1F600}|NULL|\\N|\
    l\u{e4}ngerer Text mit Umlauten und mehr als vierundsechzig Bytes, n\u{e4}mlich noch ein paar";

const BOOLEANS: &str = "\
    t|f|T|F|true|false|TRUE|False|y|n|yes|no|on|off|of|o|1|0|tr|fals|2|10|truex| t |\u{11}|\u{10}|TruE|yess|\
    00";

const UUIDS: &str = "\
    a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11|\
    {a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}|a0eebc999c0b4ef8bb6d6bb9bd380a11|\
    {a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11| a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|\
    a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1|a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}|\
    a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g";

const BYTEAS: &str = "\
    \\x|\\x00|\\xDEADbeef|\\x000102030405060708090a0b|\\x000102030405060708090a0b0c|\\x0|\\x0g|x00|\\X00||\\|\
    \\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f";

/// Types and their fields.
pub(crate) fn seeds() -> Vec<(ValueType, Vec<&'static str>)> {
    let mut seeds = vec![
        (ValueType::Boolean, BOOLEANS),
        (ValueType::Int16, INTEGERS),
        (ValueType::Int32, INTEGERS),
        (ValueType::Int64, INTEGERS),
        (ValueType::Float32, FLOATS),
        (ValueType::Float64, FLOATS),
        (ValueType::Date, DATES),
        (ValueType::Time, TIMES),
        (ValueType::Timestamp, TIMESTAMPS),
        (ValueType::TimestampTz, TIMESTAMPS),
        (ValueType::Text, TEXTS),
        (ValueType::Varchar(10), TEXTS),
        (ValueType::Char(10), TEXTS),
        (ValueType::Char(1000), TEXTS),
        (ValueType::Uuid, UUIDS),
        (ValueType::Bytea, BYTEAS),
    ];
    for limit in [None, Some((38, 2)), Some((38, 38)), Some((60, 30)), Some((5, -3))] {
        let limit = limit.map(|(precision, scale)| Limit { precision, scale });
        seeds.push((ValueType::Numeric(limit), DECIMALS));
        seeds.push((ValueType::Numeric(limit), FLOATS));
    }
    for (precision, scale) in [(15, 2), (18, 0), (18, 18), (4, 2), (1, 0), (1, 1), (12, 6), (18, 3)] {
        seeds.push((ValueType::Decimal64 { precision, scale }, DECIMALS));
    }
    for (precision, scale) in [(15, 2), (38, 0), (38, 38), (38, 2), (20, 0), (22, 2), (19, 19), (38, 20)] {
        seeds.push((ValueType::Decimal128 { precision, scale }, DECIMALS));
    }
    seeds.into_iter().map(|(value_type, fields)| (value_type, fields.split('|').collect())).collect()
}
