//! Regular expressions and exact text over an index: what a slow search finds, within bounds.

use std::sync::atomic::{AtomicUsize, Ordering};

use search_engine::index::{
    DocumentRecord, MAX_VERIFIED, PageRequest, SearchScope, TextSource, search_in,
};
use search_engine::reading::{TextReadResult, WordPiece};

use super::*;

/// Texts by key, counted when they are read.
#[derive(Default)]
struct KnownTexts {
    texts: BTreeMap<String, String>,
    reads: AtomicUsize,
    /// Whether texts are as costly to come by as those of web pages: they are looked at first.
    are_pages: bool,
    /// Texts that were looked at and not read.
    looked_at: AtomicUsize,
}

impl TextSource for KnownTexts {
    fn text(&self, _: usize, record: &DocumentRecord) -> Option<String> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.texts.get(&record.key).cloned()
    }

    fn text_with(
        &self,
        source: usize,
        record: &DocumentRecord,
        _: String,
        piece: WordPiece<'_>,
    ) -> TextReadResult {
        let page = self.texts.get(&record.key).filter(|_| self.are_pages);
        let known = page.and_then(|page| match piece.is_in(page) {
            false => Some(TextReadResult::RuledOut(page.len())),
            true if piece.is_all => Some(TextReadResult::Holds(page.len())),
            true => None,
        });
        if known.is_some() {
            self.looked_at.fetch_add(1, Ordering::Relaxed);
        }
        known.unwrap_or_else(|| {
            self.text(source, record)
                .map_or(TextReadResult::Unreadable, TextReadResult::Text)
        })
    }
}

impl KnownTexts {
    fn put(&mut self, index: &mut SourceIndex, key: &str, text: &str) {
        put(index, key, "", text);
        self.texts.insert(key.to_owned(), text.to_owned());
    }

    fn ask(&self, sources: &[IndexSnapshot], text: &str, limit: usize) -> Hits {
        self.page(sources, text, 0, limit)
    }

    fn page(&self, sources: &[IndexSnapshot], text: &str, skip: usize, limit: usize) -> Hits {
        let query = parse(&SearchRequest::for_text(text)).expect("the query parses");
        let scope = SearchScope {
            snapshots: sources,
            names: &["Here"],
            texts: Some(self),
            reranker: None,
        };
        let page = PageRequest {
            skip,
            limit,
            ..PageRequest::default()
        };
        self.reads.store(0, Ordering::Relaxed);
        search_in(&scope, &query, RelevanceFunction::BM25F, page).expect("the search succeeds")
    }
}

#[test]
fn i16_expressions_and_exact_text_find_what_they_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let mut known = KnownTexts::default();
    for (key, text) in [
        (
            "src/read.rs",
            "fn read_exact_at(file: &File) {}\nfn next() {}",
        ),
        (
            "src/write.rs",
            "fn write_all_at(file: &File) { read_exact_at(file) }",
        ),
        ("notes.md", "The function read_exact reads; Running wings."),
        ("wide.txt", "naïve_read_exact and Kelvin \u{212a}b"),
        ("other.txt", "nothing of the kind"),
    ] {
        known.put(&mut index, key, text);
    }
    let sources = [commit(&mut index)];
    for (query, expected, reads) in [
        ("re:/fn read_exact_at/", &["src/read.rs"][..], 2),
        ("re:/FN READ_EXACT_AT/", &[], 2),
        ("re:/FN READ_EXACT_AT/i", &["src/read.rs"], 2),
        ("re:/^fn next/", &["src/read.rs"], 1),
        (
            "re:/ead_exac/",
            &["notes.md", "src/read.rs", "src/write.rs", "wide.txt"],
            4,
        ),
        ("re:/\\w+_at\\(/", &["src/read.rs", "src/write.rs"], 5),
        ("re:/running WINGS/i", &["notes.md"], 1),
        ("re:/(write|read)_\\w*_at\\(file\\)/", &["src/write.rs"], 2),
        (
            "re:/read_exact/ path:src -write_all_at",
            &["src/read.rs"],
            1,
        ),
        ("\"READ_EXACT reads\" case:no", &["notes.md"], 1),
        ("\"READ_EXACT reads\" case:yes", &[], 1),
        ("\"wings.\" case:yes", &["notes.md"], 1),
        ("-re:/fn/ file", &[], 2),
        ("re:/absent_word/", &[], 0),
    ] {
        let hits = known.ask(&sources, query, 10);
        let mut found = keys(&hits);
        found.sort_unstable();
        assert_eq!(found, expected, "{query}");
        assert_eq!(hits.total, expected.len() as u64, "{query}");
        assert!(
            known.reads.load(Ordering::Relaxed) <= reads,
            "{query}: {} texts read",
            known.reads.load(Ordering::Relaxed)
        );
    }
}

