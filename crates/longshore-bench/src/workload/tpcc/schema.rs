//! The nine tables of TPC-C (specification 5.11, clause 1.3) with the indexes that its transactions need.
//!
//! Identifiers are integers of 32 bits, money is in cents, rates and discounts are in units of 1/10,000. Primary keys
//! are hash tables where they are only looked up, and radix trees where ranges of them are read. Two more trees serve
//! customers by last name, ordered by first name, and the orders of a customer.

use std::sync::Arc;

use longshore_storage::ColumnType::{Char, Decimal, Integer, SmallInt, Timestamp, Varchar};
use longshore_storage::{ColumnType, Memory, Transactions};

use super::populate::{self, Sizes};
use crate::Failure;
use crate::workload::table::table;

/// A column of text.
type Text = &'static str;

const MONEY: ColumnType = Decimal { precision: 12, scale: 2 };
const RATE: ColumnType = Decimal { precision: 4, scale: 4 };

table! {
    /// Warehouses.
    Warehouse = "warehouse";
    columns {
        w_id: i32 = Integer;
        w_name: Text = Varchar(10);
        w_street_1: Text = Varchar(20);
        w_street_2: Text = Varchar(20);
        w_city: Text = Varchar(20);
        w_state: Text = Char(2);
        w_zip: Text = Char(9);
        w_tax: i64 = RATE;
        w_ytd: i64 = MONEY;
    }
    indexes {
        key: Hash Unique (w_id);
    }
}

table! {
    /// Ten districts for each warehouse.
    District = "district";
    columns {
        d_id: i32 = Integer;
        d_w_id: i32 = Integer;
        d_name: Text = Varchar(10);
        d_street_1: Text = Varchar(20);
        d_street_2: Text = Varchar(20);
        d_city: Text = Varchar(20);
        d_state: Text = Char(2);
        d_zip: Text = Char(9);
        d_tax: i64 = RATE;
        d_ytd: i64 = MONEY;
        d_next_o_id: i32 = Integer;
    }
    indexes {
        key: Hash Unique (d_w_id, d_id);
    }
}

table! {
    /// The customers of a district.
    Customer = "customer";
    columns {
        c_id: i32 = Integer;
        c_d_id: i32 = Integer;
        c_w_id: i32 = Integer;
        c_first: Text = Varchar(16);
        c_middle: Text = Char(2);
        c_last: Text = Varchar(16);
        c_street_1: Text = Varchar(20);
        c_street_2: Text = Varchar(20);
        c_city: Text = Varchar(20);
        c_state: Text = Char(2);
        c_zip: Text = Char(9);
        c_phone: Text = Char(16);
        c_since: i64 = Timestamp;
        c_credit: Text = Char(2);
        c_credit_lim: i64 = MONEY;
        c_discount: i64 = RATE;
        c_balance: i64 = MONEY;
        c_ytd_payment: i64 = MONEY;
        c_payment_cnt: i32 = Integer;
        c_delivery_cnt: i32 = Integer;
        c_data: Text = Varchar(500);
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
        h_c_id: i32 = Integer;
        h_c_d_id: i32 = Integer;
        h_c_w_id: i32 = Integer;
        h_d_id: i32 = Integer;
        h_w_id: i32 = Integer;
        h_date: i64 = Timestamp;
        h_amount: i64 = MONEY;
        h_data: Text = Varchar(24);
    }
    indexes {}
}

table! {
    /// Orders that are not delivered yet.
    NewOrder = "new_order";
    columns {
        no_o_id: i32 = Integer;
        no_d_id: i32 = Integer;
        no_w_id: i32 = Integer;
    }
    indexes {
        key: Art Unique (no_w_id, no_d_id, no_o_id);
    }
}

table! {
    /// Orders.
    Orders = "orders";
    columns {
        o_id: i32 = Integer;
        o_d_id: i32 = Integer;
        o_w_id: i32 = Integer;
        o_c_id: i32 = Integer;
        o_entry_d: i64 = Timestamp;
        o_carrier_id: i32 = Integer, null;
        o_ol_cnt: i16 = SmallInt;
        o_all_local: i16 = SmallInt;
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
        ol_o_id: i32 = Integer;
        ol_d_id: i32 = Integer;
        ol_w_id: i32 = Integer;
        ol_number: i16 = SmallInt;
        ol_i_id: i32 = Integer;
        ol_supply_w_id: i32 = Integer;
        ol_delivery_d: i64 = Timestamp, null;
        ol_quantity: i16 = SmallInt;
        ol_amount: i64 = MONEY;
        ol_dist_info: Text = Char(24);
    }
    indexes {
        key: Art Unique (ol_w_id, ol_d_id, ol_o_id, ol_number);
    }
}

table! {
    /// What there is to buy.
    Item = "item";
    columns {
        i_id: i32 = Integer;
        i_im_id: i32 = Integer;
        i_name: Text = Varchar(24);
        i_price: i64 = MONEY;
        i_data: Text = Varchar(50);
    }
    indexes {
        key: Hash Unique (i_id);
    }
}

table! {
    /// Each item in each warehouse.
    Stock = "stock";
    columns {
        s_i_id: i32 = Integer;
        s_w_id: i32 = Integer;
        s_quantity: i32 = Integer;
        s_dist_01: Text = Char(24);
        s_dist_02: Text = Char(24);
        s_dist_03: Text = Char(24);
        s_dist_04: Text = Char(24);
        s_dist_05: Text = Char(24);
        s_dist_06: Text = Char(24);
        s_dist_07: Text = Char(24);
        s_dist_08: Text = Char(24);
        s_dist_09: Text = Char(24);
        s_dist_10: Text = Char(24);
        s_ytd: i64 = MONEY;
        s_order_cnt: i32 = Integer;
        s_remote_cnt: i32 = Integer;
        s_data: Text = Varchar(50);
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

/// The database.
pub(super) struct Database {
    pub(super) transactions: Arc<Transactions>,
    pub(super) sizes: Sizes,
    pub(super) warehouse: Warehouse,
    pub(super) district: District,
    pub(super) customer: Customer,
    pub(super) history: History,
    pub(super) new_order: NewOrder,
    pub(super) orders: Orders,
    pub(super) order_line: OrderLine,
    pub(super) item: Item,
    pub(super) stock: Stock,
}

impl Database {
    /// A database as the specification populates it, with indexes.
    ///
    /// # Errors
    ///
    /// When memory is short.
    pub(super) fn populated(sizes: Sizes) -> Result<Database, Failure> {
        let memory = Memory::new(None);
        let transactions = Transactions::new();
        let rows = populate::Tables {
            warehouse: Warehouse::create(&memory, &transactions),
            district: District::create(&memory, &transactions),
            customer: Customer::create(&memory, &transactions),
            history: History::create(&memory, &transactions),
            new_order: NewOrder::create(&memory, &transactions),
            orders: Orders::create(&memory, &transactions),
            order_line: OrderLine::create(&memory, &transactions),
            item: Item::create(&memory, &transactions),
            stock: Stock::create(&memory, &transactions),
        };
        rows.populate(sizes)?;
        Ok(Database {
            transactions,
            sizes,
            warehouse: Warehouse::open(rows.warehouse)?,
            district: District::open(rows.district)?,
            customer: Customer::open(rows.customer)?,
            history: History::open(rows.history)?,
            new_order: NewOrder::open(rows.new_order)?,
            orders: Orders::open(rows.orders)?,
            order_line: OrderLine::open(rows.order_line)?,
            item: Item::open(rows.item)?,
            stock: Stock::open(rows.stock)?,
        })
    }
}
