//! The four tables of TATP (version 1.0, section 2) with the indexes that its transactions need.

use std::sync::Arc;

use longshore_storage::ColumnType::{BigInt, Boolean, Char, SmallInt};
use longshore_storage::{Field, Memory, Transactions};

use super::populate;
use crate::Failure;
use crate::workload::table::table;

/// A column of text.
type Text = &'static str;

table! {
    /// Who subscribes.
    Subscriber = "subscriber";
    columns {
        s_id: i64 = BigInt;
        sub_nbr: Text = Char(15);
        bit_1: bool = Boolean;
        bit_2: bool = Boolean;
        bit_3: bool = Boolean;
        bit_4: bool = Boolean;
        bit_5: bool = Boolean;
        bit_6: bool = Boolean;
        bit_7: bool = Boolean;
        bit_8: bool = Boolean;
        bit_9: bool = Boolean;
        bit_10: bool = Boolean;
        hex_1: i16 = SmallInt;
        hex_2: i16 = SmallInt;
        hex_3: i16 = SmallInt;
        hex_4: i16 = SmallInt;
        hex_5: i16 = SmallInt;
        hex_6: i16 = SmallInt;
        hex_7: i16 = SmallInt;
        hex_8: i16 = SmallInt;
        hex_9: i16 = SmallInt;
        hex_10: i16 = SmallInt;
        byte2_1: i16 = SmallInt;
        byte2_2: i16 = SmallInt;
        byte2_3: i16 = SmallInt;
        byte2_4: i16 = SmallInt;
        byte2_5: i16 = SmallInt;
        byte2_6: i16 = SmallInt;
        byte2_7: i16 = SmallInt;
        byte2_8: i16 = SmallInt;
        byte2_9: i16 = SmallInt;
        byte2_10: i16 = SmallInt;
        msc_location: i64 = BigInt;
        vlr_location: i64 = BigInt;
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
        s_id: i64 = BigInt;
        ai_type: i16 = SmallInt;
        data1: i16 = SmallInt;
        data2: i16 = SmallInt;
        data3: Text = Char(3);
        data4: Text = Char(5);
    }
    indexes {
        key: Hash Unique (s_id, ai_type);
    }
}

table! {
    /// A subscriber's facilities.
    SpecialFacility = "special_facility";
    columns {
        s_id: i64 = BigInt;
        sf_type: i16 = SmallInt;
        is_active: bool = Boolean;
        error_cntrl: i16 = SmallInt;
        data_a: i16 = SmallInt;
        data_b: Text = Char(5);
    }
    indexes {
        key: Hash Unique (s_id, sf_type);
    }
}

table! {
    /// Where calls of a facility go, by the hour.
    CallForwarding = "call_forwarding";
    columns {
        s_id: i64 = BigInt;
        sf_type: i16 = SmallInt;
        start_time: i16 = SmallInt;
        end_time: i16 = SmallInt;
        numberx: Text = Char(15);
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

/// The database.
pub(super) struct Database {
    pub(super) transactions: Arc<Transactions>,
    pub(super) subscribers: i64,
    pub(super) subscriber: Subscriber,
    pub(super) access_info: AccessInfo,
    pub(super) special_facility: SpecialFacility,
    pub(super) call_forwarding: CallForwarding,
}

impl Database {
    /// A database of that many subscribers, with indexes.
    ///
    /// # Errors
    ///
    /// When memory is short.
    pub(super) fn populated(subscribers: i64) -> Result<Database, Failure> {
        let memory = Memory::new(None);
        let transactions = Transactions::new();
        let rows = populate::Tables {
            subscriber: Subscriber::create(&memory, &transactions),
            access_info: AccessInfo::create(&memory, &transactions),
            special_facility: SpecialFacility::create(&memory, &transactions),
            call_forwarding: CallForwarding::create(&memory, &transactions),
        };
        rows.populate(subscribers)?;
        Ok(Database {
            transactions,
            subscribers,
            subscriber: Subscriber::open(rows.subscriber)?,
            access_info: AccessInfo::open(rows.access_info)?,
            special_facility: SpecialFacility::open(rows.special_facility)?,
            call_forwarding: CallForwarding::open(rows.call_forwarding)?,
        })
    }
}
