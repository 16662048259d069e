//! Which formats there are.

use serde::{Deserialize, Serialize};

/// A format that is read in a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Format {
    /// Portable Document Format (ISO 32000).
    Pdf,
    /// Word processing, Office Open XML (ECMA-376).
    Docx,
    /// Word processing, OpenDocument (ISO 26300).
    Odt,
    /// Books, EPUB 2 and 3.
    Epub,
    /// One message (RFC 5322).
    Mail,
    /// Many messages in one file (RFC 4155).
    Mbox,
    /// A Jupyter notebook (nbformat 4).
    Notebook,
}

impl Format {
    /// The format that a file's name promises.
    pub fn of_name(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        let known = [
            ("pdf", Self::Pdf),
            ("docx", Self::Docx),
            ("odt", Self::Odt),
            ("epub", Self::Epub),
            ("eml", Self::Mail),
            ("mbox", Self::Mbox),
            ("ipynb", Self::Notebook),
        ];
        let found = known
            .iter()
            .find(|(known, _)| ending.eq_ignore_ascii_case(known));
        found.map(|(_, format)| *format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings() {
        assert_eq!(Format::of_name("a/b/Paper.PDF"), Some(Format::Pdf));
        assert_eq!(Format::of_name("mail.eml"), Some(Format::Mail));
        assert_eq!(Format::of_name("x.md"), None);
        assert_eq!(Format::of_name("pdf"), None);
    }
}
