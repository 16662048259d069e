//! Tests of the search for words.

use super::*;
use crate::query::{SearchRequest, parse};
use proptest::prelude::*;

fn finder(query: &str) -> TermFinder {
    TermFinder::new(&parse(&SearchRequest::for_text(query)).expect("the query is short"))
}

fn found<'t>(query: &str, text: &'t str) -> Vec<&'t str> {
    finder(query)
        .hits(text)
        .iter()
        .map(|hit| &text[hit.start..hit.end])
        .collect()
}

#[test]
fn forms_of_words_and_parts_of_identifiers_are_found() {
    for (query, text, expected) in [
        (
            "allocate memory",
            "Memory allocation; memories ALLOCATED",
            &["Memory", "allocation", "memories", "ALLOCATED"][..],
        ),
        ("hope", "hoping and hopes, shop", &["hoping", "hopes"]),
        (
            "port",
            "support sPort port_nr airPort exports",
            &["sPort", "port_nr", "airPort"],
        ),
        (
            "cache",
            "kmem_cache_alloc getCacheSize",
            &["kmem_cache_alloc", "getCacheSize"],
        ),
        ("память", "Память и ПАМЯТЬ", &["Память", "ПАМЯТЬ"]),
        ("éclair", "Éclair, eclair", &["Éclair", "eclair"]),
        ("eclair", "un éclair", &["éclair"]),
        ("漢", "a漢字", &["漢"]),
        ("c", "a c b", &["c"]),
        ("", "text", &[]),
    ] {
        assert_eq!(found(query, text), expected, "{query}");
    }
}

/// 16: the place of a hit was chosen by a part of what the close look takes for data.
#[test]
fn issue_16_what_has_too_many_parts_is_found_as_a_whole_only() {
    let text = "YiA_AAaAAa_aAAa_aAAa_aAaAAaA_AAa_aA_aAaAAa_ yi";
    let mut seen = Vec::new();
    finder("yi").scan(text, |hit| {
        seen.push(&text[hit.start..]);
        ControlFlow::Continue(())
    });
    assert_eq!((seen, found("yi", text)), (vec!["yi"], vec!["yi"]));
}

#[test]
fn an_identifier_stands_for_its_parts() {
    let mut finder = finder("getUserName");
    let hits = finder.hits("getUserName user");
    assert_eq!(hits[0].terms, finder.all_terms());
    assert_eq!(hits[1].terms.count_ones(), 1);
}

#[test]
fn the_search_stops_when_told() {
    let mut count = 0;
    finder("a1").find(&"a1 ".repeat(10_000), |_| {
        count += 1;
        if count == 3 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert_eq!(count, 3);
}

#[test]
fn words_at_the_seams_of_pieces_are_found_once() {
    let text = "needle filler ".repeat(5000);
    assert_eq!(found("needle", &text).len(), 5000);
    let joined = format!("{}needle", "x".repeat(3 * PIECE) + " ");
    assert_eq!(found("needle", &joined), ["needle"]);
}

proptest! {
    #[test]
    fn hits_are_words_of_the_text(query in "[a-zA-Zé漢_0-9 ]{0,20}", text in "(\\PC|[a-zé漢_A-Z ]){0,120}") {
        // An operator with nothing behind it is an error.
        let parsed = parse(&SearchRequest::for_text(&query));
        prop_assume!(parsed.is_ok());
        let mut end = 0;
        for hit in finder(&query).hits(&text) {
            prop_assert!(hit.start >= end && hit.start < hit.end && hit.terms != 0);
            prop_assert!(text.get(hit.start..hit.end).is_some());
            end = hit.end;
        }
    }

    /// 16: pages with many accents and signs took ten times as long as plain ones.
    #[test]
    fn i16_no_word_with_accents_is_missed(
        query in "[a-zéüøдом]{2,8}( [a-zéи]{3,6}\\*)?",
        text in "([a-zéüøßдоиÉÜДОМ§]{0,6}[ _§é\u{301}]){0,12}",
        ends in "(é|s|ing|und|\u{301}|Д)?",
    ) {
        let parsed = parse(&SearchRequest::for_text(&query));
        prop_assume!(parsed.is_ok());
        let parsed = parsed.expect("it was looked at");
        let first = query.split(' ').next().unwrap_or_default();
        let text = format!("{text} {first}{ends} {}{ends} a_{first}{ends}", first.to_uppercase());
        let mut finder = TermFinder::new(&parsed);
        prop_assume!(finder.needles.is_some());
        let hits = finder.hits(&text);
        let mut all = Vec::new();
        let _ = finder.find_wide(&text, 0..text.len(), WideWords::ALL, &mut collect_into(&mut all));
        for hit in all {
            let is_met = hits.iter().any(|one| one.start < hit.end && hit.start < one.end);
            prop_assert!(is_met, "{} of {text}", &text[hit.start..hit.end]);
        }
    }

    #[test]
    fn no_word_that_begins_like_its_term_is_missed(query in "[a-zA-Z]{2,9}( [a-z]{2,9})?", text in "[a-zA-Z_0-9 ]{0,80}") {
        let parsed = parse(&SearchRequest::for_text(&query));
        prop_assume!(parsed.is_ok());
        let parsed = parsed.expect("it was looked at");
        let text = format!("{text} {query} {}s", query.to_uppercase());
        let matcher = parsed.matcher();
        let hits: Vec<_> = TermFinder::new(&parsed).hits(&text).iter().map(|hit| hit.start).collect();
        for word in words(&text) {
            let term = matcher.matches(word.text).map(|term| parsed.terms()[term].text.as_str());
            let begins = term.is_some_and(|term| word.text.to_lowercase().as_bytes().starts_with(&needles(term)[0]));
            prop_assert!(!begins || hits.contains(&word.start), "{}", word.text);
            prop_assert!(term.is_some() || !hits.contains(&word.start), "{}", word.text);
        }
    }
}

fn scanned<'t>(query: &str, text: &'t str) -> Vec<&'t str> {
    let mut found = Vec::new();
    finder(query).scan(text, |hit| {
        found.push(&text[hit.start..hit.end]);
        ControlFlow::Continue(())
    });
    found
}

