//! Which formats there are.

use serde::{Deserialize, Serialize};

use crate::manual;

/// A format that is read in a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DocumentFormat {
    /// Portable Document Format (ISO 32000).
    Pdf,
    /// Word processing, Office Open XML (ECMA-376).
    Docx,
    /// Word processing, OpenDocument (ISO 26300).
    Odt,
    /// Word processing, Rich Text Format.
    Rtf,
    /// Books, EPUB 2 and 3.
    Epub,
    /// One message (RFC 5322).
    Mail,
    /// Many messages in one file (RFC 4155).
    Mbox,
    /// A Jupyter notebook (nbformat 4).
    Notebook,
    /// A table or a presentation, OpenDocument.
    OdfSheet,
    /// A table, Office Open XML.
    Xlsx,
    /// A presentation, Office Open XML.
    Pptx,
    /// A page of a manual (man, mdoc); its name and its content say so together.
    Manual,
    /// A text, a page of a manual or a PDF packed by gzip.
    Gzip,
    /// A page of HTML packed by gzip.
    GzipHtml,
}

impl DocumentFormat {
    /// The format that a file's name promises.
    pub fn from_name(name: &str) -> Option<Self> {
        let (stem, ending) = name.rsplit_once('.')?;
        if ending.eq_ignore_ascii_case("gz") {
            return gzip_format(stem);
        }
        let known = [
            ("pdf", Self::Pdf),
            ("docx", Self::Docx),
            ("odt", Self::Odt),
            ("ods", Self::OdfSheet),
            ("odp", Self::OdfSheet),
            ("xlsx", Self::Xlsx),
            ("pptx", Self::Pptx),
            ("rtf", Self::Rtf),
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

    /// The same, where only the content tells: a page of a manual is called as a library or a log
    /// that was put away may be (`libx.so.1`, `log.1`).
    pub fn detect(name: &str, bytes: &[u8]) -> Option<Self> {
        (Self::may_be_manual(name) && manual::is_page(bytes)).then_some(Self::Manual)
    }

    /// Whether a file of this name may be a page of a manual.
    pub fn may_be_manual(name: &str) -> bool {
        manual::may_be_named(name.rsplit('/').next().unwrap_or(name))
    }
}

/// Archives in gzip are no texts.
fn gzip_format(stem: &str) -> Option<DocumentFormat> {
    let ending = stem.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_one_of = |list: &[&str]| list.iter().any(|one| ending.eq_ignore_ascii_case(one));
    if is_one_of(&["tar", "cpio", "img", "iso", "vmdk", "qcow2", "raw", "bin"]) {
        return None;
    }
    Some(if is_one_of(&["html", "htm", "xhtml"]) {
        DocumentFormat::GzipHtml
    } else {
        DocumentFormat::Gzip
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings() {
        assert_eq!(
            DocumentFormat::from_name("a/b/Paper.PDF"),
            Some(DocumentFormat::Pdf)
        );
        assert_eq!(
            DocumentFormat::from_name("mail.eml"),
            Some(DocumentFormat::Mail)
        );
        assert_eq!(DocumentFormat::from_name("x.md"), None);
        assert_eq!(DocumentFormat::from_name("pdf"), None);
        assert_eq!(
            DocumentFormat::from_name("man8/chroot.8.gz"),
            Some(DocumentFormat::Gzip)
        );
        assert_eq!(
            DocumentFormat::from_name("a.html.gz"),
            Some(DocumentFormat::GzipHtml)
        );
        assert_eq!(DocumentFormat::from_name("a.tar.gz"), None);
        let page = b".TH LS 1\n.SH NAME\n";
        assert_eq!(
            DocumentFormat::detect("man1/ls.1", page),
            Some(DocumentFormat::Manual)
        );
        assert_eq!(
            DocumentFormat::detect("man1/ls.1ssl", page),
            Some(DocumentFormat::Manual)
        );
        assert_eq!(DocumentFormat::detect("log.1", b"12:00 started"), None);
        assert_eq!(DocumentFormat::detect("10.1000/17.md", page), None);
    }
}
