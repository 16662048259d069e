//! The place of a document that is shown, in its snippet, its lines and its passages.

use serde_json::{Value, json};

use crate::harness::{Home, keys};

const WORDS: [&str; 14] = [
    "value", "item", "order", "total", "price", "account", "customer", "region", "status",
    "update", "record", "entry", "invoice", "amount",
];

/// Numbers that look random and are always the same.
fn numbers(seed: u64) -> impl Iterator<Item = usize> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    })
}

/// A line of this kind of file with these words.
fn line(kind: &str, number: usize, words: &[&str]) -> String {
    let text = words.join(" ");
    match kind {
        "csv" => words.join(";"),
        "rs" if number.is_multiple_of(30) => format!("}}\n\nfn handler_{number}() {{"),
        "rs" => format!(
            "    let {}_{number} = {}({}, {number});",
            words[0], words[1], words[2]
        ),
        "json" => format!("{{\"k\": \"{text}\"}},"),
        _ if number.is_multiple_of(6) => format!("{text}.\n"),
        _ => format!("{text}."),
    }
}

/// A file of frequent words; at 85 % one line holds the rare word beside two of them. The file and
/// the number of that line.
fn long_file(kind: &str, bytes: usize, rare: &str) -> (String, usize) {
    let mut numbers = numbers(bytes as u64);
    let mut words = || WORDS[numbers.next().unwrap_or(0) % WORDS.len()];
    let (mut text, mut place, mut number) = (String::new(), None, 0);
    while text.len() < bytes {
        number += 1;
        if place.is_none() && text.len() > bytes * 85 / 100 {
            place = Some(text.lines().count() + 1);
            text += &line(kind, 1, &[rare, "order", "invoice"]).replace("let", rare);
        } else {
            let drawn: Vec<&str> = std::iter::repeat_with(&mut words).take(8).collect();
            text += &line(kind, number, &drawn);
        }
        text.push('\n');
    }
    (text, place.expect("a line"))
}

/// The texts of a list of lines or passages.
fn holds(list: &Value, word: &str) -> bool {
    let mut texts = list.as_array().into_iter().flatten();
    texts.any(|one| one["text"].as_str().is_some_and(|text| text.contains(word)))
}

#[test]
fn i16_the_place_shown_holds_the_rarest_word() {
    let home = Home::new();
    let mut files = Vec::new();
    for kind in ["txt", "md", "csv", "rs", "log", "json"] {
        for size in [20_000, 60_000, 200_000, 600_000] {
            let rare = format!("quetzal{}x", letters(files.len()));
            let (text, line) = long_file(kind, size, &rare);
            let name = format!("{kind}{size}.{kind}");
            home.write(&name, text);
            files.push((name, rare, line));
        }
    }
    let server = home.start(&home.role("BM25F"));
    let mut wrong = Vec::new();
    for (name, rare, line) in &files {
        for words in [
            rare.clone(),
            format!("{rare} order"),
            format!("order {rare} value total"),
        ] {
            let asked =
                json!({"search_term": words, "limit": 1, "matches": 3, "budget_tokens": 200});
            let answer = server.search(&asked);
            let first = &answer["results"][0];
            let shown = first["snippet"]
                .as_str()
                .is_some_and(|text| text.contains(rare));
            let is_right = keys(&answer) == [name.as_str()]
                && shown
                && first["line"] == *line
                && holds(&first["matches"]["lines"], rare)
                && holds(&answer["passages"], rare);
            if !is_right {
                wrong.push(format!("{name} {words}: {line}, {first}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of 72: {wrong:#?}", wrong.len());
}

/// A number in letters.
fn letters(number: usize) -> String {
    number
        .to_string()
        .chars()
        .map(|digit| char::from(b'a' + (digit as u8 - b'0')))
        .collect()
}

/// A log of so many bytes, of which one line holds `word`; its number.
pub(crate) fn log(bytes: usize, share: usize, word: &str) -> (String, usize) {
    let (mut text, mut place, mut number) = (String::with_capacity(bytes + 100), 0, 0);
    // Few words, so that it is read quickly.
    let signs = "-".repeat(200);
    while text.len() < bytes {
        number += 1;
        if place == 0 && text.len() > bytes / 100 * share {
            place = number;
            text += &format!("{number} ERROR pool exhausted: {word} timeout\n");
        } else {
            text += &format!(
                "{number} INFO request {number} of worker {} {signs}\n",
                number % 9
            );
        }
    }
    (text, place)
}

#[test]
fn i16_of_a_long_log_the_line_that_was_asked_for_is_shown() {
    let home = Home::new();
    let (text, line) = log(18 << 20, 95, "zyzzyva9");
    home.write("long.log", text);
    let (text, early) = log(12 << 20, 95, "quokka");
    home.write("short.log", text);
    let mut role = home.role("BM25F");
    role["haystacks"][0]["extra_parameters"] = json!({"max_file_size": "64MB"});
    let server = home.start(&role);
    for words in ["zyzzyva9", "pool zyzzyva9", "request zyzzyva9 timeout"] {
        let asked = json!({"search_term": words, "limit": 2, "matches": 3, "budget_tokens": 400});
        let answer = server.search(&asked);
        let first = &answer["results"][0];
        assert_eq!(keys(&answer)[0], "long.log", "{words}");
        assert_eq!(first["line"], line, "{words}: {first}");
        let matches = &first["matches"]["lines"];
        assert!(holds(matches, "zyzzyva9"), "{words}: {matches}");
        let passages = &answer["passages"];
        assert!(holds(passages, "zyzzyva9"), "{words}: {passages}");
        let mut all = passages.as_array().expect("passages").iter();
        let found = all.find(|one| one["text"].to_string().contains("zyzzyva9"));
        let lines = found.map(|one| one["line"].as_u64()..=one["end_line"].as_u64());
        let is_right = lines.is_some_and(|lines| lines.contains(&Some(line as u64)));
        assert!(is_right, "{words}: {passages}");
    }
    // Exact text is looked for in the first 16 MiB, and what was left out is said.
    let exact = |text: &str| server.search(&json!({"search_term": text}));
    let answer = exact("\"exhausted: quokka\" case:yes");
    assert_eq!(keys(&answer), ["short.log"]);
    assert_eq!(answer["results"][0]["line"], early);
    let answer = exact("\"exhausted: zyzzyva9\" case:yes");
    assert_eq!(answer["total"], 0);
    let notes = answer["notes"].to_string();
    assert!(
        notes.contains("of long.log only the first 16 MiB"),
        "{notes}"
    );
    // Its beginning can be read.
    let id = exact("zyzzyva9")["results"][0]["id"].clone();
    let document = server.document(id.as_str().expect("an id"));
    assert_eq!(document["truncated"], true);
    assert_eq!(document["first_line"], Value::Null);
    // So can what stands around a line far into it.
    let document = server.document_at(id.as_str().expect("an id"), Some(line));
    let first = document["first_line"].as_u64().expect("a line");
    let body = document["body"].as_str().expect("a text");
    let shown = body
        .lines()
        .nth(line - usize::try_from(first).expect("a line"));
    assert!(
        shown.is_some_and(|line| line.contains("zyzzyva9")),
        "{shown:?}"
    );
    let document = server.document_at(id.as_str().expect("an id"), Some(90_000_000));
    assert_eq!(document["first_line"], Value::Null);
}
