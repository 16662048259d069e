//! Lines of logs and of code, as they are pasted.

use super::*;

#[test]
fn i16_of_a_pasted_log_the_first_words_are_looked_for() {
    let log = |lines: usize| "2026-11-30 pool: connection_reset by peer\n".repeat(lines) + "last";
    let found = parse_lenient(&SearchRequest::for_text(log(700))).expect("words");
    let count = found.first_words.expect("it was shortened");
    assert!((64..=MAX_QUERY_WORDS).contains(&count), "{count}");
    let has = |word: &str| found.query.words().iter().any(|one| one.folded == word);
    assert!(has("peer") && !has("last"), "{:?}", found.query.words());
    let short = parse_lenient(&SearchRequest::for_text(log(10))).expect("words");
    assert_eq!(short.first_words, None);
    // Terms of a program are not left out without its knowledge.
    let many = SearchRequest {
        terms: vec!["a".to_owned(); MAX_QUERY_WORDS + 1],
        ..SearchRequest::default()
    };
    assert!(parse_lenient(&many).is_err());
}

#[test]
fn i16_a_file_that_code_includes_is_that_file() {
    for text in [
        "#include \"db/version_set.h\"",
        "require \"sidekiq/job_retry\"",
        "import x from \"./lib/x.js\"",
    ] {
        let query = parse(&SearchRequest::for_text(text)).expect("a query");
        assert!(query.phrases().is_empty(), "{text}: {query:?}");
    }
    let query = parse(&SearchRequest::for_text("#include \"db/version_set.h\"")).expect("a query");
    assert!(query.file_likeness("db/version_set.h", "x").is_some());
    for text in ["require \"some more\"", "the \"db/version set\""] {
        let query = parse(&SearchRequest::for_text(text)).expect("a query");
        assert_eq!(query.phrases().len(), 1, "{text}");
    }
}