#[test]
fn i16_an_expression_that_words_cannot_narrow_reads_a_bounded_number_of_texts() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let mut known = KnownTexts::default();
    for number in 0..MAX_VERIFIED + 50 {
        let sign = if number % 2 == 0 { "=>" } else { "->" };
        known.put(&mut index, &format!("{number:05}"), &format!("a {sign} b"));
    }
    let sources = [commit(&mut index)];
    let hits = known.ask(&sources, "re:/=>/", 10);
    assert_eq!(hits.hits.len(), 10);
    assert_eq!(known.reads.load(Ordering::Relaxed), MAX_VERIFIED);
    assert_eq!(hits.unread, 50);
    let none = known.ask(&sources, "re:/%%/", 10);
    assert_eq!((none.total, none.unread), (0, 50));
    let one = known.ask(&sources, "re:/=>/ path:00042", 10);
    assert_eq!((keys(&one), one.unread), (vec!["00042"], 0));
}

/// What stands in one word with letters of the expression decides which words count, so that texts
/// are read that match, but for case.
#[test]
fn i16_only_texts_with_a_word_like_the_expression_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let mut known = KnownTexts::default();
    for number in 0..400 {
        let (group, tail) = (number % 4, ["eq", "ne", "matches", "_eq_at"][number % 4]);
        let text = format!("assert_{tail}(a) assert eq reads{group}write group{group}");
        known.put(&mut index, &format!("{number:03}"), &text);
    }
    let sources = [commit(&mut index)];
    for (query, total, reads) in [
        ("re:/assert[a-z_]*eq/", 200, 200),
        (r"re:/assert[a-z_]*eq\(/", 100, 100),
        (r"re:/\bassert[a-z_]+es\(/", 100, 100),
        (r"re:/ssert_(eq|ne)\(/", 200, 200),
        ("re:/reads[0-1]write/", 200, 200),
        ("re:/ASSERT[a-z_]*eq/", 0, 200),
        ("re:/assert[a-z]*eq/", 0, 0),
        ("re:/(?i)ASSERT[A-Z_]*NE/", 100, 100),
    ] {
        let hits = known.ask(&sources, query, 10);
        assert_eq!((hits.total, hits.unread), (total, 0), "{query}");
        assert_eq!(known.reads.load(Ordering::Relaxed), reads, "{query}");
    }
}

/// A page whose markup tells that no word of it is like the expression is not freed from it; nor is
/// one where that is all that counts.
#[test]
fn i16_pages_are_taken_apart_where_their_words_do_not_decide() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let mut known = KnownTexts::default();
    for number in 0..400 {
        let name = ["DoubleEndedIterator", "DoubleEnded_or", "double_ended_or"][number % 3];
        let text = format!("fn {name}(of: {}) ends", number % 2);
        known.put(&mut index, &format!("{number:03}"), &text);
    }
    let sources = [commit(&mut index)];
    known.are_pages = true;
    for (query, total, reads, looked_at) in [
        ("re:/oubleEnde[a-z_]*or/", 133, 0, 400),
        ("re:/fn oubleEnde[a-z_]*or/", 0, 133, 267),
        (r"re:/fn D\w+or\(of: 1/", 134, 400, 0),
        ("\"fn DoubleEnded_or\" case:yes", 133, 133, 0),
        ("-re:/oubleEnde[a-z_]*or/ ends", 267, 0, 400),
        (
            "re:/oubleEnde[a-z_]*or/ OR re:/ble_[a-z]*ed_or\\(of/",
            266,
            400,
            400,
        ),
    ] {
        known.looked_at.store(0, Ordering::Relaxed);
        let hits = known.ask(&sources, query, 10);
        assert_eq!((hits.total, hits.unread), (total, 0), "{query}");
        assert!(
            known.reads.load(Ordering::Relaxed) <= reads,
            "{query}: {} read",
            known.reads.load(Ordering::Relaxed)
        );
        assert!(
            known.looked_at.load(Ordering::Relaxed) <= looked_at,
            "{query}: {} looked at",
            known.looked_at.load(Ordering::Relaxed)
        );
    }
}

