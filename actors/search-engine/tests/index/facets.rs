//! What matches have in common, and their order by time: the same as by counting and sorting all
//! results, however the segments lie.

use super::*;
use search_core::answer::SortOrder;
use search_core::document::ContentKind;
use search_core::facets::{FacetCounts, extension, folder};
use search_engine::index::{PageRequest, SearchHit, SearchScope, search_in};

const KEYS: [&str; 12] = [
    "a.md",
    "docs/a.md",
    "docs/deep/b.md",
    "docs/deep/er/c.txt",
    "src/lib.rs",
    "src/net/tcp.rs",
    "src/net/udp.rs",
    "src/net/Makefile",
    "src/.env",
    "tests/it.rs",
    "tests/data/x.JSON",
    "tests/data/y.json",
];
const TAGS: [&str; 3] = ["web server", "kernel", "draft"];

#[derive(Debug, Clone)]
enum Edit {
    Put(usize, u8, Option<i64>, bool),
    Delete(usize),
    Commit,
}

fn edit() -> impl Strategy<Value = Edit> {
    let time = prop::option::of(0_i64..5);
    prop_oneof![
        6 => (0..KEYS.len(), any::<u8>(), time, any::<bool>())
            .prop_map(|(key, tags, time, wing)| Edit::Put(key, tags, time, wing)),
        1 => (0..KEYS.len()).prop_map(Edit::Delete),
        2 => Just(Edit::Commit),
    ]
}

fn hits(
    snapshot: &IndexSnapshot,
    text: &str,
    function: RelevanceFunction,
    page: PageRequest,
) -> Hits {
    let scope = SearchScope {
        snapshots: std::slice::from_ref(snapshot),
        names: &[],
        texts: None,
        reranker: None,
    };
    let query = parse(&SearchRequest::for_text(text)).expect("parses");
    search_in(&scope, &query, function, page).expect("searches")
}

fn keys_of(hits: &[SearchHit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.record.key.as_str()).collect()
}

fn check(snapshot: &IndexSnapshot, text: &str, function: RelevanceFunction) {
    let page = PageRequest {
        limit: MAX_LIMIT,
        ..PageRequest::default()
    };
    let plain = hits(snapshot, text, function, page);
    assert_eq!(plain.facets, None);
    let faceted = hits(
        snapshot,
        text,
        function,
        PageRequest {
            facets: true,
            ..page
        },
    );
    assert_eq!(faceted.hits, plain.hits, "facets change nothing");
    let mut counts = FacetCounts::default();
    for hit in &plain.hits {
        counts.add_type(&extension(&hit.record.key), 1);
        counts.add_folder(folder(&hit.record.key), 1);
        counts.add_role(hit.record.role, 1);
        for tag in &hit.record.tags {
            counts.add_tag(tag, 1);
        }
    }
    assert_eq!(faceted.facets, Some(counts.finish()), "{text} {function:?}");
    for (sort, sign) in [(SortOrder::Newest, -1), (SortOrder::Oldest, 1)] {
        let mut wanted = plain.hits.clone();
        wanted.sort_by_key(|hit| hit.record.modified.map_or(i64::MAX, |time| sign * time));
        let sorted = hits(snapshot, text, function, PageRequest { sort, ..page });
        assert_eq!(sorted.total, plain.total);
        let time = |hit: &SearchHit| hit.record.modified;
        let times = |hits: &[SearchHit]| hits.iter().map(time).collect::<Vec<_>>();
        assert_eq!(times(&sorted.hits), times(&wanted), "{text} {function:?}");
        // BM25F looks once more at the best ones; in the order of time the words alone count.
        for hit in &sorted.hits {
            if function == RelevanceFunction::BM25F {
                break;
            }
            let same = plain
                .hits
                .iter()
                .find(|one| one.record.key == hit.record.key);
            assert_eq!(same.map(|one| one.score), Some(hit.score));
        }
        let (skip, limit) = (1, 2);
        let part = PageRequest {
            skip,
            limit,
            sort,
            ..page
        };
        let part = hits(snapshot, text, function, part);
        let whole = keys_of(&sorted.hits);
        let end = whole.len().min(skip + limit);
        assert_eq!(keys_of(&part.hits), &whole[skip.min(end)..end]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn facets_and_times_are_those_of_all_results(edits in prop::collection::vec(edit(), 1..60)) {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut index, _) = open(folder.path());
        for edit in edits {
            match edit {
                Edit::Put(key, tags, modified, wing) => {
                    let tags = TAGS.iter().enumerate().filter(|(bit, _)| tags >> bit & 1 == 1);
                    let body = if wing { "wing and lift" } else { "lift alone" };
                    let document = ExtractedDocument {
                        tags: tags.map(|(_, tag)| (*tag).to_owned()).collect(),
                        modified,
                        ..document(KEYS[key], "A wing", body)
                    };
                    index.put(&document, FileState::default()).expect("it is put");
                }
                Edit::Delete(key) => index.delete(KEYS[key]).expect("it is deleted"),
                Edit::Commit => drop(commit(&mut index)),
            }
        }
        let snapshot = commit(&mut index);
        for text in ["lift", "wing lift", "wing AND lift", "lift path:src", "lift -tag:draft"] {
            for function in [RelevanceFunction::BM25F, RelevanceFunction::BM25] {
                check(&snapshot, text, function);
            }
        }
        check(&snapshot, "wing", RelevanceFunction::TitleScorer);
    }
}

/// `is:` keeps what files are for, and is kept out with a minus; facets count it.
#[test]
fn i16_what_files_are_for_narrows_a_search_down() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for (number, key) in [
        "src/wing.rs",
        "tests/wing.rs",
        "tests/lift.rs",
        "docs/wing.md",
        "vendor/wing.c",
        "examples/wing.rs",
        "Cargo.lock",
        "dist/wing.js",
    ]
    .into_iter()
    .enumerate()
    {
        let document = document(key, "A wing", "lift");
        let put = index.put(&document, FileState::default());
        put.expect("it is put");
        if number == 4 {
            commit(&mut index);
        }
    }
    let snapshot = commit(&mut index);
    let page = PageRequest {
        limit: 10,
        facets: true,
        ..PageRequest::default()
    };
    for (text, wanted) in [
        ("lift is:test", vec!["tests/lift.rs", "tests/wing.rs"]),
        ("is:tests path:lift", vec!["tests/lift.rs"]),
        ("lift is:docs", vec!["docs/wing.md"]),
        ("is:lock", vec!["Cargo.lock"]),
        (
            "lift -is:test -is:generated -is:vendored -is:lock",
            vec!["docs/wing.md", "examples/wing.rs", "src/wing.rs"],
        ),
        (
            "lift AND (is:vendored OR is:main)",
            vec!["src/wing.rs", "vendor/wing.c"],
        ),
        ("lift is:changelog", vec![]),
    ] {
        let found = hits(&snapshot, text, RelevanceFunction::BM25F, page);
        let mut keys = keys_of(&found.hits);
        keys.sort_unstable();
        assert_eq!(keys, wanted, "{text}");
        assert_eq!(found.total, wanted.len() as u64, "{text}");
    }
    let all = hits(&snapshot, "lift", RelevanceFunction::BM25F, page);
    let roles = all.facets.expect("they are asked for").roles;
    let roles: Vec<_> = roles
        .iter()
        .map(|one| (one.value.as_str(), one.count))
        .collect();
    let single = ["docs", "example", "generated", "lock", "main", "vendored"];
    let expected: Vec<_> = [("test", 2)]
        .into_iter()
        .chain(single.map(|name| (name, 1)))
        .collect();
    assert_eq!(roles, expected);
}

