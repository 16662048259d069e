//! Ranking by learnt vectors: by subject, always the same, followed through changes.

use std::time::Duration;

use search_actors::LearningRests;
use serde_json::{Value, json};

use crate::harness::{Home, Running};

const SUBJECTS: u64 = 20;
const DOCUMENTS: u64 = 300;

fn mixed(numbers: [u64; 2]) -> u64 {
    let mixed = (numbers[0] << 20 | numbers[1]).wrapping_add(1);
    let mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 8
}

/// One of the twelve words of a subject; its letters say nothing of the subject.
fn word(subject: u64, number: u64) -> String {
    let mut bits = mixed([subject, number % 12]);
    let mut letter = || {
        bits /= 7;
        ["ba", "do", "ku", "la", "mo", "pu", "za"][(bits % 7) as usize]
    };
    (0..4).map(|_| letter()).collect()
}

fn write_subjects(home: &Home) {
    for number in 0..DOCUMENTS {
        let subject = number % SUBJECTS;
        // Seven of the twelve words, so that every document lacks some.
        let from = mixed([number, 1]);
        let words: Vec<String> = (0..24)
            .map(|step| word(subject, from + mixed([number, step]) % 7))
            .collect();
        home.write(&format!("d{number:04}.txt"), words.join(" "));
    }
}

fn graph_and_words(home: &Home) -> Value {
    let haystacks = &home.role("BM25F")["haystacks"];
    json!({"roles": [
        {"name": "Graph", "relevance_function": "ServiceGraph", "haystacks": haystacks},
        {"name": "Words", "relevance_function": "BM25F", "haystacks": haystacks},
    ]})
}

/// The ids found, in order, with their scores.
fn found(answer: &Value) -> Vec<(String, String)> {
    let results = answer["results"].as_array().expect("results").iter();
    let one = |result: &Value| {
        let id = result["id"].as_str().expect("an id");
        (id.to_owned(), result["score"].to_string())
    };
    results.map(one).collect()
}

/// Starts and waits until the vectors are learnt.
fn learnt(home: &Home, roles: &Value) -> Running {
    ready(home.start(roles))
}

fn ready(running: Running) -> Running {
    running.eventually("the vectors are learnt", || {
        let health = running.health();
        let mut sources = health.as_array().expect("sources").iter();
        sources.all(|source| source["concepts"]["state"] == "ready")
    });
    running
}

#[test]
fn service_graph_finds_by_concepts_and_always_the_same() {
    let home = Home::new();
    write_subjects(&home);
    let roles = graph_and_words(&home);
    let asked = word(3, 5);
    let search = |server: &Running, role: &str| {
        server.search(&json!({"search_term": asked, "role": role, "limit": 12, "explain": true}))
    };
    let holds = |id: &str| {
        let name = id.split_once('/').expect("a key").1;
        let text = std::fs::read_to_string(home.files().join(name)).expect("a file");
        text.split(' ').any(|word| word == asked)
    };

    let server = learnt(&home, &roles);
    let (graph, words) = (search(&server, "Graph"), search(&server, "Words"));
    let first = found(&graph);
    assert!(found(&words).iter().all(|(id, _)| holds(id)), "{words}");
    assert_ne!(first, found(&words), "the order is that of the words");
    let same_subject = |id: &str| {
        let number = id.split_once("/d").expect("a key").1;
        number[..4].parse::<u64>().expect("a number") % SUBJECTS == 3
    };
    let more: Vec<_> = first.iter().filter(|(id, _)| !holds(id)).collect();
    assert!(!more.is_empty(), "only documents with the word: {graph}");
    let near = first.iter().filter(|(id, _)| same_subject(id)).count();
    assert!(near >= 10, "{near} of 12: {first:?}");
    let parts = graph["results"][0]["explanation"]["parts"].to_string();
    assert!(parts.contains("\"concept\""), "{parts}");
    assert_eq!(found(&search(&server, "Graph")), first, "asked again");
    let nonsense = server.search(&json!({"search_term": "qqxxqq", "role": "Graph"}));
    assert_eq!(nonsense["total"], 0, "{nonsense}");
    drop(server);

    let server = learnt(&home, &roles);
    assert_eq!(found(&search(&server, "Graph")), first, "after a restart");
    drop(server);

    std::fs::remove_dir_all(home.data().join("index")).expect("the index");
    let server = learnt(&home, &roles);
    assert_eq!(found(&search(&server, "Graph")), first, "indexed again");
    drop(server);

    std::fs::remove_dir_all(home.data()).expect("the data");
    let server = learnt(&home, &roles);
    assert_eq!(found(&search(&server, "Graph")), first, "learnt again");

    // A changed document is followed, and a removed one is not found any more.
    let gone = &first[0].0;
    let name = gone.split_once('/').expect("a key").1;
    std::fs::remove_file(home.files().join(name)).expect("removed");
    server.eventually("the removal is followed", || {
        let health = server.health();
        let mut sources = health.as_array().expect("sources").iter();
        sources.all(|source| source["documents"] == DOCUMENTS - 1)
    });
    let after = found(&search(&server, "Graph"));
    assert!(after.iter().all(|(id, _)| id != gone), "{after:?}");
}

