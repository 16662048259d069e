//! Folders as they are found in the world.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::harness::Home;

#[test]
fn s07_what_is_no_file_of_the_folder_is_skipped_and_reported() {
    let home = Home::new();
    home.write("good.txt", "needle in a good file\n");
    let files = home.files();
    std::fs::write(home.path().join("outside.txt"), "needle outside\n").expect("a file");
    symlink(home.path().join("outside.txt"), files.join("out.txt")).expect("a link");
    symlink(&files, files.join("loop")).expect("a link");
    symlink("/dev/zero", files.join("zero.txt")).expect("a link");
    symlink("/proc", files.join("proc")).expect("a link");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        files.join("fifo.txt"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from(0o600),
        0,
    )
    .expect("a FIFO");
    let _socket =
        std::os::unix::net::UnixListener::bind(files.join("socket.txt")).expect("a socket");
    std::fs::File::create(files.join("sparse.txt"))
        .and_then(|file| file.set_len(100 << 30))
        .expect("a sparse file");
    std::fs::write(files.join("binary.txt"), b"needle\0\x01\x02").expect("a file");
    std::fs::write(files.join("empty.txt"), b"").expect("a file");
    let odd = std::ffi::OsStr::from_bytes(b"n\xe4me.txt");
    std::fs::write(files.join(odd), "needle under a name that is not UTF-8\n").expect("a file");
    let server = home.start();
    let mut found = server.found("needle");
    found.sort();
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0], "good.txt");
    let skipped = server.get("/health").json()["sources"][0]["skipped"].clone();
    let count: u64 = skipped
        .as_object()
        .expect("counts")
        .values()
        .filter_map(serde_json::Value::as_u64)
        .sum();
    assert!(count >= 8, "{skipped}");
    for reason in [
        "binary",
        "too_large",
        "symlink_loop",
        "symlink_out_of_root",
        "not_a_regular_file",
    ] {
        assert!(
            skipped.to_string().contains(reason),
            "{reason} is not in {skipped}"
        );
    }
    let result = server.search(&json!({"search_term": "name that is not UTF-8"}));
    let id = result["results"][0]["id"].as_str().expect("an id");
    let view = server.get(&format!("/api/documents/{}", id.replace('%', "%25")));
    assert_eq!(view.status, 200, "{}", view.text());
}

#[test]
fn text_in_any_encoding_is_found() {
    let home = Home::new();
    home.write(
        "utf16.txt",
        "\u{feff}Smörgåsbord"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>(),
    );
    home.write(
        "latin1.txt",
        b"Caf\xe9 cr\xe8me et d\xe9jeuner \xe0 la fran\xe7aise, voil\xe0 la fa\xe7ade.\n",
    );
    home.write("bom.txt", "\u{feff}Blåbärsoppa\n");
    let server = home.start();
    for (query, key) in [
        ("smörgåsbord", "utf16.txt"),
        ("smorgasbord", "utf16.txt"),
        ("café", "latin1.txt"),
        ("blabarsoppa", "bom.txt"),
    ] {
        assert_eq!(server.found(query), [key], "{query}");
    }
}

#[test]
fn globs_choose_the_files() {
    let home = Home::new();
    for name in ["a.md", "b.txt", "docs/c.md", "docs/drafts/d.md", "e.rs"] {
        home.write(name, "numbat\n");
    }
    let mut roles = home.role("BM25");
    roles["haystacks"][0]["extra_parameters"] = json!({"glob": "*.md, *.rs, !docs/drafts/**"});
    let server = home.start_with(&roles, |_| {});
    let mut found = server.found("numbat");
    found.sort();
    assert_eq!(found, ["a.md", "docs/c.md", "e.rs"]);
}

#[test]
fn a_folder_that_comes_back_is_searched() {
    let home = Home::new();
    home.write("a.txt", "bandicoot\n");
    std::fs::rename(home.files(), home.path().join("away")).expect("moved");
    let server = home.start();
    let source = || server.get("/health").json()["sources"][0].clone();
    assert_eq!(source()["state"], "failed");
    assert!(
        source()["error"]
            .as_str()
            .is_some_and(|error| error.contains("files")),
        "{}",
        source()
    );
    std::fs::rename(home.path().join("away"), home.files()).expect("moved");
    server.eventually("it is searched", || server.found("bandicoot") == ["a.txt"]);
    assert_eq!(source()["state"], "ready");
    assert!(Path::new(&home.files()).exists());
}

#[test]
fn a_file_that_vanishes_between_search_and_excerpt_shows_its_title() {
    let home = Home::new();
    home.write("gone.md", "# Title of gone\n\nquoll quoll\n");
    let server = home.start_with(&home.role("BM25"), |options| options.cache_bytes = 0);
    // Unreadable instead of deleted: the index still holds it, the file cannot be shown.
    std::fs::rename(home.files(), home.path().join("away")).expect("moved");
    let answer = server.post("/api/documents/search", &json!({"search_term": "quoll"}));
    assert_eq!(answer.status, 200, "{}", answer.text());
    std::fs::rename(home.path().join("away"), home.files()).expect("moved");
}
