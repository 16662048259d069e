//! S12: documents that are bombs, damaged, or end the process that reads them; the next one is read
//! all the same.

use std::time::{Duration, Instant};

use search_formats_engine::{DocumentFormat, DocumentLimits, DocumentRefusal, read};

use crate::{limits, make, readers};

fn refusal(format: DocumentFormat, bytes: &[u8]) -> DocumentRefusal {
    let readers = readers(limits());
    let refusal = readers.read(format, bytes).expect_err("it is refused");
    let next = readers.read(DocumentFormat::Mail, b"Subject: next\n\ntext");
    assert_eq!(
        next.map(|text| text.title),
        Ok("next".to_owned()),
        "after {refusal}"
    );
    refusal
}

#[test]
fn s12_an_archive_that_unpacks_to_a_thousand_times_its_size_is_refused() {
    let zeros = vec![b' '; 24 << 20];
    let bomb = make::archive(&[("word/document.xml", &zeros)]);
    assert!(bomb.len() < 100 << 10, "it is a bomb: {} bytes", bomb.len());
    assert!(matches!(
        refusal(DocumentFormat::Docx, &bomb),
        DocumentRefusal::Bomb(_)
    ));
}

#[test]
fn s12_an_archive_of_very_many_parts_is_refused() {
    let names: Vec<String> = (0..11_000).map(|i| format!("p{i}")).collect();
    let parts: Vec<(&str, &[u8])> = names
        .iter()
        .map(|name| (name.as_str(), b"".as_slice()))
        .collect();
    assert!(matches!(
        refusal(DocumentFormat::Odt, &make::archive(&parts)),
        DocumentRefusal::Bomb(_)
    ));
}

#[test]
fn s12_elements_deep_inside_each_other_are_refused() {
    let deep = format!("{}x{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
    assert!(matches!(
        refusal(DocumentFormat::Docx, &make::docx(&deep)),
        DocumentRefusal::Bomb(_)
    ));
}

#[test]
fn s12_entities_are_not_expanded() {
    let laughs = r#"<!DOCTYPE x [<!ENTITY a "haha"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]><w:p><w:t>&b;&f; end</w:t></w:p>"#;
    let text = readers(limits())
        .read(DocumentFormat::Docx, &make::docx(laughs))
        .unwrap();
    assert!(
        !text.body.contains("haha") && !text.body.contains("root:"),
        "{:?}",
        text.body
    );
    assert!(text.body.contains("end"));
}

#[test]
fn a_text_longer_than_the_limit_is_cut_at_a_character() {
    let paragraph = format!("<w:p><w:t>{}</w:t></w:p>", "ü".repeat(1000));
    let small = DocumentLimits {
        text: 101,
        ..limits()
    };
    let text = readers(small)
        .read(DocumentFormat::Docx, &make::docx(&paragraph.repeat(10)))
        .unwrap();
    assert_eq!(text.body, format!("{}\n", "ü".repeat(50)));
}

#[test]
fn s12_a_child_out_of_memory_costs_one_document() {
    let small = DocumentLimits {
        memory: 256 << 20,
        ..limits()
    };
    let readers = readers(small);
    let zeros = vec![0; 400 << 20];
    let refusal = readers
        .read(DocumentFormat::Mail, &zeros)
        .expect_err("more than the child may have");
    assert!(matches!(refusal, DocumentRefusal::Died(_)), "{refusal}");
    assert_eq!(
        readers
            .read(DocumentFormat::Mail, b"Subject: next\n\ntext")
            .unwrap()
            .title,
        "next"
    );
}

#[test]
fn a_child_that_does_not_answer_in_time_is_ended() {
    let program = search_formats_engine::ReaderProgram {
        path: "/bin/sleep".into(),
        arguments: vec!["1000".into()],
    };
    let short = DocumentLimits {
        time: Duration::from_millis(200),
        ..limits()
    };
    let begun = Instant::now();
    let refusal = search_formats_engine::ReaderPool::new(program, short)
        .read(DocumentFormat::Mail, b"Subject: x\n\ny")
        .expect_err("it sleeps");
    assert_eq!(refusal, DocumentRefusal::TooSlow(short.time));
    assert!(
        begun.elapsed() < Duration::from_secs(100),
        "it was not waited for"
    );
}

#[test]
fn damaged_documents_are_refused_with_a_reason() {
    for format in [
        DocumentFormat::Pdf,
        DocumentFormat::Docx,
        DocumentFormat::Odt,
        DocumentFormat::Epub,
        DocumentFormat::Notebook,
    ] {
        let why = refusal(format, b"no such thing \x00\xff\xfe");
        assert!(
            matches!(why, DocumentRefusal::Malformed(_)),
            "{format:?}: {why}"
        );
    }
    let sound = make::epub(&[("a.xhtml", "<p>text</p>")]);
    assert!(matches!(
        refusal(DocumentFormat::Epub, &sound[..sound.len() / 2]),
        DocumentRefusal::Malformed(_)
    ));
}

#[test]
fn s12_every_truncation_and_flipped_byte_is_survived() {
    let small = DocumentLimits {
        unpacked: 1 << 20,
        ..limits()
    };
    let documents = [
        (
            DocumentFormat::Docx,
            make::docx("<w:p><w:t>some text</w:t></w:p>"),
        ),
        (
            DocumentFormat::Epub,
            make::epub(&[("a.xhtml", "<p>text</p>")]),
        ),
        (
            DocumentFormat::Mail,
            b"Subject: x\nContent-Type: multipart/mixed; boundary=X\n\n--X\n\ntext\n--X--\n"
                .to_vec(),
        ),
        (
            DocumentFormat::Notebook,
            br##"{"cells":[{"cell_type":"markdown","source":["# a"]}]}"##.to_vec(),
        ),
    ];
    for (format, bytes) in documents {
        for end in 0..bytes.len() {
            let _ = read(format, &bytes[..end], &small);
        }
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x55;
            let _ = read(format, &flipped, &small);
        }
    }
}
