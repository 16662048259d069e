//! Small documents, written here.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A ZIP archive of these parts.
pub(crate) fn archive(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, bytes) in parts {
        zip.start_file(*name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

pub(crate) fn docx(document: &str) -> Vec<u8> {
    let core = r#"<cp:coreProperties xmlns:cp="c" xmlns:dc="d"><dc:title>Launch plan</dc:title><cp:keywords>rocket; launch</cp:keywords></cp:coreProperties>"#;
    archive(&[
        ("docProps/core.xml", core.as_bytes()),
        ("word/document.xml", document.as_bytes()),
    ])
}

pub(crate) fn epub(chapters: &[(&str, &str)]) -> Vec<u8> {
    let items: String = (0..chapters.len())
        .map(|i| format!(r#"<item id="c{i}" href="{}"/>"#, chapters[i].0))
        .collect();
    // Reading order is the spine's, not the manifest's.
    let spine: String = (0..chapters.len())
        .rev()
        .map(|i| format!(r#"<itemref idref="c{i}"/>"#))
        .collect();
    let opf = format!(
        "<package><metadata><dc:title>A &amp; B</dc:title><dc:creator>Mira Voss</dc:creator><dc:creator>B. Editor</dc:creator></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    );
    let container =
        r#"<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>"#;
    let names: Vec<String> = chapters
        .iter()
        .map(|(name, _)| format!("OEBPS/{name}"))
        .collect();
    let mut parts: Vec<(&str, &[u8])> = vec![
        ("META-INF/container.xml", container.as_bytes()),
        ("OEBPS/book.opf", opf.as_bytes()),
    ];
    parts.extend(
        names
            .iter()
            .zip(chapters)
            .map(|(name, (_, text))| (name.as_str(), text.as_bytes())),
    );
    archive(&parts)
}

/// A PDF of one page for each text, with a table of contents of byte offsets as the format wants
/// it.
pub(crate) fn pdf(pages: &[&str]) -> Vec<u8> {
    let kids: Vec<String> = (0..pages.len())
        .map(|i| format!("{} 0 R", 5 + 2 * i))
        .collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!(
            "<< /Type /Pages /Kids [{}] /Count {} >>",
            kids.join(" "),
            pages.len()
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
        "<< /Title (Flight report) /Keywords (flight, report) >>".to_owned(),
    ];
    for (i, text) in pages.iter().enumerate() {
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents {} 0 R >>",
            6 + 2 * i
        ));
        let stream = format!("BT /F1 12 Tf 72 720 Td ({text}) Tj ET");
        objects.push(format!(
            "<< /Length {} >>\nstream\n{stream}\nendstream",
            stream.len()
        ));
    }
    let mut pdf = b"%PDF-1.4\n".to_vec();
    let mut offsets = Vec::new();
    for (i, object) in objects.iter().enumerate() {
        offsets.push(pdf.len());
        pdf.extend(format!("{} 0 obj\n{object}\nendobj\n", i + 1).into_bytes());
    }
    let start = pdf.len();
    pdf.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).into_bytes());
    for offset in offsets {
        pdf.extend(format!("{offset:010} 00000 n \n").into_bytes());
    }
    let size = objects.len() + 1;
    pdf.extend(
        format!("trailer\n<< /Size {size} /Root 1 0 R /Info 4 0 R >>\nstartxref\n{start}\n%%EOF\n")
            .into_bytes(),
    );
    pdf
}
