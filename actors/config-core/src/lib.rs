//! Configuration text to checked values: spans, suggestions, environment as a map, secrets.
//!
//! ```text
//! bytes ── source ──> text ── syntax (JSON | TOML) ──> spanned tree ── expand ${VAR} ──> decode ──> checked struct
//!              └────────────────────┴──────────── findings ──┴──────────┴──> Diagnostics (all of them at once)
//! ```
//!
//! A product describes its file once, as a function from an [`ConfigItem`] to its checked struct;
//! this crate finds every mistake of the text in one pass and shows each with its line, a caret
//! and, where a name is nearly right, the name that was meant. Nothing here reads a file, the
//! process environment or a clock.
//!
//! ```
//! use config_core::{Environment, ConfigInput};
//!
//! #[derive(Debug, PartialEq)]
//! struct Tick { seconds: i64 }
//!
//! let environment = Environment::default();
//! let input = ConfigInput::toml("orchestrator.toml", "tick_interval_sec = 300\n", &environment);
//! let wrong = input.decode(|item| {
//!     item.fields("the file", &["tick_interval_secs"], |fields| {
//!         let seconds = fields.required("tick_interval_secs", |item| item.integer(1..=86_400));
//!         Some(Tick { seconds: seconds? })
//!     })
//! });
//! let message = wrong.expect_err("the key is misspelt").to_string();
//! assert!(message.contains("orchestrator.toml:1:1: unknown key `tick_interval_sec`"));
//! assert!(message.contains("did you mean `tick_interval_secs`?"));
//! ```

mod bytes;
mod decode;
mod diagnostic;
mod duration;
mod environment;
mod expand;
mod input;
mod link;
mod object_place;
mod object_settings;
mod origin;
mod public;
mod redact;
mod secret;
mod severity;
mod snippet;
mod source;
mod suggest;
mod syntax;
mod table;
mod text;
mod tree;
mod unknown_keys;
mod untrusted_text;
mod value_error;
mod written;

pub use bytes::ByteSize;
pub use decode::{Choices, ConfigItem, LOG_LEVELS, ObjectFields, choose};
pub use diagnostic::{Colours, Diagnostic, Diagnostics};
pub use duration::{format_duration, parse_duration};
pub use environment::{Environment, NotUnicode};
pub use input::{ConfigInput, DecodeResult, SecretPlace};
pub use link::parse_http_url;
pub use object_place::{Bucket, ObjectKeys, ObjectPlace, PlaceError};
pub use object_settings::{OBJECTS, ObjectSettings, ObjectTable};
pub use origin::{Setting, SettingOrigin};
pub use public::is_public;
pub use secret::Secret;
pub use severity::Severity;
pub use source::{MAX_DEPTH, MAX_FILE_BYTES};
pub use suggest::{quoted, suggestion};
pub use syntax::ConfigFormat;
pub use table::{
    BOOLEAN, Choice, DescribeShape, EffectiveSetting, ExternalTable, FILE_PATH, FlagValues,
    IntegerRange, List, Map, OptionalKind, PROGRAM, PlainKind, Record, RowInfo, SECRET, STORE_URL,
    Set, SettingRow, SettingTable, TableInfo, TextKind, ValueContext, ValueKind, ValueShape,
    choice, format_size, from_str, integer, list, map, map_of, no_text, opt, record,
    render_effective, set, size, span,
};
pub use text::SourceText;
pub use unknown_keys::UnknownKeys;
pub use untrusted_text::{is_hidden, without_colours};
pub use value_error::ValueError;
pub use written::{TextPlace, WrittenValue};
