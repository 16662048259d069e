//! What is read out of sound documents.

use search_formats_engine::{Format, Refusal, Text};

use crate::{limits, make, readers};

fn read(format: Format, bytes: &[u8]) -> Text {
    readers(limits())
        .read(format, bytes)
        .unwrap_or_else(|refusal| panic!("{format:?}: {refusal}"))
}

#[test]
fn docx_has_title_keywords_headings_and_paragraphs() {
    let document = r#"<w:document xmlns:w="w"><w:body>
        <w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>First </w:t></w:r><w:r><w:t>stage</w:t></w:r></w:p>
        <w:p><w:r><w:t>Fuel &amp; oxid</w:t></w:r><w:r><w:t>iser</w:t><w:tab/><w:t>ready</w:t></w:r></w:p>
        <w:p><w:pPr><w:outlineLvl w:val="1"/></w:pPr><w:r><w:t>Second stage</w:t></w:r></w:p>
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body></w:document>"#;
    let text = read(Format::Docx, &make::docx(document));
    assert_eq!(text.title, "Launch plan");
    assert_eq!(text.tags, ["rocket", "launch"]);
    assert_eq!(text.headings, ["First stage", "Second stage"]);
    assert_eq!(
        text.body,
        "First stage\nFuel & oxidiser ready\nSecond stage\ncell\n"
    );
}

#[test]
fn odt_has_title_keywords_headings_and_paragraphs() {
    let content = r#"<office:document-content><office:body><office:text>
        <text:h text:outline-level="1">Orbit</text:h><text:p>A <text:span>low</text:span> one<text:line-break/>of 400 km</text:p>
        <text:p/></office:text></office:body></office:document-content>"#;
    let meta = r"<office:meta><dc:title>Plan</dc:title><meta:keyword>orbit</meta:keyword><meta:keyword>height</meta:keyword></office:meta>";
    let bytes = make::archive(&[
        ("content.xml", content.as_bytes()),
        ("meta.xml", meta.as_bytes()),
    ]);
    let text = read(Format::Odt, &bytes);
    assert_eq!(
        (text.title.as_str(), text.tags.as_slice()),
        ("Plan", ["orbit".to_owned(), "height".to_owned()].as_slice())
    );
    assert_eq!(text.headings, ["Orbit"]);
    assert_eq!(text.body, "Orbit\nA low one of 400 km\n");
}

#[test]
fn epub_is_read_in_reading_order_and_without_scripts() {
    let second = "<html><head><title>x</title></head><body><h2>Later</h2><p>the end&nbsp;here</p></body></html>";
    let first = "<html><body><h1>Begin</h1><script>alert(1)</script><p>once<br/>upon <i>a</i> time</p></body></html>";
    let text = read(
        Format::Epub,
        &make::epub(&[("b.xhtml", second), ("a.xhtml", first)]),
    );
    assert_eq!(text.title, "A & B");
    assert_eq!(text.headings, ["Begin", "Later"]);
    assert_eq!(text.body, "Begin\nonce upon a time\nLater\nthe end here\n");
}

#[test]
fn pdf_has_its_pages_and_its_title() {
    let text = read(
        Format::Pdf,
        &make::pdf(&["Telemetry was lost at noon", "and found again"]),
    );
    assert_eq!(text.title, "Flight report");
    assert_eq!(text.tags, ["flight", "report"]);
    assert!(
        text.body.contains("Telemetry was lost at noon"),
        "{:?}",
        text.body
    );
    assert!(
        text.body.find("noon") < text.body.find("found"),
        "{:?}",
        text.body
    );
}

#[test]
fn mail_has_subject_people_text_and_names_of_attachments() {
    let mail = "From: Ada <ada@example.org>\r\nTo: bob@example.org\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nDate: Sat, 21 Nov 2026 10:00:00 +0000\r\n\
        MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=X\r\n\r\n--X\r\nContent-Type: text/html; charset=utf-8\r\n\r\n\
        <p>The <b>valve</b> holds.</p><script>x()</script>\r\n--X\r\nContent-Type: application/pdf; name=valve.pdf\r\nContent-Disposition: attachment; filename=valve.pdf\r\n\r\nJVBERi0=\r\n--X--\r\n";
    let text = read(Format::Mail, mail.as_bytes());
    assert_eq!(text.title, "Grüße");
    for part in [
        "From: Ada <ada@example.org>",
        "To: bob@example.org",
        "2026-11-21",
        "The valve holds.",
        "Attachment: valve.pdf",
    ] {
        assert!(text.body.contains(part), "{part} in {:?}", text.body);
    }
    assert!(!text.body.contains("x()"), "{:?}", text.body);
}

#[test]
fn a_mailbox_has_all_its_messages() {
    let mbox = "From a@x Sat Nov 21 10:00:00 2026\nSubject: one\n\nfirst text\n\nFrom b@x Sat Nov 21 10:00:00 2026\nSubject: two\n\nsecond text\n";
    let text = read(Format::Mbox, mbox.as_bytes());
    assert_eq!(text.headings, ["one", "two"]);
    assert!(
        text.body.contains("first text") && text.body.contains("second text"),
        "{:?}",
        text.body
    );
}

#[test]
fn a_notebook_has_its_cells_and_what_they_printed() {
    let notebook = r##"{"nbformat":4,"cells":[{"cell_type":"markdown","source":["# Thrust\n","\n","How much"]},
        {"cell_type":"code","source":"print(thrust)","outputs":[{"output_type":"stream","text":["42 kN\n"]},
        {"output_type":"execute_result","data":{"text/plain":["'ok'"],"image/png":"iVBORw0KGgo="}}]}],"metadata":{}}"##;
    let text = read(Format::Notebook, notebook.as_bytes());
    assert_eq!(
        (text.title.as_str(), text.headings.as_slice()),
        ("Thrust", ["Thrust".to_owned()].as_slice())
    );
    assert_eq!(text.body, "Thrust\nHow much\nprint(thrust)\n42 kN\n'ok'\n");
}

#[test]
fn one_child_reads_many_documents() {
    let readers = readers(limits());
    for number in 0..20 {
        let mail = format!("Subject: m{number}\n\ntext\n");
        assert_eq!(
            readers.read(Format::Mail, mail.as_bytes()).unwrap().title,
            format!("m{number}")
        );
    }
    assert_eq!(
        readers.read(Format::Docx, &make::docx("<w:p/>")),
        Err(Refusal::NoText)
    );
    assert_eq!(
        readers
            .read(Format::Mail, b"Subject: after\n\nx")
            .unwrap()
            .title,
        "after"
    );
}