#[test]
fn a_scan_finds_words_and_the_parts_of_identifiers() {
    for (query, text, expected) in [
        (
            "allocate memory",
            "Memory allocation; memories ALLOCATED",
            &["Memory", "allocation", "memories", "ALLOCATED"][..],
        ),
        (
            "cache alloc",
            "kmem_cache_alloc getCacheSize cached",
            &["cache", "alloc", "Cache", "cached"],
        ),
        (
            "server",
            "HTTPServer HTTPSERVER server2",
            &["Server", "server"],
        ),
        ("port", "support sPort port_nr exports", &["Port", "port"]),
        (
            "getUserName",
            "getUserName users",
            &["getUserName", "users"],
        ),
        ("éclair", "Éclair, eclair", &["Éclair", "eclair"]),
        ("漢", "a漢字", &["漢"]),
        ("mem*", "kmem_memo remember", &["memo"]),
        ("", "text", &[]),
    ] {
        assert_eq!(scanned(query, text), expected, "{query}");
    }
}

proptest! {
    /// What a scan finds lies in words that a close look finds too, and in plain text it finds the
    /// same words.
    #[test]
    fn a_scan_finds_what_a_close_look_finds(query in "[a-z]{2,7}( [a-z]{2,7})?", text in "([a-zA-Z]{1,9}[ _]){0,20}", ending in "(s|es|ing|ed|ly)?") {
        let words = query.replace(' ', &format!("{ending} "));
        let text = format!("{text} {words}{ending} x_{words}_y");
        let exact = finder(&query).hits(&text);
        let mut last = 0;
        let mut seen = Vec::new();
        finder(&query).scan(&text, |hit| {
            seen.push(hit);
            ControlFlow::Continue(())
        });
        for hit in &seen {
            prop_assert!(hit.start >= last && hit.terms != 0);
            prop_assert!(exact.iter().any(|word| word.start <= hit.start && hit.end <= word.end), "{}", &text[hit.start..hit.end]);
            last = hit.end;
        }
        for word in &exact {
            prop_assert!(seen.iter().any(|hit| word.start <= hit.start && hit.end <= word.end), "{}", &text[word.start..word.end]);
        }
    }
}

#[test]
fn i16_accents_hide_no_word_beside_others() {
    let composed = "Hamburg: die Kündigungsfrist, höher als Résumé. 12 Höhe";
    let apart: String = unicode_normalization::UnicodeNormalization::nfd(composed).collect();
    for query in [
        "Kündigungsfrist hamburg resume",
        "kundigungsfrist hamburg résumé",
    ] {
        for text in [composed, &apart] {
            let found = found(query, text);
            let folded: Vec<_> = found
                .iter()
                .map(|word| crate::analysis::folded_line(word))
                .collect();
            assert_eq!(
                folded,
                ["hamburg", "kundigungsfrist", "resume"],
                "{query} in {text}"
            );
            let mut scanned = Vec::new();
            finder(query).scan(text, |hit| {
                scanned.push(&text[hit.start..hit.end]);
                ControlFlow::Continue(())
            });
            assert_eq!(scanned, found, "{query} in {text}");
        }
    }
    assert_eq!(
        found("zerowidth b", "a b Zero\u{200b}width"),
        ["b", "Zero\u{200b}width"]
    );
    assert_eq!(
        found("netzwerk kabel", "kabel Netz\u{ad}werk"),
        ["kabel", "Netz\u{ad}werk"]
    );
}
