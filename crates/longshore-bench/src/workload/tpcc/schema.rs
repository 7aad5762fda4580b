//! The nine tables of TPC-C (specification 5.11, clause 1.3) with the indexes that its transactions need.
//!
//! Identifiers are integers of 32 bits, money is in cents, rates and discounts are in units of 1/10,000. Primary keys
//! are hash tables where they are only looked up, and radix trees where ranges of them are read. Two more trees serve
//! customers by last name, ordered by first name, and the orders of a customer.

use longshore_storage::ColumnType;
use longshore_storage::ColumnType::{Char, Decimal, Integer, SmallInt, Timestamp, Varchar};

use super::sizes::Sizes;
use crate::workload::table::{database, table};

/// A column of text.
type Text = &'static str;

const MONEY: ColumnType = Decimal { precision: 12, scale: 2 };
const RATE: ColumnType = Decimal { precision: 4, scale: 4 };

table! {
    /// Warehouses.
    Warehouse = "warehouse";
    columns {
        w_id = Integer;
        w_name = Varchar(10);
        w_street_1 = Varchar(20);
        w_street_2 = Varchar(20);
        w_city = Varchar(20);
        w_state = Char(2);
        w_zip = Char(9);
        w_tax = RATE;
        w_ytd = MONEY;
    }
    fields {
        w_name: Text;
        w_street_1: Text;
        w_street_2: Text;
        w_city: Text;
        w_state: Text;
        w_zip: Text;
        w_tax: i64;
        w_ytd: i64;
    }
    indexes {
        key: Hash Unique (w_id);
    }
}

table! {
    /// Ten districts for each warehouse.
    District = "district";
    columns {
        d_id = Integer;
        d_w_id = Integer;
        d_name = Varchar(10);
        d_street_1 = Varchar(20);
        d_street_2 = Varchar(20);
        d_city = Varchar(20);
        d_state = Char(2);
        d_zip = Char(9);
        d_tax = RATE;
        d_ytd = MONEY;
        d_next_o_id = Integer;
    }
    fields {
        d_name: Text;
        d_street_1: Text;
        d_street_2: Text;
        d_city: Text;
        d_state: Text;
        d_zip: Text;
        d_tax: i64;
        d_ytd: i64;
        d_next_o_id: i32;
    }
    indexes {
        key: Hash Unique (d_w_id, d_id);
    }
}

table! {
    /// The customers of a district.
    Customer = "customer";
    columns {
        c_id = Integer;
        c_d_id = Integer;
        c_w_id = Integer;
        c_first = Varchar(16);
        c_middle = Char(2);
        c_last = Varchar(16);
        c_street_1 = Varchar(20);
        c_street_2 = Varchar(20);
        c_city = Varchar(20);
        c_state = Char(2);
        c_zip = Char(9);
        c_phone = Char(16);
        c_since = Timestamp;
        c_credit = Char(2);
        c_credit_lim = MONEY;
        c_discount = RATE;
        c_balance = MONEY;
        c_ytd_payment = MONEY;
        c_payment_cnt = Integer;
        c_delivery_cnt = Integer;
        c_data = Varchar(500);
    }
    fields {
        c_id: i32;
        c_first: Text;
        c_middle: Text;
        c_last: Text;
        c_street_1: Text;
        c_street_2: Text;
        c_city: Text;
        c_state: Text;
        c_zip: Text;
        c_phone: Text;
        c_since: i64;
        c_credit: Text;
        c_credit_lim: i64;
        c_discount: i64;
        c_balance: i64;
        c_ytd_payment: i64;
        c_payment_cnt: i32;
        c_delivery_cnt: i32;
        c_data: Text;
    }
    indexes {
        key: Hash Unique (c_w_id, c_d_id, c_id);
        by_name: Art Multiple (c_w_id, c_d_id, c_last, c_first);
    }
}

table! {
    /// Payments.
    History = "history";
    columns {
        h_c_id = Integer;
        h_c_d_id = Integer;
        h_c_w_id = Integer;
        h_d_id = Integer;
        h_w_id = Integer;
        h_date = Timestamp;
        h_amount = MONEY;
        h_data = Varchar(24);
    }
    fields {}
    indexes {}
}

