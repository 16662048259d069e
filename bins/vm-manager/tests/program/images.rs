//! `vm-manager image`, as a program; without a VM.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use crate::manager::{program, text};

fn image(home: &Path, arguments: &[&str]) -> Output {
    program(home)
        .arg("image")
        .args(arguments)
        .output()
        .expect("it starts")
}

/// The PATH has folders that a user's may lack.
fn made(name: &str, package: &str, arguments: &[&str]) {
    let path = format!(
        "{}:/usr/sbin:/sbin",
        std::env::var("PATH").unwrap_or_default()
    );
    let output = Command::new(name)
        .args(arguments)
        .env("PATH", path)
        .output();
    let output = output
        .unwrap_or_else(|error| panic!("{name} is needed (Debian package {package}): {error}"));
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn disks_are_taken_over_once_and_listed_by_content() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| {
        home.path()
            .join(name)
            .to_str()
            .expect("a plain path")
            .to_owned()
    };
    assert_eq!(text(&image(home.path(), &["list"])), "", "none yet");
    let (disk, tree) = (at("disk.ext4"), at("tree"));
    std::fs::create_dir(&tree).expect("it is new");
    std::fs::write(format!("{tree}/hello"), "hello").expect("it can be written");
    made(
        "mke2fs",
        "e2fsprogs",
        &["-q", "-t", "ext4", "-d", &tree, &disk, "4M"],
    );
    let first = image(home.path(), &["import", &disk, "small"]);
    assert_eq!(first.status.code(), Some(0), "{}", text(&first));
    let digest = text(&first)
        .split("blake3:")
        .nth(1)
        .expect("its digest")
        .trim()
        .chars()
        .take(64)
        .collect::<String>();
    let again = image(home.path(), &["import", &disk, "small-too"]);
    assert!(
        text(&again).contains(&digest),
        "the same content: {}",
        text(&again)
    );
    let qcow = at("disk.qcow2");
    made(
        "qemu-img",
        "qemu-utils",
        &["convert", "-O", "qcow2", &disk, &qcow],
    );
    let converted = image(home.path(), &["import", &qcow, "converted"]);
    assert_eq!(converted.status.code(), Some(0), "{}", text(&converted));
    let listed = text(&image(home.path(), &["list"]));
    let of = |name: &str| {
        listed
            .lines()
            .find(|line| line.contains(name))
            .unwrap_or_else(|| panic!("{name} in {listed}"))
    };
    assert!(
        of("small-too").contains(&digest) && of("small").contains("imported from"),
        "{listed}"
    );
    of("converted");
    let stored = home.path().join("data/images/blobs");
    assert_eq!(
        std::fs::read_dir(stored).expect("blobs").count(),
        listed.lines().count(),
        "one copy a content"
    );
}

#[test]
fn what_is_no_image_is_refused_and_leaves_nothing() {
    let home = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| {
        let path = home.path().join(name);
        std::fs::File::create(&path)
            .and_then(|mut file| file.write_all(bytes))
            .expect("it can be written");
        path.to_str().expect("a plain path").to_owned()
    };
    // A qcow2 file that names another file of the host as its base would show that to the VM.
    let secret = write("secret", &[b'x'; 1 << 20]);
    let backed = home
        .path()
        .join("backed.qcow2")
        .to_str()
        .expect("a plain path")
        .to_owned();
    made(
        "qemu-img",
        "qemu-utils",
        &[
            "create", "-q", "-f", "qcow2", "-b", &secret, "-F", "raw", &backed,
        ],
    );
    let text_file = write("notes.txt", b"this is no disk");
    let empty = home.path().join("empty");
    std::fs::create_dir(&empty).expect("it is new");
    let recipe = write("recipe.toml", b"name = \"x\"\npackagess = []\n");
    let empty = empty.to_str().expect("a plain path").to_owned();
    for arguments in [
        &["import", text_file.as_str(), "x"][..],
        &["import", backed.as_str(), "x"],
        &["import", empty.as_str(), "x"],
        &["import", "absent.ext4", "x"],
        &["build", recipe.as_str()],
        &["build", "absent.toml"],
    ] {
        let output = image(home.path(), arguments);
        assert_eq!(
            output.status.code(),
            Some(1),
            "{arguments:?}: {}",
            text(&output)
        );
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
    let wrong = image(home.path(), &["build", &recipe]);
    assert!(
        text(&wrong).contains("recipe.toml") && text(&wrong).contains("line 2"),
        "with the place: {}",
        text(&wrong)
    );
    assert_eq!(
        image(home.path(), &["import", &text_file, "../x"])
            .status
            .code(),
        Some(2)
    );
    assert_eq!(text(&image(home.path(), &["list"])), "");
    let left = std::fs::read_dir(home.path().join("data/images")).expect("its folder");
    let left: Vec<String> = left
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !["blobs", "names"].contains(&name.as_str()))
        .collect();
    assert!(
        left.iter()
            .all(|name| !name.starts_with("scratch") && !name.starts_with(".scratch")),
        "{left:?}"
    );
}
