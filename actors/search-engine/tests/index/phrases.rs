//! Phrases by the places of their words: all documents that hold one are found and counted, and no
//! text is read for it.

use search_engine::index::MAX_VERIFIED;

use super::conditions::{Library, ask, page, scope};
use super::*;

#[test]
fn i16_phrases_of_common_words_are_counted_whole_without_a_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let library = Library::default();
    let count = 3 * MAX_VERIFIED;
    for number in 0..count {
        let text = if number % 2 == 0 {
            "the state of the art"
        } else {
            "of the art, a state"
        };
        put(&mut index, &format!("{number:05}"), "", text);
        if number == MAX_VERIFIED {
            commit(&mut index);
        }
    }
    for number in 0..10 {
        index.delete(&format!("{number:05}")).expect("deletes");
    }
    let several = commit(&mut index);
    let merged = index.merge().expect("merges");
    for snapshot in [several, merged] {
        let sources = [snapshot];
        let scope = scope(&sources, Some(&library));
        for (query, total) in [
            ("\"state of the art\"", count / 2 - 5),
            ("\"of the art\"", count - 10),
            ("\"art of the\"", 0),
            ("art -\"of the art\"", 0),
            ("art -\"the state\"", count / 2 - 5),
        ] {
            let hits = ask(&scope, query, page(10));
            assert_eq!((hits.total, hits.unread), (total as u64, 0), "{query}");
            assert_eq!(hits.hits.len(), total.min(10), "{query}");
        }
    }
    assert_eq!(library.reads.load(Ordering::Relaxed), 0);
}

/// Words of source code have no places, but passages: where a phrase may stand by these alone the
/// text is read.
#[test]
fn i16_source_code_is_read_where_the_words_of_a_phrase_lie_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let mut library = Library::default();
    let filler = "    let other = something(with, many, parts);\n".repeat(80);
    for number in 0..90 {
        let body = match number % 3 {
            0 => format!("fn red() {{}}\n{filler}\nfn fox() {{}}\n"),
            1 => format!("fn a() {{}}\n{filler}\nfn b() {{}} // a red fox\n"),
            _ => format!("fn red_fox() {{}}\n{filler}\nfn fox_red() {{}}\n"),
        };
        let key = format!("{number:03}");
        let mut page = document(&key, if number == 0 { "red fox" } else { "" }, &body);
        page.kind = ContentKind::Code;
        index
            .put(&page, FileState::default())
            .expect("the document is put");
        library.texts.insert(key, body);
    }
    let sources = [commit(&mut index)];
    for (query, total, reads) in [
        ("\"red fox\"", 61, 60),
        ("\"a red fox\"", 30, 60),
        // That they follow one another in a title is told by the title.
        ("\"fox red\"", 30, 61),
        ("\"fox of red\"", 0, 0),
    ] {
        library.reads.store(0, Ordering::Relaxed);
        let hits = ask(&scope(&sources, Some(&library)), query, page(10));
        assert_eq!((hits.total, hits.unread), (total, 0), "{query}");
        assert!(
            library.reads.load(Ordering::Relaxed) <= reads,
            "{query}: {}",
            library.reads.load(Ordering::Relaxed)
        );
    }
}

/// An identifier stands for one word of the phrase or for its parts: its neighbours do not say
/// where it is, whichever of the words is rarest.
#[test]
fn i16_an_identifier_between_rarer_words_of_a_phrase_is_found() {
    for rare in ["dogs", "the", "redfox"] {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut index, _) = open(folder.path());
        let mut library = Library::default();
        let others = ["dogs", "the", "redfox"].into_iter();
        let others: Vec<&str> = others.filter(|&word| word != rare).collect();
        for (key, text) in [
            ("0", "red_fox_dog redFox the of"),
            ("1", &others.join(" of ")),
            ("2", &others.join(" x ")),
        ] {
            put(&mut index, key, "", text);
            library.texts.insert(key.to_owned(), text.to_owned());
        }
        let sources = [commit(&mut index)];
        let query = "\"red_fox_dog REDFOX the of\"";
        let hits = ask(&scope(&sources, Some(&library)), query, page(10));
        let found: Vec<&str> = hits
            .hits
            .iter()
            .map(|hit| hit.record.key.as_str())
            .collect();
        assert_eq!((found, hits.total), (vec!["0"], 1), "{rare}");
    }
}

/// What texts are made of: among them words that are parts of others, and a word that is too long.
const PIECES: [&str; 12] = [
    "red",
    "fox",
    "dogs",
    "the",
    "of",
    "redFox",
    "red_fox_dog",
    "REDFOX",
    "x",
    "fox-red",
    "été",
    "looooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooong",
];

fn text(pieces: &[usize]) -> String {
    joined(pieces, " ")
}

/// Words with a gap behind every 40th, as between functions.
fn joined(pieces: &[usize], gap: &str) -> String {
    let words: Vec<&str> = pieces.iter().map(|&piece| PIECES[piece]).collect();
    let lines: Vec<String> = words.chunks(40).map(|line| line.join(" ")).collect();
    lines.join(gap)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Texts are long enough for several passages; words of source code have no places.
    #[test]
    fn i16_phrases_are_where_a_look_at_the_texts_finds_them(
        documents in prop::collection::vec((
            any::<bool>(),
            prop::collection::vec(0..PIECES.len(), 0..4),
            prop::collection::vec(0..PIECES.len(), 0..600),
            prop::sample::select(vec![" ", "\n", "\n\n// -----------------------------------------\n"]),
        ), 1..6),
        phrases in prop::collection::vec(prop::collection::vec(0..PIECES.len() - 1, 2..5), 1..12),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut index, _) = open(folder.path());
        let mut library = Library::default();
        let mut titles = BTreeMap::new();
        for (number, (is_code, title, body, gap)) in documents.iter().enumerate() {
            let key = format!("{number}");
            let mut page = document(&key, &text(title), &joined(body, gap));
            if *is_code {
                page.kind = ContentKind::Code;
            }
            index.put(&page, FileState::default()).expect("the document is put");
            library.texts.insert(key.clone(), joined(body, gap));
            titles.insert(key, text(title));
        }
        let sources = [commit(&mut index)];
        for phrase in phrases {
            let query = format!("\"{}\"", text(&phrase));
            let parsed = parse(&SearchRequest::for_text(&query)).expect("parses");
            let mut finder = parsed.phrase_finder(0);
            let holds = |key: &&String| finder.is_in(&titles[*key]) || finder.is_in(&library.texts[*key]);
            let expected: Vec<&String> = library.texts.keys().filter(holds).collect();
            let hits = ask(&scope(&sources, Some(&library)), &query, page(100));
            let mut found: Vec<&String> = hits.hits.iter().map(|hit| &hit.record.key).collect();
            found.sort();
            prop_assert_eq!(&found, &expected, "{}", query);
            prop_assert_eq!(hits.total, expected.len() as u64, "{}", query);
        }
    }
}
