//! What is meant comes first: identifiers that many files hold, files by name and folder,
//! definitions by their spelling.

use super::deciding::{BOTH, ask, first};
use super::*;

/// Many files with the parts of an identifier in their paths and texts, and some, tests among
/// them, that hold it whole.
fn common_identifier(folder: &Path) -> IndexSnapshot {
    let (mut index, _) = open(folder);
    for number in 0..80 {
        let key = format!("service/api_{number}/token.rs");
        put(&mut index, &key, "", &"service api token ".repeat(6));
    }
    let long = "words of another kind ".repeat(300);
    for number in 0..15 {
        let text = format!("{long} SERVICE_API_TOKEN {long}");
        put(&mut index, &format!("src/a{number:02}.rs"), "", &text);
        put(&mut index, &format!("tests/b{number:02}.rs"), "", &text);
    }
    commit(&mut index)
}

#[test]
fn i16_documents_with_the_identifier_come_first_however_many_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = common_identifier(folder.path());
    for function in BOTH {
        let mut found = Vec::new();
        for skip in [0, 10, 20] {
            let hits = ask(&snapshot, "SERVICE_API_TOKEN", function, skip).hits;
            found.extend(hits.into_iter().map(|hit| hit.record.key));
        }
        let holds = |key: &&String| key.starts_with("src/") || key.starts_with("tests/");
        assert_eq!(found.iter().filter(holds).count(), 30, "{found:?}");
    }
    // What a file is for orders them.
    let plain = search(
        std::slice::from_ref(&snapshot),
        "SERVICE_API_TOKEN",
        RelevanceFunction::BM25F,
    );
    assert!(keys(&plain).iter().all(|key| key.starts_with("src/")));
}

/// Files of one name in several folders, and others that are full of the words.
fn files_of_one_name(folder: &Path) -> IndexSnapshot {
    let (mut index, _) = open(folder);
    for number in 0..150 {
        let text = "search server main rs zod v4 schemas ts pattern 155 ".repeat(number % 5 + 1);
        put(
            &mut index,
            &format!("notes/search-server/n{number:03}.rs"),
            "",
            &text,
        );
    }
    let long = "words of another kind ".repeat(200);
    for key in [
        "bins/search-server/src/main.rs",
        "bins/runner/src/main.rs",
        "web/search-web/src/main.rs",
        "zod/v4/core/schemas.ts",
        "zod/v3/schemas.ts",
        "search-core/src/query/pattern.rs",
        "search-core/src/plan/patterns.rs",
        "docs/CONFIG.md",
    ] {
        put(&mut index, key, "", &long);
    }
    commit(&mut index)
}

#[test]
fn i16_files_are_found_by_their_names_beside_words_of_their_folders() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = files_of_one_name(folder.path());
    for function in BOTH {
        for (query, key) in [
            ("search-server main.rs", "bins/search-server/src/main.rs"),
            ("search server main.rs", "bins/search-server/src/main.rs"),
            ("main.rs runner", "bins/runner/src/main.rs"),
            ("zod v4 schemas.ts", "zod/v4/core/schemas.ts"),
            ("zod v3 schemas.ts", "zod/v3/schemas.ts"),
            ("pattern.rs:155", "search-core/src/query/pattern.rs"),
            ("query/pattern.rs:155:9", "search-core/src/query/pattern.rs"),
            ("/home/me/docs/CONFIG.md", "docs/CONFIG.md"),
            (
                "thread 'main' panicked at search-core/src/query/pattern.rs:155:9: called",
                "search-core/src/query/pattern.rs",
            ),
        ] {
            assert_eq!(first(&snapshot, query, function), key, "{query}");
        }
    }
}

