//! Search over machines: indexers that publish, searchers that fetch, as processes over a shared
//! folder and a real S3-compatible server.

mod damage;
mod embeddings;
mod equal_answers;
mod equality;
mod export;
mod faults;
mod samples;
mod servers;
mod split_export;
mod split_sources;

use servers::{FUNCTIONS, Home, assert_same_answers, wait, wait_within, write_corpus};
use std::time::Duration;

/// What the contract allows between a change and its answer.
const FRESHNESS: Duration = Duration::from_secs(10);

#[test]
fn i18_three_searchers_with_empty_disks_answer_like_one_machine() {
    let home = Home::new();
    write_corpus(&home.docs(), 240);
    home.write_roles(&FUNCTIONS);
    let mut alone = home.start("alone", "local");
    let mut indexer = home.start("indexer", "indexer");
    indexer.settle(240, true);
    let mut searchers: Vec<_> = (0..3)
        .map(|number| home.start(&format!("searcher-{number}"), "searcher"))
        .collect();
    alone.settle(240, true);
    for searcher in &mut searchers {
        searcher.settle(240, true);
        assert!(searcher.is_ready());
        assert_same_answers(&alone, searcher, &FUNCTIONS);
    }
    // What comes and goes is followed, and ranked alike where vectors need not be learnt again.
    std::fs::write(
        home.docs().join("new.md"),
        "# Fresh\n\nzanzibar restart policy\n",
    )
    .expect("room");
    std::fs::remove_file(home.docs().join("part0/note-0000.md")).expect("it is there");
    let words = ["TitleScorer", "BM25", "BM25F"];
    alone.settle(240, false);
    for searcher in &searchers {
        wait_within(
            "zanzibar",
            FRESHNESS,
            || searcher.finds("BM25F", "zanzibar"),
            || format!("{} {}", searcher.source(), indexer.program.output()),
        );
        wait(
            "the removal",
            || searcher.source()["documents"] == 240,
            || searcher.source().to_string(),
        );
        wait(
            "zanzibar alone",
            || alone.finds("BM25F", "zanzibar"),
            String::new,
        );
        assert_same_answers(&alone, searcher, &words);
        let document = searcher.search("BM25F", "zanzibar");
        assert!(
            document["results"][0]["snippet"]
                .as_str()
                .is_some_and(|text| text.contains("restart policy")),
            "{document}"
        );
    }
    indexer.end();
}

#[test]
fn i18_two_parts_answer_like_one_index() {
    let home = Home::new();
    write_corpus(&home.docs(), 90);
    let words = ["TitleScorer", "BM25", "BM25F"];
    home.write_roles(&words);
    let start = |name: &str, mode: &str, part: u32| home.start_part(name, mode, part, 2);
    let mut alone = home.start("alone", "local");
    let first = start("first", "indexer", 1);
    let mut searcher = start("searcher", "searcher", 1);
    wait(
        "a note on what is missing",
        || {
            let error = searcher.source()["error"].to_string();
            error.contains("nothing of part 2-of-2 has been published yet")
        },
        || searcher.source().to_string(),
    );
    assert!(!searcher.is_ready(), "half of the documents are no answer");
    let second = start("second", "indexer", 2);
    alone.settle(90, false);
    searcher.settle(90, false);
    let of_parts: Vec<u64> = [&first, &second]
        .iter()
        .map(|indexer| indexer.source()["documents"].as_u64().unwrap_or_default())
        .collect();
    assert_eq!(of_parts.iter().sum::<u64>(), 90);
    assert!(
        of_parts.iter().all(|documents| *documents > 25),
        "{of_parts:?}"
    );
    assert_same_answers(&alone, &searcher, &words);
    std::fs::write(home.docs().join("new.md"), "# Fresh\n\nzanzibar\n").expect("room");
    wait(
        "the new document",
        || searcher.finds("BM25F", "zanzibar"),
        || searcher.source().to_string(),
    );
    wait(
        "the same alone",
        || alone.finds("BM25F", "zanzibar"),
        String::new,
    );
    assert_same_answers(&alone, &searcher, &words);
}

/// Each change is a pack of texts until there are many; a new searcher needs them all.
#[test]
fn i18_texts_come_along_however_many_changes_there_were() {
    let home = Home::new();
    write_corpus(&home.docs(), 12);
    home.write_roles(&["BM25F"]);
    let mut indexer = home.start("indexer", "indexer");
    indexer.settle(12, false);
    let mut searcher = home.start("searcher", "searcher");
    searcher.settle(12, false);
    for number in 0..30_u8 {
        let word = format!(
            "zanzibar{}",
            char::from(b'a' + number % 26).to_string().repeat(3)
        );
        let text = format!("# Change\n\nthe word is {word} now\n");
        std::fs::write(home.docs().join(format!("new-{number}.md")), text).expect("room");
        let documents = 13 + u64::from(number);
        wait(
            "the change",
            || searcher.source()["documents"] == documents,
            || searcher.source().to_string(),
        );
    }
    let mut new = home.start("new", "searcher");
    new.settle(42, false);
    let answer = new.search("BM25F", "word now");
    let results = answer["results"].as_array().expect("a list");
    assert_eq!(results.len(), 30);
    for result in results {
        let snippet = result["snippet"].as_str().expect("text");
        assert!(snippet.contains("the word is zanzibar"), "{result}");
    }
    let packs = packs_of(&home);
    assert!(packs <= 24, "{packs} packs");
}

/// Packs of texts that the newest manifest names.
fn packs_of(home: &Home) -> usize {
    let path = home.data("new/published").join(first_entry(home));
    let path = path.join("in-force.json");
    // What is shown is noted for the next start a moment later.
    wait("its record", || path.exists(), String::new);
    let files = std::fs::read(path).expect("it is replaced as a whole");
    let manifests: serde_json::Value = serde_json::from_slice(&files).expect("JSON");
    let files = manifests[0]["files"].as_array().expect("a list");
    files.iter().filter(|file| file["kind"] == "texts").count()
}

fn first_entry(home: &Home) -> std::ffi::OsString {
    let mut entries = std::fs::read_dir(home.data("new/published")).expect("a folder");
    entries
        .next()
        .expect("a source")
        .expect("an entry")
        .file_name()
}
