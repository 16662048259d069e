//! Real parts: the documentation of the toolchain and of Debian's `python3-doc`, and Taskwarrior.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use search_core::role::{Haystack, parse};
use search_engine::tasks::Taskwarrior;

use super::*;

/// Pages are read up to so many: all of Rust's would take minutes.
const PAGES: usize = 400;

fn haystack(location: &str) -> Haystack {
    let text = serde_json::json!({"name": "R", "haystacks": [
        {"name": "x", "service": "CommunityDocs", "location": location}]});
    let environment = config_core::Environment::default();
    let roles = parse("role.json", &text.to_string(), &environment);
    roles.unwrap_or_else(|wrong| panic!("{wrong}")).roles()[0].haystacks[0].clone()
}

/// What is indexed of a documentation folder: the first pages of it.
fn indexed(location: &str) -> Memory {
    let files = haystack(location).indexed_files().expect("a folder");
    let root = RootDirectory::open(&files.folder).unwrap();
    let walk = WalkOptions::new(files.filter);
    let mut index = Memory::default();
    let found = walk_all(&root, &walk);
    let plan = SyncPlan::compare(index.known(), found);
    apply(&root, plan, &SyncOptions::new(&walk), &mut index, |_| {}).unwrap();
    index
}

/// A part of a documentation folder, as it is, in a folder of its own.
fn part(source: &Path, folders: &[&str]) -> tempfile::TempDir {
    let target = tempfile::tempdir().unwrap();
    let mut copied = 0;
    for folder in folders {
        fs::create_dir_all(target.path().join(folder)).unwrap();
        for entry in fs::read_dir(source.join(folder))
            .unwrap()
            .map(Result::unwrap)
        {
            if entry.file_type().unwrap().is_file() && copied < PAGES {
                fs::copy(
                    entry.path(),
                    target.path().join(folder).join(entry.file_name()),
                )
                .unwrap();
                copied += 1;
            }
        }
    }
    target
}

#[test]
fn pages_of_the_toolchain_s_documentation_have_titles_and_text() {
    let sysroot = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .unwrap();
    let sysroot = PathBuf::from(String::from_utf8(sysroot.stdout).unwrap().trim());
    let html = sysroot.join("share/doc/rust/html");
    assert!(
        html.is_dir(),
        "{} is missing: run `rustup component add rust-docs`",
        html.display()
    );
    let folder = part(&html, &["std", "std/vec", "std/option", "src/std"]);
    let index = indexed(&format!("rustdoc:{}", folder.path().display()));
    let vec = &index.documents["std/vec/struct.Vec.html"].0;
    assert!(vec.title.contains("Vec in std::vec"), "{}", vec.title);
    assert!(vec.body.contains("contiguous growable array"));
    assert!(!vec.body.contains("<a href"), "text, not markup");
    let keys = index.keys();
    assert!(keys.len() > 50, "{} pages", keys.len());
    assert!(
        !keys
            .iter()
            .any(|key| key.starts_with("src/") || key.ends_with("all.html")),
        "{keys:?}"
    );
}

#[test]
fn pages_of_python_s_documentation_and_its_inventory_are_read() {
    let html = Path::new("/usr/share/doc/python3-doc/html").canonicalize();
    let html = html.expect("python3-doc is missing: `cargo xtask test` installs Debian's package");
    let folder = part(&html, &["tutorial", "library"]);
    let index = indexed(&format!("sphinx:{}", folder.path().display()));
    let page = &index.documents["tutorial/controlflow.html"].0;
    assert!(page.title.contains("Control Flow"), "{}", page.title);
    assert!(page.body.contains("range()"));
    let inventory = fs::read(html.join("objects.inv")).unwrap();
    let names =
        search_sources_core::docs::sphinx_names("https://docs.python.org/3", &inventory).unwrap();
    assert!(names.items.len() > 10_000, "{} names", names.items.len());
    assert_eq!(names.skipped.count, 0, "{:?}", names.skipped);
    let join = names
        .items
        .iter()
        .find(|item| item.title == "os.path.join")
        .unwrap();
    let address = "https://docs.python.org/3/library/os.path.html#os.path.join";
    assert_eq!(join.url.as_deref(), Some(address));
}

#[test]
fn a_real_taskwarrior_is_asked_for_its_tasks() {
    let home = tempfile::tempdir().unwrap();
    let environment: Vec<(OsString, OsString)> = vec![
        ("TASKRC".into(), home.path().join("taskrc").into()),
        ("TASKDATA".into(), home.path().join("tasks").into()),
    ];
    fs::write(home.path().join("taskrc"), "").unwrap();
    fs::create_dir(home.path().join("tasks")).unwrap();
    let task = |arguments: &[&str]| {
        let run = Command::new("task")
            .envs(environment.clone())
            .arg("rc.confirmation=off")
            .args(arguments)
            .output();
        let done = run.expect("task is missing: `cargo xtask test` installs Debian's taskwarrior");
        assert!(done.status.success(), "{done:?}");
    };
    task(&[
        "add",
        "Replace the valve",
        "project:pumps",
        "priority:H",
        "+urgent",
        "due:2026-12-24",
    ]);
    task(&["add", "Paint the door"]);
    task(&["2", "done"]);
    task(&["1", "annotate", "it leaks"]);
    let asked = Taskwarrior {
        environment,
        ..Taskwarrior::default()
    };
    let tasks = asked.export(Duration::from_secs(60)).unwrap();
    assert_eq!((tasks.items.len(), tasks.skipped.count), (2, 0));
    let valve = tasks
        .items
        .iter()
        .find(|item| item.title == "Replace the valve")
        .unwrap();
    for tag in ["urgent", "project:pumps", "status:pending"] {
        assert!(
            valve.tags.iter().any(|known| known == tag),
            "{tag}: {:?}",
            valve.tags
        );
    }
    assert!(valve.body.contains("it leaks"), "{}", valve.body);
    let door = tasks
        .items
        .iter()
        .find(|item| item.title == "Paint the door")
        .unwrap();
    assert!(
        door.tags.iter().any(|tag| tag == "status:completed"),
        "{:?}",
        door.tags
    );
}

#[test]
fn issues_of_beads_are_found_from_the_folder_of_a_project() {
    let project = tempfile::tempdir().unwrap();
    let line = r#"{"id":"bd-1","title":"Mend the valve","description":"it leaks","status":"open","issue_type":"bug","priority":1}"#;
    write(
        project.path(),
        ".beads/issues.jsonl",
        format!("{line}\nnonsense\n"),
    );
    for place in ["", ".beads", ".beads/issues.jsonl"] {
        let found = search_engine::tasks::beads(&project.path().join(place)).unwrap();
        assert_eq!(
            (found.items.len(), found.skipped.count),
            (1, 1),
            "{place:?}"
        );
        assert!(found.items[0].title.contains("Mend the valve"));
    }
    let missing = search_engine::tasks::beads(&project.path().join("nothing"));
    assert!(missing.unwrap_err().to_string().contains("nothing"));
}
