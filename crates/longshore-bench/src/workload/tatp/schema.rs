//! The four tables of TATP (version 1.0, section 2) with the indexes that its transactions need.

use longshore_storage::ColumnType::{BigInt, Boolean, Char, SmallInt};
use longshore_storage::Field;

use crate::workload::table::{database, table};

/// A column of text.
type Text = &'static str;

table! {
    /// Who subscribes.
    Subscriber = "subscriber";
    columns {
        s_id = BigInt;
        sub_nbr = Char(15);
        bit_1 = Boolean;
        bit_2 = Boolean;
        bit_3 = Boolean;
        bit_4 = Boolean;
        bit_5 = Boolean;
        bit_6 = Boolean;
        bit_7 = Boolean;
        bit_8 = Boolean;
        bit_9 = Boolean;
        bit_10 = Boolean;
        hex_1 = SmallInt;
        hex_2 = SmallInt;
        hex_3 = SmallInt;
        hex_4 = SmallInt;
        hex_5 = SmallInt;
        hex_6 = SmallInt;
        hex_7 = SmallInt;
        hex_8 = SmallInt;
        hex_9 = SmallInt;
        hex_10 = SmallInt;
        byte2_1 = SmallInt;
        byte2_2 = SmallInt;
        byte2_3 = SmallInt;
        byte2_4 = SmallInt;
        byte2_5 = SmallInt;
        byte2_6 = SmallInt;
        byte2_7 = SmallInt;
        byte2_8 = SmallInt;
        byte2_9 = SmallInt;
        byte2_10 = SmallInt;
        msc_location = BigInt;
        vlr_location = BigInt;
    }
    fields {
        s_id: i64;
        sub_nbr: Text;
        bit_1: bool;
        bit_2: bool;
        bit_3: bool;
        bit_4: bool;
        bit_5: bool;
        bit_6: bool;
        bit_7: bool;
        bit_8: bool;
        bit_9: bool;
        bit_10: bool;
        hex_1: i16;
        hex_2: i16;
        hex_3: i16;
        hex_4: i16;
        hex_5: i16;
        hex_6: i16;
        hex_7: i16;
        hex_8: i16;
        hex_9: i16;
        hex_10: i16;
        byte2_1: i16;
        byte2_2: i16;
        byte2_3: i16;
        byte2_4: i16;
        byte2_5: i16;
        byte2_6: i16;
        byte2_7: i16;
        byte2_8: i16;
        byte2_9: i16;
        byte2_10: i16;
        msc_location: i64;
        vlr_location: i64;
    }
    indexes {
        key: Hash Unique (s_id);
        by_number: Hash Unique (sub_nbr);
    }
}

table! {
    /// What a subscriber may access.
    AccessInfo = "access_info";
    columns {
        s_id = BigInt;
        ai_type = SmallInt;
        data1 = SmallInt;
        data2 = SmallInt;
        data3 = Char(3);
        data4 = Char(5);
    }
    fields {
        data1: i16;
        data2: i16;
        data3: Text;
        data4: Text;
    }
    indexes {
        key: Hash Unique (s_id, ai_type);
    }
}

table! {
    /// A subscriber's facilities.
    SpecialFacility = "special_facility";
    columns {
        s_id = BigInt;
        sf_type = SmallInt;
        is_active = Boolean;
        error_cntrl = SmallInt;
        data_a = SmallInt;
        data_b = Char(5);
    }
    fields {
        is_active: bool;
        data_a: i16;
    }
    indexes {
        key: Hash Unique (s_id, sf_type);
    }
}

table! {
    /// Where calls of a facility go, by the hour.
    CallForwarding = "call_forwarding";
    columns {
        s_id = BigInt;
        sf_type = SmallInt;
        start_time = SmallInt;
        end_time = SmallInt;
        numberx = Char(15);
    }
    fields {
        end_time: i16;
        numberx: Text;
    }
    indexes {
        key: Art Unique (s_id, sf_type, start_time);
    }
}

impl Subscriber {
    /// The columns of bits.
    pub(super) fn bits(&self) -> [Field<bool>; 10] {
        [
            self.bit_1,
            self.bit_2,
            self.bit_3,
            self.bit_4,
            self.bit_5,
            self.bit_6,
            self.bit_7,
            self.bit_8,
            self.bit_9,
            self.bit_10,
        ]
    }

    /// The columns of small numbers.
    pub(super) fn numbers(&self) -> [Field<i16>; 20] {
        [
            self.hex_1,
            self.hex_2,
            self.hex_3,
            self.hex_4,
            self.hex_5,
            self.hex_6,
            self.hex_7,
            self.hex_8,
            self.hex_9,
            self.hex_10,
            self.byte2_1,
            self.byte2_2,
            self.byte2_3,
            self.byte2_4,
            self.byte2_5,
            self.byte2_6,
            self.byte2_7,
            self.byte2_8,
            self.byte2_9,
            self.byte2_10,
        ]
    }
}

database! {
    subscribers: i64;
    subscriber: Subscriber,
    access_info: AccessInfo,
    special_facility: SpecialFacility,
    call_forwarding: CallForwarding,
}
