//! The role files of `docs/sources` are used as they are: checked, and a server started with each.

use std::path::{Path, PathBuf};

use scripted_peers::{Program, git};
use serde_json::Value;

use super::{get, home, program, search, text};

fn repository() -> PathBuf {
    std::path::absolute("../..").expect("a folder to work in")
}

/// The role files of the pages, by the names of the pages.
fn role_files() -> Vec<(String, String)> {
    let pages = std::fs::read_dir(repository().join("docs/sources")).expect("the pages");
    let mut found = Vec::new();
    for page in pages {
        let path = page.expect("a page").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&path).expect("a page");
        for fence in text.split("```json\n").skip(1) {
            let (sample, _) = fence.split_once("```").expect("a fence ends");
            if sample.contains("haystacks") {
                found.push((name.clone(), sample.to_owned()));
            }
        }
    }
    found.sort();
    found
}

/// A repository with a tag, and a bare mirror of it, as the page on git names them.
fn repositories(home: &Path) {
    let git = |arguments: &[&str]| git(home, arguments);
    git(&["init", "--quiet", "--initial-branch=main", "project"]);
    std::fs::write(home.join("project/notes.md"), "# Notes\n").expect("a file");
    git(&["-C", "project", "add", "notes.md"]);
    git(&["-C", "project", "commit", "--quiet", "--message=notes"]);
    git(&["-C", "project", "tag", "v1.2.0"]);
    git(&[
        "clone",
        "--quiet",
        "--bare",
        "project",
        "mirrors/project.git",
    ]);
}

/// A PATH on which the programs of the pages are found.
fn programs(home: &Path) -> String {
    use std::os::unix::fs::PermissionsExt;
    let folder = home.join("bin");
    std::fs::create_dir_all(&folder).expect("a folder");
    for name in ["npx", "task"] {
        let file = folder.join(name);
        std::fs::write(&file, "#!/bin/sh\nexit 1\n").expect("a file");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("set");
    }
    format!("{}:/usr/bin:/bin", folder.display())
}

#[test]
fn a_server_starts_with_the_role_file_of_each_page() {
    let files = role_files();
    let pages: std::collections::BTreeSet<&str> =
        files.iter().map(|(page, _)| page.as_str()).collect();
    assert_eq!(pages.len(), 8, "{pages:?}");
    for (page, sample) in &files {
        let home = home();
        let documents = home.path().join("documents");
        std::fs::create_dir_all(documents.join("ruby")).expect("a folder");
        for entry in std::fs::read_dir(repository().join("config-samples/search/documents"))
            .expect("samples")
        {
            let from = entry.expect("an entry").path();
            std::fs::copy(&from, documents.join(from.file_name().expect("a name")))
                .expect("a copy");
        }
        std::fs::write(documents.join("ruby/index.json"), "{\"entries\": []}").expect("a file");
        std::fs::write(documents.join("ruby/db.json"), "{}").expect("a file");
        std::fs::write(documents.join("issues.jsonl"), "\n").expect("a file");
        repositories(home.path());
        let path = programs(home.path());
        let file = home.path().join("roles.json");
        std::fs::write(&file, sample).expect("a role file");
        let checked = program(home.path())
            .env("PATH", &path)
            .arg("--config")
            .arg(&file)
            .arg("--check")
            .output();
        let checked = checked.expect("it runs");
        assert_eq!(checked.status.code(), Some(0), "{page}: {}", text(&checked));

        let mut command = program(home.path());
        command.arg("--config").arg(&file);
        let server = Program::start(command);
        let wanted: Value = serde_json::from_str(sample).expect("JSON");
        let wanted = wanted["haystacks"].as_array().expect("haystacks").len();
        let began = std::time::Instant::now();
        loop {
            let health = get(&server, "/health").json();
            let sources = health["sources"].as_array().expect("sources").clone();
            assert_eq!(sources.len(), wanted, "{page}: {health}");
            if sources.iter().all(|source| source["state"] == "ready") {
                break;
            }
            assert!(began.elapsed() < super::DEADLINE * 2, "{page}: {health}");
            std::thread::park_timeout(std::time::Duration::from_millis(20));
        }
        // Others would be asked over the network.
        if ["local-files.md", "notes.md"].contains(&page.as_str()) {
            let answer = search(&server, "ranking").body;
            assert!(answer.contains("ranking.md"), "{page}: {answer}");
        }
    }
}
