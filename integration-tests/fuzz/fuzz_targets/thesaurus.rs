//! Thesauri and concept files: the first line is the declaration (JSON when it begins with a
//! bracket), the rest a text. What is found lies between two characters, does not overlap, and what
//! is replaced keeps the rest of the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use search_graph_engine::thesaurus::{Thesaurus, parse_concept_file, parse_json};

fuzz_target!(|input: &str| {
    let (declared, text) = input.split_once("\n\n").unwrap_or((input, input));
    let entries = if declared.starts_with(['{', '[']) {
        match parse_json(declared) {
            Ok(entries) => entries,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return;
            }
        }
    } else {
        parse_concept_file("name", declared).into_iter().collect()
    };
    let thesaurus = Thesaurus::new(entries);
    let found = thesaurus.find(text);
    let mut at = 0;
    for one in &found {
        assert!(one.start >= at && one.start < one.end && one.entry < thesaurus.entries().len());
        assert!(text.get(one.start..one.end).is_some());
        at = one.end;
    }
    let marked = thesaurus.replace_with(text, |_| "\u{1}".to_owned());
    if !text.contains('\u{1}') {
        assert_eq!(marked.matches('\u{1}').count(), found.len());
    }
    for (start, paragraph) in thesaurus.extract(text) {
        assert!(text[start..].starts_with(paragraph));
    }
});
