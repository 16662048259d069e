//! One document, in this process: what the child does.

use crate::format::Format;
use crate::text::{Limits, Refusal, Text};
use crate::{docx, epub, gzip, mail, manual, notebook, odt, pdf, rtf, sheets};

/// Reads a document in this process: a hostile one can take it down, so programs use
/// [`crate::Readers`].
///
/// # Errors
/// When the document is damaged, encrypted, without text, or too large unpacked.
pub fn read(format: Format, bytes: &[u8], limits: &Limits) -> Result<Text, Refusal> {
    match format {
        Format::Pdf => pdf::read(bytes, limits),
        Format::Docx => docx::read(bytes, limits),
        Format::OdfSheet => odt::read(bytes, limits),
        Format::Xlsx => sheets::xlsx(bytes, limits),
        Format::Pptx => sheets::pptx(bytes, limits),
        Format::Odt => odt::read(bytes, limits),
        Format::Rtf => rtf::read(bytes, limits),
        Format::Epub => epub::read(bytes, limits),
        Format::Mail => mail::read(bytes, limits),
        Format::Mbox => mail::read_many(bytes, limits),
        Format::Notebook => notebook::read(bytes, limits),
        Format::Manual => manual::read(bytes, limits),
        Format::Gzip => gzip::read(bytes, false, limits),
        Format::GzipHtml => gzip::read(bytes, true, limits),
    }
}