/// A role may count all files alike; a query that asks for what is not main has it in full.
#[test]
fn i16_what_files_are_for_may_count_for_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let texts = [
        (
            "contracts/vendor/lease.rs",
            "lease of a wing, lease of a wing",
        ),
        (
            "scripts/lease.rs",
            "a lease of a wing, and words of other things that make it long",
        ),
    ];
    for (key, text) in texts {
        let code = ExtractedDocument {
            kind: ContentKind::Code,
            ..document(key, "", text)
        };
        let put = index.put(&code, FileState::default());
        put.expect("it is put");
    }
    let snapshot = commit(&mut index);
    let first = |text: &str, ignores_roles| {
        let page = PageRequest {
            limit: 10,
            ignores_roles,
            ..PageRequest::default()
        };
        let found = hits(&snapshot, text, RelevanceFunction::BM25F, page);
        keys_of(&found.hits)[0].to_owned()
    };
    assert_eq!(first("lease wing", false), "scripts/lease.rs");
    assert_eq!(first("lease wing", true), "contracts/vendor/lease.rs");
    let asked = "(lease OR wing) AND (is:vendored OR is:main)";
    assert_eq!(first(asked, false), "contracts/vendor/lease.rs");
}

/// Days are compared by UTC; what has no time is found by neither.
#[test]
fn i16_days_narrow_a_search_down() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let midnight = 1_795_824_000; // 2026-11-28
    let times = [
        ("none.md", None),
        ("former.md", Some(midnight - 1)),
        ("first.md", Some(midnight)),
        ("last.md", Some(midnight + 86_399)),
        ("next.md", Some(midnight + 86_400)),
    ];
    for (key, modified) in times {
        let document = ExtractedDocument {
            modified,
            ..document(key, "A wing", "lift")
        };
        let put = index.put(&document, FileState::default());
        put.expect("it is put");
    }
    let snapshot = commit(&mut index);
    for (text, wanted) in [
        (
            "lift after:2026-11-28",
            vec!["first.md", "last.md", "next.md"],
        ),
        ("lift before:2026-11-28", vec!["former.md"]),
        (
            "after:2026-11-28 before:2026-11-29",
            vec!["first.md", "last.md"],
        ),
        ("lift after:2026/11/29", vec!["next.md"]),
        ("lift before:2026", vec![]),
        ("lift after:2026-11 -after:2026-11-28", vec!["former.md"]),
        ("lift -before:9999", vec!["none.md"]),
    ] {
        for function in [RelevanceFunction::BM25F, RelevanceFunction::TitleScorer] {
            let text = match function {
                RelevanceFunction::TitleScorer => text.replace("lift", "wing"),
                _ => text.to_owned(),
            };
            let found = hits(
                &snapshot,
                &text,
                function,
                PageRequest {
                    limit: 10,
                    ..PageRequest::default()
                },
            );
            let mut keys = keys_of(&found.hits);
            keys.sort_unstable();
            assert_eq!(keys, wanted, "{text} {function:?}");
        }
    }
}
