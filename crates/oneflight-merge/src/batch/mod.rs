//! A mapped chunk: the distinct records that its rows declare and refer to, table by table, column by column.
//!
//!   Mapped ─┬─ tables ─▶ Recs ─▶ one column of cells for each column of the table ──▶ Rec, a view of one record
//!           ├─ rows ───▶ Log ──▶ Row: its line, and what it declares
//!           └─ rejects
//!
//! B1. In one table of a batch no two records have the same identity (key cells and external id).
//! B2. A [`Cell::Ref`] points at a record of the same batch, in the table that its column refers to.
//! B3. A row is in `rows` or in `rejects`, never in both; a rejected row left no record behind.
//! B4. A record costs no allocation of its own: texts stand in one buffer a column, the rest in vectors.

mod cells;
mod log;
mod mapped;
mod recs;
mod shown;

pub use cells::Cell;
pub use log::{Again, Declares, Log, Row};
pub use mapped::{Mapped, Reject};
pub use recs::{Rec, Recs};

pub(crate) use cells::{RecCells, word};
pub(crate) use shown::{joined, shown};
