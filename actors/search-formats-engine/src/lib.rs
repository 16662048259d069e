//! Text of documents whose formats are complicated enough to be dangerous: PDF, DOCX, ODT, EPUB,
//! RTF, e-mail, notebooks, pages of manuals, and texts packed by gzip.
//!
//! ```text
//! ReaderPool::read(format, bytes) ─frame─▶ child process (limits, no shell, no files) ─frame─▶ ExtractedText
//!            │ too slow, died, nonsense                                              parse::read
//!            └──▶ that file is refused, the next one gets a fresh child
//! ```
//!
//! # What always holds
//!
//! - **Parsers run elsewhere.** A parser that panics, loops, overflows its stack or asks for all
//!   memory costs one file: its process has a memory limit, each file a time limit
//!   ([`DocumentLimits`]), and both answer as a [`DocumentRefusal`].
//! - **Bombs are cut.** Compressed parts are counted while they are unpacked: size, ratio, number
//!   and depth are bounded.
//! - **Nothing is followed.** No entity, link, image, macro or attachment leads to another file or
//!   address.
//! - **The bytes decide nothing.** The caller names the format ([`DocumentFormat::from_name`] knows
//!   the usual endings).

mod archive;
mod child;
mod docx;
mod epub;
mod format;
mod gzip;
mod mail;
mod manual;
mod markup;
mod notebook;
mod odt;
mod parse;
mod pdf;
mod rtf;
mod sheets;
mod soup;
mod text;

pub use child::{ReaderPool, ReaderProgram, serve, serve_if_asked};
pub use format::DocumentFormat;
pub use parse::read;
pub use text::{DocumentLimits, DocumentRefusal, ExtractedText};
