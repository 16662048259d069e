//! One document, in this process: what the child does.

use crate::format::DocumentFormat;
use crate::text::{DocumentLimits, DocumentRefusal, ExtractedText};
use crate::{docx, epub, gzip, mail, manual, notebook, odt, pdf, rtf, sheets};

/// Reads a document in this process: a hostile one can take it down, so programs use
/// [`crate::ReaderPool`].
///
/// # Errors
/// When the document is damaged, encrypted, without text, or too large unpacked.
pub fn read(
    format: DocumentFormat,
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentRefusal> {
    match format {
        DocumentFormat::Pdf => pdf::read(bytes, limits),
        DocumentFormat::Docx => docx::read(bytes, limits),
        DocumentFormat::OdfSheet => odt::read(bytes, limits),
        DocumentFormat::Xlsx => sheets::xlsx(bytes, limits),
        DocumentFormat::Pptx => sheets::pptx(bytes, limits),
        DocumentFormat::Odt => odt::read(bytes, limits),
        DocumentFormat::Rtf => rtf::read(bytes, limits),
        DocumentFormat::Epub => epub::read(bytes, limits),
        DocumentFormat::Mail => mail::read(bytes, limits),
        DocumentFormat::Mbox => mail::read_many(bytes, limits),
        DocumentFormat::Notebook => notebook::read(bytes, limits),
        DocumentFormat::Manual => manual::read(bytes, limits),
        DocumentFormat::Gzip => gzip::read(bytes, false, limits),
        DocumentFormat::GzipHtml => gzip::read(bytes, true, limits),
    }
}
