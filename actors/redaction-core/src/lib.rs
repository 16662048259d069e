//! Secrets taken out of output as it streams, in every form in which programs are known to print
//! them, and however the output is cut into writes.
//!
//! ```text
//! bytes ─┬─ as they are                    ──▶ plain, base64, hexadecimal, URL, JSON
//!        ├─ visible: without escape sequences of terminals, control and zero-width characters ──▶ the same
//!        ├─ unescaped: \uXXXX, \xXX, \NNN, \n   ──▶ plain
//!        ├─ joined: base64 over line ends       ──▶ base64
//!        ├─ nibbles: hex digits over separators ──▶ hexadecimal
//!        └─ dumps: lines of od, hexdump, xxd    ──▶ plain
//! ```
//! Each reading marks the bytes of what it finds; what no reading waits for any more is given out,
//! with [`MASK`] for each run of marked bytes. The cost for ordinary text is one search and four
//! scans of its bytes; the held-back rest is bounded.
//!
//! This is a net for accidents. Whoever wants a secret to pass can always encode it in a way that
//! is not looked for.

mod dumps;
mod forms;
mod index;
mod joined;
mod stream;
mod text;

pub use forms::{Minimums, SecretForms, TooManySecrets};
pub use stream::{CompiledForms, StreamMasker};

/// What stands in place of a secret.
pub const MASK: &str = "***";
