//! Settings as tables with one row a key: decoding, documents and `config --show` come from the
//! same row.
//!
//! ```text
//! table! { "vms" = whole(1..=1000) => capacity.vms; }
//!    ├─ SettingTable::read ──────────> the settings struct (with the file's mistakes)
//!    ├─ SettingTable::override_with ─> variables and flags on top of it
//!    └─ SettingTable::describe ──────> TableInfo ──> JSON Schema, docs/CONFIG.md, the effective
//!                                      settings
//! ```
//!
//! ```
//! use config_core::{ConfigInput, Environment, integer, table};
//!
//! #[derive(Default)]
//! struct Pool { clones: usize, templates: u8 }
//!
//! table! {
//!     /// What waits, and how much of it.
//!     static POOL: Pool = "[pool]" {
//!         /// clones that wait of each kind
//!         "clones" = integer(0..=100) => clones;
//!         /// templates kept
//!         "templates" = integer(0..=100) => templates;
//!     }
//! }
//!
//! let environment = Environment::default();
//! let input = ConfigInput::toml("pool.toml", "clones = 3\n", &environment);
//! let pool = input.decode(|item| POOL.read_new(item)).expect("it is right").value;
//! assert_eq!((pool.clones, pool.templates), (3, 0));
//! ```

mod bounded;
mod effective;
mod flags;
mod info;
mod kinds;
mod rows;
mod schema;
mod texts;

pub use bounded::{format_size, size, span};
pub(crate) use effective::Layers;
pub use effective::{EffectiveSetting, render_effective};
pub use flags::FlagValues;
pub use info::{RowInfo, TableInfo, ValueShape};
pub use kinds::{
    BOOLEAN, Choice, DescribeShape, FILE_PATH, IntegerRange, List, Map, OptionalKind, PROGRAM,
    PlainKind, SECRET, STORE_URL, Set, ValueContext, ValueKind, choice, integer, list, map, map_of,
    no_text, opt, set,
};
pub use rows::{ExternalTable, Record, SettingRow, SettingTable, record};
pub use texts::{TextKind, from_str};