/// Frames as twelve languages write them, beside files that hold the identifiers of the message,
/// and addresses of forges.
#[test]
fn i16_the_file_of_a_frame_or_an_address_comes_before_its_other_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let long = "use std::fmt;\n".repeat(60);
    let files = [
        "core/flags/parse.rs",
        "celery/app/trace.py",
        "exceptions/ExceptionFactory.java",
        "lib/sidekiq/job_retry.rb",
        "src/router/trie-router/node.ts",
        "src/Loader/FilesystemLoader.php",
        "Retry/RetryStrategy.cs",
        "modules/caddyhttp/server.go",
    ];
    for key in files
        .into_iter()
        .chain(["modules/http/server.go", "router/node.ts"])
    {
        put(&mut index, key, "", &long);
    }
    for key in ["release.yml", "package-lock.json", "Changes.md", "trace.md"] {
        let words = "RUST_BACKTRACE wrapException trace_task perform_job caddyserver Hono.dispatch";
        put(
            &mut index,
            key,
            "",
            &format!("{words} retry loader at in line\n").repeat(8),
        );
    }
    let snapshot = commit(&mut index);
    for function in BOTH {
        for (query, file) in [
            (
                "panicked at core/flags/parse.rs:93:14: set RUST_BACKTRACE=1",
                0,
            ),
            (
                "File \"/lib/celery/app/trace.py\", line 451, in trace_task",
                1,
            ),
            (
                "at a.b.ExceptionFactory.wrapException(ExceptionFactory.java:30)",
                2,
            ),
            ("/gems/lib/sidekiq/job_retry.rb:85:in `perform_job'", 3),
            (
                "at Hono.dispatch (file:///app/src/router/trie-router/node.ts:55:10)",
                4,
            ),
            (
                "#0 vendor/twig/src/Loader/FilesystemLoader.php(131): retry loader",
                5,
            ),
            ("in /_/src/Polly/Retry/RetryStrategy.cs:line 45 retry", 6),
            (
                "https://forge.example/caddyserver/caddy/blob/master/modules/caddyhttp/server.go#L300",
                7,
            ),
        ] {
            assert_eq!(first(&snapshot, query, function), files[file], "{query}");
        }
    }
}

#[test]
fn i16_a_folder_called_as_typed_comes_before_longer_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let own = "actors/search-engine/Cargo.toml";
    let others =
        ["graph-", "formats-", "z-"].map(|one| format!("actors/search-{one}engine/Cargo.toml"));
    for key in others.iter().map(String::as_str).chain([own]) {
        put(&mut index, key, "", "[package]\nname = \"search\"\n");
    }
    let snapshot = commit(&mut index);
    for function in BOTH {
        for query in ["cargo.toml search-engine", "search-engine cargo.toml"] {
            assert_eq!(first(&snapshot, query, function), own, "{query}");
        }
    }
}

#[test]
fn i16_the_definition_that_is_written_as_it_was_typed_comes_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let padding = "# words that make this file long\n".repeat(20);
    for (key, body) in [
        (
            "click/termui.py",
            "def progressbar(length):\n    pass\n# progressbar ProgressBar ".repeat(4),
        ),
        (
            "click/_impl.py",
            "class ProgressBar:\n    pass\n".to_owned(),
        ),
        (
            "power/on.rs",
            "fn power_off() {}\n// POWER_OFF power off ".repeat(4),
        ),
        ("vm/signals.rs", "pub const POWER_OFF: u8 = 3;\n".to_owned()),
        ("core/page_cache.rs", "struct PageCache {}\n".to_owned()),
    ] {
        let document = ExtractedDocument {
            kind: ContentKind::Code,
            ..document(key, "", &format!("{body}{padding}"))
        };
        index
            .put(&document, FileState::default())
            .expect("it is indexed");
    }
    for number in 0..40 {
        put(
            &mut index,
            &format!("use{number}.py"),
            "",
            "ProgressBar POWER_OFF page_cache",
        );
    }
    let snapshot = commit(&mut index);
    for function in BOTH {
        for (query, key) in [
            ("ProgressBar", "click/_impl.py"),
            ("progressbar", "click/termui.py"),
            ("POWER_OFF", "vm/signals.rs"),
            ("power_off", "power/on.rs"),
            // Where only one defines it, case and signs make no difference.
            ("page_cache", "core/page_cache.rs"),
        ] {
            let hits = ask(&snapshot, query, function, 0).hits;
            let shown: Vec<_> = hits
                .iter()
                .take(3)
                .map(|hit| (&hit.record.key, &hit.explanation))
                .collect();
            assert_eq!(hits[0].record.key, key, "{query} {function:?} {shown:#?}");
        }
    }
}

