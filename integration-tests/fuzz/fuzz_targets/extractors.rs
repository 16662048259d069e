//! Documents in packed formats: the first byte chooses the format, the rest is the document. Any
//! document ends in a text within the limits or in a refusal. PDF is left out: its parser is
//! somebody else's and is known to panic, which is why documents are read in a process of their
//! own.
#![no_main]

use libfuzzer_sys::fuzz_target;
use search_formats_engine::{DocumentFormat, DocumentLimits, read};

const FORMATS: [DocumentFormat; 7] = [
    DocumentFormat::Docx,
    DocumentFormat::Odt,
    DocumentFormat::Epub,
    DocumentFormat::Mail,
    DocumentFormat::Mbox,
    DocumentFormat::Notebook,
    DocumentFormat::Rtf,
];

fuzz_target!(|input: &[u8]| {
    let Some((&kind, document)) = input.split_first() else {
        return;
    };
    let format = FORMATS[usize::from(kind) % FORMATS.len()];
    match read(format, document, &DocumentLimits::default()) {
        Ok(text) => assert!(!format!("{text:?}").is_empty()),
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
});
