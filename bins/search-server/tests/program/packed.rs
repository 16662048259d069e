//! Documents of complicated formats, read by the program itself with the memory that it has: its
//! allocator reserves more than a test program does.

use scripted_peers::Program;

use super::{get, home, program, search};

/// A PDF with one line of text a page.
fn pdf(pages: &[&str]) -> Vec<u8> {
    let count = pages.len();
    let kids = (0..count).map(|page| format!("{} 0 R", 4 + 2 * page));
    let kids = kids.collect::<Vec<_>>().join(" ");
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {count} >>"),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
    ];
    for (page, text) in pages.iter().enumerate() {
        let drawn = format!("BT /F1 12 Tf 72 720 Td ({text}) Tj ET");
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] \
             /Resources << /Font << /F1 3 0 R >> >> /Contents {} 0 R >>",
            5 + 2 * page
        ));
        let length = drawn.len();
        objects.push(format!(
            "<< /Length {length} >>\nstream\n{drawn}\nendstream"
        ));
    }
    let mut file = "%PDF-1.4\n".to_owned();
    let mut table = String::new();
    for (number, object) in objects.iter().enumerate() {
        table += &format!("{:010} 00000 n \n", file.len());
        file += &format!("{} 0 obj\n{object}\nendobj\n", number + 1);
    }
    let (start, size) = (file.len(), objects.len() + 1);
    file += &format!(
        "xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n\
         << /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    );
    file.into_bytes()
}

#[test]
fn i16_the_program_itself_reads_a_pdf() {
    let home = home();
    let file = home.path().join("Documents/lease.pdf");
    std::fs::write(file, pdf(&["Rent and deposit", "Electricity in kilowatts"])).expect("a file");
    let mut running = Program::start(program(home.path()));
    running.wait_for("source.ready");
    for word in ["deposit", "kilowatts"] {
        let found = search(&running, word).body;
        assert!(found.contains("lease.pdf"), "{word}: {found}");
    }
    let health = get(&running, "/health").body;
    assert!(!health.contains("parser_failed"), "{health}");
    assert!(!health.contains("damaged"), "{health}");
    running.end();
}
