//! What is read out of sound documents.

use search_formats_engine::{DocumentFormat, DocumentRefusal, ExtractedText};

use crate::{limits, make, readers};

fn read(format: DocumentFormat, bytes: &[u8]) -> ExtractedText {
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
    let text = read(DocumentFormat::Docx, &make::docx(document));
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
    let text = read(DocumentFormat::Odt, &bytes);
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
        DocumentFormat::Epub,
        &make::epub(&[("b.xhtml", second), ("a.xhtml", first)]),
    );
    assert_eq!(text.title, "A & B");
    assert_eq!(text.headings, ["Begin", "Later"]);
    assert_eq!(
        text.body,
        "Mira Voss\nB. Editor\nBegin\nonce upon a time\nLater\nthe end here\n"
    );
}

#[test]
fn pdf_has_its_pages_and_its_title() {
    let text = read(
        DocumentFormat::Pdf,
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
    let text = read(DocumentFormat::Mail, mail.as_bytes());
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
fn i16_attachments_that_are_texts_are_read() {
    let mail = "From: a@example.org\r\nSubject: prices\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=X\r\n\r\n\
        --X\r\nContent-Type: text/plain\r\n\r\nSee below.\r\n\
        --X\r\nContent-Type: text/csv; name=a.csv\r\nContent-Disposition: attachment; filename=a.csv\r\n\r\nbassoon,12\r\n\
        --X\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=b.json\r\n\r\neyJhIjogInBpY2NvbG8ifQ==\r\n\
        --X\r\nContent-Type: message/rfc822\r\nContent-Disposition: attachment\r\n\r\nSubject: inner\r\n\r\ncontrabass\r\n--X--\r\n";
    let text = read(DocumentFormat::Mail, mail.as_bytes());
    assert_eq!(text.title, "prices");
    for part in [
        "See below.",
        "Attachment: a.csv",
        "bassoon,12",
        "piccolo",
        "inner",
        "contrabass",
    ] {
        assert!(text.body.contains(part), "{part} in {:?}", text.body);
    }
}

#[test]
fn a_mailbox_has_all_its_messages() {
    let mbox = "From a@x Sat Nov 21 10:00:00 2026\nSubject: one\n\nfirst text\n\nFrom b@x Sat Nov 21 10:00:00 2026\nSubject: two\n\nsecond text\n";
    let text = read(DocumentFormat::Mbox, mbox.as_bytes());
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
    let text = read(DocumentFormat::Notebook, notebook.as_bytes());
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
            readers
                .read(DocumentFormat::Mail, mail.as_bytes())
                .unwrap()
                .title,
            format!("m{number}")
        );
    }
    assert_eq!(
        readers.read(DocumentFormat::Docx, &make::docx("<w:p/>")),
        Err(DocumentRefusal::NoText)
    );
    assert_eq!(
        readers
            .read(DocumentFormat::Mail, b"Subject: after\n\nx")
            .unwrap()
            .title,
        "after"
    );
}

#[test]
fn i16_tables_and_slides_have_their_cells_and_lines() {
    let shared = "<sst><si><t>Sensor</t><rPh><t>no</t></rPh></si><si><r><t>Out</t></r><r><t>side</t></r></si></sst>";
    let sheet = r#"<worksheet><sheetData><row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>
        <row><c><f>SUM(A1)</f><v>42</v></c><c t="inlineStr"><is><t>kelvin</t></is></c></row></sheetData></worksheet>"#;
    let workbook = r#"<workbook><sheets><sheet name="Heating" sheetId="1"/></sheets></workbook>"#;
    let xlsx = make::archive(&[
        ("xl/workbook.xml", workbook.as_bytes()),
        ("xl/sharedStrings.xml", shared.as_bytes()),
        ("xl/worksheets/sheet2.xml", sheet.as_bytes()),
    ]);
    let text = read(DocumentFormat::Xlsx, &xlsx);
    assert_eq!(text.headings, ["Heating"]);
    assert_eq!(text.body, "Heating\nSensor\tOutside\n42\tkelvin\n");

    let slide = r#"<p:sld><p:sp><p:nvPr><p:ph type="title"/></p:nvPr><a:p><a:r><a:t>Greenhouse</a:t></a:r></a:p></p:sp>
        <p:sp><a:p><a:r><a:t>glass and </a:t></a:r><a:r><a:t>steel</a:t></a:r></a:p></p:sp></p:sld>"#;
    let pptx = make::archive(&[("ppt/slides/slide1.xml", slide.as_bytes())]);
    let text = read(DocumentFormat::Pptx, &pptx);
    assert_eq!(text.headings, ["Greenhouse"]);
    assert_eq!(text.body, "Greenhouse\nglass and steel\n");

    let content = "<office:spreadsheet><table:table-row><table:table-cell><text:p>Rent</text:p></table:table-cell>\
        <table:table-cell><text:p>900</text:p></table:table-cell></table:table-row></office:spreadsheet>";
    let ods = make::archive(&[("content.xml", content.as_bytes())]);
    assert_eq!(read(DocumentFormat::OdfSheet, &ods).body, "Rent\n900\n");
}

#[test]
fn i16_packed_manuals_are_read_and_what_is_no_text_is_not() {
    use std::io::Write;
    let packed = |bytes: &[u8]| {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    };
    let page = b".TH CHROOT 8\n.SH NAME\nchroot \\- run with another root\n.SH OPTIONS\n.TP\n\\fB\\-\\-userspec\\fR=U\nuser\n";
    let text = read(DocumentFormat::Gzip, &packed(page));
    assert_eq!(text.title, "chroot - run with another root");
    assert!(text.body.contains("--userspec=U user"), "{text:?}");
    assert_eq!(read(DocumentFormat::Manual, page), text);
    assert_eq!(
        read(DocumentFormat::Gzip, &packed(b"plain notes\n")).body,
        "plain notes\n"
    );
    let html = packed(b"<table><tr><td>a<td>b</table>");
    assert_eq!(read(DocumentFormat::GzipHtml, &html).body, "a b\n");
    assert_eq!(
        read(DocumentFormat::Gzip, &packed(&make::pdf(&["in a pdf"])))
            .body
            .trim(),
        "in a pdf"
    );
    let refused = |bytes: &[u8]| readers(limits()).read(DocumentFormat::Gzip, bytes);
    assert_eq!(
        refused(&packed(b"\x7fELF\0\0")),
        Err(DocumentRefusal::NotText)
    );
    assert!(matches!(
        refused(b"\x1f\x8bno"),
        Err(DocumentRefusal::Malformed(_))
    ));
    let bomb = packed(&vec![b'a'; 200 << 20]);
    assert!(matches!(refused(&bomb), Err(DocumentRefusal::Bomb(_))));
}

#[test]
fn i16_a_message_without_a_text_part_has_words_and_its_date() {
    let message =
        b"From: a@example.org\r\nSubject: Order\r\nDate: Sat, 21 Nov 2026 00:00:00 +0000\r\n\
        MIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n\r\n\
        <head><style>p {}</style></head><table><tr><td>Stapler</td><td>Quantity</td></tr></table>\
        <ul><li>eins<li>zwei</ul>Kind&nbsp;regards\r\n";
    let text = read(DocumentFormat::Mail, message);
    assert!(
        text.body
            .ends_with("Stapler Quantity\neins\nzwei\nKind regards\n"),
        "{text:?}"
    );
    assert_eq!(text.written, Some(1_795_219_200));
}