#[test]
fn i16_the_page_that_is_called_as_it_was_typed_comes_before_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for (key, kind) in [
        ("benches/growth/queries.rs", ContentKind::Code),
        ("src/queries.rs", ContentKind::Code),
        ("docs/QUERIES.md", ContentKind::Prose),
    ] {
        let body = "queries of the index and their words ".repeat(20);
        let document = ExtractedDocument {
            kind,
            ..document(key, "", &body)
        };
        index
            .put(&document, FileState::default())
            .expect("it is indexed");
    }
    let snapshot = commit(&mut index);
    assert_eq!(
        first(&snapshot, "QUERIES", RelevanceFunction::BM25F),
        "docs/QUERIES.md"
    );
    assert_eq!(
        first(&snapshot, "queries", RelevanceFunction::BM25F),
        "src/queries.rs"
    );
}

/// Code, its tests, its list of changes, and what a forge runs.
fn kinds_of_files(folder: &Path) -> IndexSnapshot {
    let (mut index, _) = open(folder);
    let long = "words of another kind ".repeat(200);
    for (key, text) in [
        (
            "src/trie.rs",
            "fn trie_router() {} // the trie router".repeat(9),
        ),
        (
            "src/router.rs",
            "fn router() {} // a router for a trie, under test".repeat(9),
        ),
        ("src/release.rs", "// github release workflow ".repeat(9)),
        ("tests/matching.rs", "use trie; use router; ".to_owned()),
        ("CHANGES.md", format!("{long} - the router retries {long}")),
        (
            ".github/workflows/release.yml",
            "on: push # release the router".to_owned(),
        ),
        (".env.example", "ROUTER=1".to_owned()),
    ] {
        let kind = match key.ends_with(".rs") {
            true => ContentKind::Code,
            false => ContentKind::Data,
        };
        let document = ExtractedDocument {
            kind,
            ..document(key, "", &text)
        };
        index.put(&document, FileState::default()).expect("put");
    }
    for number in 0..40 {
        put(
            &mut index,
            &format!("src/a{number:02}.rs"),
            "",
            "other words",
        );
    }
    commit(&mut index)
}

#[test]
fn i16_who_asks_for_tests_or_changes_gets_those_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = kinds_of_files(folder.path());
    for function in BOTH {
        for (query, expected) in [
            ("trie router", "src/trie.rs"),
            ("trie router test", "tests/matching.rs"),
            ("unit tests for the trie router", "tests/matching.rs"),
            ("changelog router", "CHANGES.md"),
            ("release notes router", "CHANGES.md"),
            ("when was router added", "CHANGES.md"),
        ] {
            assert_eq!(first(&snapshot, query, function), expected, "{query}");
        }
    }
}

#[test]
fn i16_what_a_forge_runs_comes_behind_code_unless_it_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = kinds_of_files(folder.path());
    for function in BOTH {
        for (query, expected) in [
            ("release.yml", ".github/workflows/release.yml"),
            ("github workflow release", ".github/workflows/release.yml"),
            (".env.example", ".env.example"),
        ] {
            assert_eq!(first(&snapshot, query, function), expected, "{query}");
        }
        let hits = ask(&snapshot, "how does the router work", function, 0).hits;
        let place = |key: &str| hits.iter().position(|hit| hit.record.key == key);
        let (code, ci) = (
            place("src/router.rs"),
            place(".github/workflows/release.yml"),
        );
        assert!(code < ci, "{code:?} {ci:?}");
    }
}
