//! Zips as programs read them.

use std::io::Cursor;

use zip::ZipArchive;

use super::*;

/// A file, a program, a folder, a link and a name beyond ASCII.
fn tar() -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let mut add = |name: &str, mode: u32, content: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_mode(mode);
        header.set_size(content.len() as u64);
        if name.ends_with('/') {
            header.set_entry_type(tar::EntryType::Directory);
        }
        tar.append_data(&mut header, name, content).unwrap();
    };
    add("out/", 0o755, b"");
    add("out/a.txt", 0o644, b"text\n");
    add("out/run", 0o755, b"#!/bin/sh\n");
    add("out/\u{fc}ber", 0o600, b"");
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o777);
    header.set_size(0);
    header.set_entry_type(tar::EntryType::Symlink);
    tar.append_link(&mut header, "out/link", "a.txt").unwrap();
    tar.into_inner().unwrap()
}

fn zip_of(tar: Vec<u8>) -> Vec<u8> {
    let mut zip = Vec::new();
    zip_of_tar(Cursor::new(tar), &mut zip).unwrap();
    zip
}

#[test]
fn i17_a_zip_of_an_artifact_has_what_its_tar_has() {
    let mut zip = ZipArchive::new(Cursor::new(zip_of(tar()))).unwrap();
    let mut found = Vec::new();
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).unwrap();
        let mut content = String::new();
        // Checksums are looked at here.
        entry.read_to_string(&mut content).unwrap();
        found.push((
            entry.name().unwrap().into_owned(),
            entry.unix_mode().unwrap(),
            content,
        ));
    }
    let entry = |name: &str, mode: u32, content: &str| (name.to_owned(), mode, content.to_owned());
    assert_eq!(
        found,
        [
            entry("out/", 0o040_755, ""),
            entry("out/a.txt", 0o100_644, "text\n"),
            entry("out/run", 0o100_755, "#!/bin/sh\n"),
            entry("out/\u{fc}ber", 0o100_600, ""),
            entry("out/link", 0o120_777, "a.txt"),
        ]
    );
}

/// Digests are kept with artifacts: a version that packs otherwise would make all of them wrong.
#[test]
fn i17_the_digest_of_an_artifact_never_changes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tar");
    std::fs::write(&path, tar()).unwrap();
    assert_eq!(
        digest_of_download(&path, false).unwrap(),
        "sha256:bb0cb5d7ac8ef1a2a1026cceae4c57b3c8188f376583003c58868acbe8c48c28"
    );
    let mut one = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(5);
    one.append_data(&mut header, "a.txt", &b"text\n"[..])
        .unwrap();
    std::fs::write(&path, one.into_inner().unwrap()).unwrap();
    assert_eq!(
        digest_of_download(&path, true).unwrap(),
        "sha256:b9e68e1bea3e5b19ca6b2f98b73a54b73daafaa250484902e09982e07a12e733"
    );
}

#[test]
fn i17_a_zip_has_more_than_65535_files() {
    let mut tar = tar::Builder::new(Vec::new());
    for number in 0..66_000 {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(0);
        tar.append_data(&mut header, number.to_string(), std::io::empty())
            .unwrap();
    }
    let zip = ZipArchive::new(Cursor::new(zip_of(tar.into_inner().unwrap()))).unwrap();
    assert_eq!(zip.len(), 66_000);
}

#[test]
fn i17_sizes_and_places_beyond_4_gib_are_those_of_zip64() {
    let entry = |size: u64, offset: u64| ZipEntry {
        name: "x".to_owned(),
        attributes: 0,
        size,
        checksum: 0,
        offset,
    };
    let numbers = |header: &[u8], from: usize| -> Vec<u64> {
        let numbers = header[from..].chunks_exact(8);
        numbers
            .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
            .collect()
    };
    let (large, small) = (5 << 30, 7);
    // Behind the fixed part, the name, and what the field is and how long.
    let (local, central) = (30 + 1 + 4, 46 + 1 + 4);
    for (size, offset, in_local, in_central) in [
        (small, small, vec![], vec![]),
        (large, small, vec![large, large], vec![large, large]),
        (small, large, vec![], vec![large]),
        (large, large, vec![large, large], vec![large, large, large]),
    ] {
        let entry = entry(size, offset);
        let (first, last) = (entry.local_header(), entry.central_header());
        let beyond = |header: &[u8], at: usize| header[at..at + 4] == [0xff; 4];
        assert_eq!(beyond(&first, 18), size == large, "{size} {offset}");
        assert_eq!(beyond(&last, 42), offset == large, "{size} {offset}");
        assert_eq!(first.len() > local, !in_local.is_empty());
        assert_eq!(numbers(&first, local.min(first.len())), in_local);
        assert_eq!(numbers(&last, central.min(last.len())), in_central);
    }
    assert_eq!(end_of_zip(3, (9, 9)).len(), 22);
    let end = end_of_zip(3, (large, 9));
    assert_eq!(numbers(&end[..56], 24), [3, 3, 9, large]);
}