table! {
    /// Orders that are not delivered yet.
    NewOrder = "new_order";
    columns {
        no_o_id = Integer;
        no_d_id = Integer;
        no_w_id = Integer;
    }
    fields {
        no_o_id: i32;
    }
    indexes {
        key: Art Unique (no_w_id, no_d_id, no_o_id);
    }
}

table! {
    /// Orders.
    Orders = "orders";
    columns {
        o_id = Integer;
        o_d_id = Integer;
        o_w_id = Integer;
        o_c_id = Integer;
        o_entry_d = Timestamp;
        o_carrier_id = Integer, null;
        o_ol_cnt = SmallInt;
        o_all_local = SmallInt;
    }
    fields {
        o_id: i32;
        o_c_id: i32;
        o_entry_d: i64;
        o_carrier_id: i32;
        o_ol_cnt: i16;
    }
    indexes {
        key: Hash Unique (o_w_id, o_d_id, o_id);
        by_customer: Art Unique (o_w_id, o_d_id, o_c_id, o_id);
    }
}

table! {
    /// The lines of an order, five to fifteen.
    OrderLine = "order_line";
    columns {
        ol_o_id = Integer;
        ol_d_id = Integer;
        ol_w_id = Integer;
        ol_number = SmallInt;
        ol_i_id = Integer;
        ol_supply_w_id = Integer;
        ol_delivery_d = Timestamp, null;
        ol_quantity = SmallInt;
        ol_amount = MONEY;
        ol_dist_info = Char(24);
    }
    fields {
        ol_i_id: i32;
        ol_supply_w_id: i32;
        ol_delivery_d: i64;
        ol_quantity: i16;
        ol_amount: i64;
    }
    indexes {
        key: Art Unique (ol_w_id, ol_d_id, ol_o_id, ol_number);
    }
}

table! {
    /// What there is to buy.
    Item = "item";
    columns {
        i_id = Integer;
        i_im_id = Integer;
        i_name = Varchar(24);
        i_price = MONEY;
        i_data = Varchar(50);
    }
    fields {
        i_name: Text;
        i_price: i64;
        i_data: Text;
    }
    indexes {
        key: Hash Unique (i_id);
    }
}

table! {
    /// Each item in each warehouse.
    Stock = "stock";
    columns {
        s_i_id = Integer;
        s_w_id = Integer;
        s_quantity = Integer;
        s_dist_01 = Char(24);
        s_dist_02 = Char(24);
        s_dist_03 = Char(24);
        s_dist_04 = Char(24);
        s_dist_05 = Char(24);
        s_dist_06 = Char(24);
        s_dist_07 = Char(24);
        s_dist_08 = Char(24);
        s_dist_09 = Char(24);
        s_dist_10 = Char(24);
        s_ytd = MONEY;
        s_order_cnt = Integer;
        s_remote_cnt = Integer;
        s_data = Varchar(50);
    }
    fields {
        s_quantity: i32;
        s_dist_01: Text;
        s_dist_02: Text;
        s_dist_03: Text;
        s_dist_04: Text;
        s_dist_05: Text;
        s_dist_06: Text;
        s_dist_07: Text;
        s_dist_08: Text;
        s_dist_09: Text;
        s_dist_10: Text;
        s_ytd: i64;
        s_order_cnt: i32;
        s_remote_cnt: i32;
        s_data: Text;
    }
    indexes {
        key: Hash Unique (s_w_id, s_i_id);
    }
}

impl Stock {
    /// The column with the text of a district, counted from 1.
    pub(super) fn dist(&self, district: i32) -> longshore_storage::Field<Text> {
        match district {
            1 => self.s_dist_01,
            2 => self.s_dist_02,
            3 => self.s_dist_03,
            4 => self.s_dist_04,
            5 => self.s_dist_05,
            6 => self.s_dist_06,
            7 => self.s_dist_07,
            8 => self.s_dist_08,
            9 => self.s_dist_09,
            _ => self.s_dist_10,
        }
    }
}

database! {
    sizes: Sizes;
    warehouse: Warehouse,
    district: District,
    customer: Customer,
    history: History,
    new_order: NewOrder,
    orders: Orders,
    order_line: OrderLine,
    item: Item,
    stock: Stock,
}