/// Pages are pieces of one list, and the total is that of all of it.
#[test]
fn i16_pages_of_expressions_join_and_begin_with_what_is_meant() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let mut known = KnownTexts::default();
    for number in 0..600 {
        let text = format!(
            "{}fn read_{number}_at(file) {{}}",
            "at read ".repeat(number % 9)
        );
        let folder = if number < 300 { "a/tests" } else { "src" };
        known.put(&mut index, &format!("{folder}/{number:03}.rs"), &text);
    }
    let sources = [commit(&mut index)];
    for (query, total) in [
        ("re:/fn \\w+_at\\(/", 600),
        ("\"fn read\" at", 600),
        ("\"_at(file)\" case:yes", 600),
        ("re:/_at\\(/ path:src", 300),
    ] {
        let all = known.page(&sources, query, 0, 1_000);
        assert_eq!(all.total, total, "{query}");
        let mut paged = Vec::new();
        for skip in (0..total as usize).step_by(50) {
            let page = known.page(&sources, query, skip, 50);
            assert_eq!(page.total, total, "{query} {skip}");
            paged.extend(page.hits.into_iter().map(|hit| hit.record.key));
        }
        assert_eq!(paged, keys(&all), "{query}");
    }
    let first = known.ask(&sources, "re:/fn \\w+_at\\(/", 300);
    assert!(keys(&first).iter().all(|key| key.starts_with("src/")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Whatever the words narrow down, nothing is lost: the same documents as reading all.
    #[test]
    fn i16_expressions_find_what_reading_everything_finds(
        texts in prop::collection::vec(prop::collection::vec(prop::sample::select(vec![
            "running", "runs", "get_user", "getUserName", "GET", "user2name", " ", "(", "\n", "é", "wings", ".", "don't",
        ]), 1..8), 1..30),
        pieces in prop::collection::vec(prop::sample::select(vec![
            "run", "runs", "get_", "User", "ser2", "name", r"\b", r"\w*", "[a-z]*", "[A-Z_]+", "[a-zA-Z0-9_]?", " ", r"\(", "^", "(wing|get)", "s?", "(?i:GET)", "n't", ".",
        ]), 1..4),
    ) {
        let expression = pieces.concat();
        let text = format!("re:/{expression}/");
        let Ok(query) = parse(&SearchRequest::for_text(&text)) else { return Ok(()) };
        let folder = tempfile::tempdir().expect("a folder");
        let (mut index, _) = open(folder.path());
        let mut known = KnownTexts::default();
        for (number, words) in texts.iter().enumerate() {
            known.put(&mut index, &format!("{number:03}"), &words.concat());
            if number % 7 == 0 {
                commit(&mut index);
            }
        }
        let sources = [commit(&mut index)];
        let finder = query.patterns()[0].finder().expect("it was compiled before");
        let expected: Vec<&str> = known.texts.iter().filter(|(_, text)| finder.is_in(text)).map(|(key, _)| key.as_str()).collect();
        let hits = known.ask(&sources, &text, 100);
        let mut found = keys(&hits);
        found.sort_unstable();
        prop_assert_eq!(found, expected, "{}", text);
    }
}