/// The words near a query depend on the words alone: neither the same query nor a change makes a
/// search compare it with all of them again, and what results are found by stays the same.
#[test]
fn i16_a_query_asked_again_after_a_change_is_not_compared_with_all_words() {
    let home = Home::new();
    write_subjects(&home);
    let server = learnt(&home, &graph_and_words(&home));
    let search = |words: &str| server.search(&json!({"search_term": words, "role": "Graph"}));
    let asked = [word(3, 5), word(7, 2)];
    let first = asked
        .each_ref()
        .map(|words| search(words)["results"].clone());
    let named = |results: &Value| {
        let mut results = results.as_array().expect("results").iter();
        results.any(|one| {
            one["concepts"]
                .as_array()
                .is_some_and(|all| !all.is_empty())
        })
    };
    assert!(first.iter().any(named), "{first:?}");
    assert_eq!(server.word_searches(), 2);
    for (words, first) in asked.iter().zip(&first) {
        assert_eq!(search(words)["results"], *first);
    }
    home.write("other.txt", "zebrafinch");
    server.eventually("the change is followed", || {
        server.search(&json!({"search_term": "zebrafinch", "role": "Words"}))["total"] == 1
    });
    for (words, first) in asked.iter().zip(&first) {
        let names = |results: &Value| {
            let results = results.as_array().expect("results").iter();
            let names = results.map(|one| (one["id"].clone(), one["concepts"].clone()));
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(&search(words)["results"]), names(first));
    }
    assert_eq!(server.word_searches(), 2);
    // A search that names nothing does not look for words at all.
    assert_eq!(search("qqxxqq")["total"], 0);
    server.search(&json!({"search_term": asked[0], "role": "Words"}));
    assert_eq!(server.word_searches(), 2);
}

/// What was learnt of words, as it is kept: what a thread did, however short it took.
fn models(home: &Home) -> Vec<Vec<u8>> {
    let folder = home.data().join("concepts");
    let sources = std::fs::read_dir(folder).expect("the folder of what is learnt");
    let model = |source: std::io::Result<std::fs::DirEntry>| {
        std::fs::read(source.expect("a source").path().join("model")).ok()
    };
    sources.filter_map(model).collect()
}

/// Files that are rewritten and put back score as before once the source is quiet: not at once,
/// as the vectors are refreshed from what is known.
#[test]
fn u7_the_vectors_of_a_quiet_source_depend_on_its_files_alone() {
    let home = Home::new();
    write_subjects(&home);
    let roles = graph_and_words(&home);
    let soon = LearningRests {
        settle_after: Duration::from_millis(1_500),
        before_settling: 0,
        after_work: 0,
    };
    let server = ready(home.start_resting(&roles, soon));
    let asked = json!({"search_term": word(3, 5), "role": "Graph", "limit": 40});
    let first = found(&server.search(&asked));
    let learnt = models(&home);
    assert!(!learnt.is_empty(), "what was learnt is kept");
    let rewritten = (0..20).map(|number| format!("d{number:04}.txt"));
    let files: Vec<(String, String)> = rewritten
        .map(|name| {
            let text = std::fs::read_to_string(home.files().join(&name)).expect("a file");
            (name, text)
        })
        .collect();
    for (number, (name, _)) in (0_u64..).zip(&files) {
        let words: Vec<String> = (0..24).map(|step| word(number + step, step)).collect();
        home.write(name, words.join(" "));
    }
    server.eventually("it has learnt again", || models(&home) != learnt);
    server.eventually("the scores are others", || {
        found(&server.search(&asked)) != first
    });
    for (name, text) in &files {
        home.write(name, text);
    }
    server.eventually("the words are those of the files", || {
        models(&home) == learnt
    });
    server.eventually("the scores are those of the files", || {
        found(&server.search(&asked)) == first
    });
    drop(server);
    // Ended between the words and the places of documents among them, it settles once more.
    let server = ready(home.start_resting(&roles, soon));
    server.eventually("they are after a restart", || {
        found(&server.search(&asked)) == first
    });
}
