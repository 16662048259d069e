//! Times of what a search asks: the scan over all vectors, suggestions, the graph, the best results
//! read once more.
//!
//! `cargo bench -p search-graph-engine --bench speed`: 80,000 documents, 60,000 words, 10,000
//! suggestions, all made up from a fixed seed. Prints median, 99th percentile and the 99th
//! percentile of CPU time.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use scripted_peers::BertShape;
use search_graph_engine::embedding::CrossEncoder;
use search_graph_engine::graph::{ConceptGraph, DocumentFacts, Extractor};
use search_graph_engine::learning::{CorpusWriter, LearnOptions, Learner};
use search_graph_engine::space::{ConceptSpace, SCAN_DEPTH};
use search_graph_engine::suggest::{Suggester, SuggesterEntry, SuggestionKind};
use search_graph_engine::thesaurus::ConceptId;

const DOCUMENTS: usize = 80_000;

fn main() {
    let mut random = 1u64;
    let mut next = move |bound: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) as usize % bound
    };
    let words: Vec<String> = (0..60_000).map(|at| word(at, &mut next)).collect();
    reranking();
    suggestions(&words[..10_000]);
    graph(&words, &mut next);
    space(&words, &mut next);
}

fn word(number: usize, next: &mut impl FnMut(usize) -> usize) -> String {
    let syllables = [
        "ra", "ti", "con", "ver", "mo", "sul", "pen", "ga", "lo", "shi", "dre", "ku",
    ];
    let mut word: String = (0..2 + number % 3).map(|_| syllables[next(12)]).collect();
    word.push_str(&format!("{:x}", number % 4_096).replace(|c: char| c.is_ascii_digit(), "n"));
    word
}

/// Median and 99th percentile of the time, and the 99th of the thread's own CPU time: on a machine
/// with other work the first two hold waiting for a turn.
fn times(name: &str, rounds: usize, mut run: impl FnMut(usize)) {
    let mut times: Vec<Duration> = Vec::with_capacity(rounds);
    let mut cpu: Vec<u64> = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let (start, before) = (Instant::now(), cpu_ns());
        run(round);
        cpu.push(cpu_ns() - before);
        times.push(start.elapsed());
    }
    times.sort_unstable();
    cpu.sort_unstable();
    let micros = |at: usize| times[at].as_secs_f64() * 1e6;
    println!(
        "  {name:44} {:9.1} {:9.1} µs, CPU {:9.1} µs",
        micros(rounds / 2),
        micros(rounds * 99 / 100),
        cpu[rounds * 99 / 100] as f64 / 1e3
    );
}

/// CPU time of this thread in nanoseconds.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// A cross-encoder of the size of MiniLM's six layers, which reads the best 20 results of a query.
fn reranking() {
    let folder = tempfile::tempdir().unwrap();
    let shape = BertShape {
        width: 384,
        heads: 12,
        layers: 6,
        wide: 1_536,
        positions: 512,
        pieces: &["how", "to", "mend", "a", "net"],
    };
    shape.write(folder.path());
    let model = CrossEncoder::open(folder.path()).unwrap();
    println!("a cross-encoder of 6 layers, 384 wide: median, 99th percentile, CPU time");
    for (name, words) in [
        ("20 texts of 256 tokens", 300),
        ("20 texts of 100 tokens", 90),
    ] {
        let text = "a net ".repeat(words / 2);
        times(name, 10, |_| {
            (0..20).for_each(|_| {
                black_box(model.score("how to mend a net", &text));
            });
        });
    }
}

fn suggestions(words: &[String]) {
    fn make((at, text): (usize, &String)) -> SuggesterEntry<'_> {
        SuggesterEntry {
            text,
            kind: SuggestionKind::Term,
            weight: (at % 97) as u32,
        }
    }
    let suggester = Suggester::new(words.iter().enumerate().map(make).collect());
    println!(
        "{} suggestions: median, 99th percentile, 99th percentile of CPU time",
        suggester.len()
    );
    let typed = |round: usize| &words[round * 31 % words.len()];
    times("prefix of 1 to 4 letters", 4_000, |round| {
        let input = &typed(round)[..1 + round % 4];
        std::hint::black_box(suggester.complete_prefix(input, 10));
    });
    times("fuzzy, one letter wrong", 1_000, |round| {
        let mut input = typed(round).clone();
        let at = round % input.len();
        input.replace_range(at..=at, "z");
        std::hint::black_box(suggester.nearly(&input, 10));
    });
}

fn graph(words: &[String], next: &mut impl FnMut(usize) -> usize) {
    let mut graph = ConceptGraph::default();
    let extractor = Extractor::default();
    for number in 0..DOCUMENTS {
        let tags: Vec<String> = (0..8)
            .map(|_| words[next(300) * next(200)].clone())
            .collect();
        let facts = DocumentFacts {
            tags: &tags,
            ..DocumentFacts::default()
        };
        graph.insert(
            &format!("src/module{}/file{number}.rs", number % 400),
            &extractor.contribution(&facts),
        );
    }
    println!(
        "{} concepts in {} documents",
        graph.concept_count(),
        graph.document_count()
    );
    times("neighbours of a concept", 1_000, |round| {
        let id = ConceptId::from_name(&words[round % 300]);
        std::hint::black_box(graph.neighbours(id, 50));
    });
    times("overview of 100 concepts", 20, |_| {
        std::hint::black_box(graph.overview(100));
    });
}

fn space(words: &[String], next: &mut impl FnMut(usize) -> usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = CorpusWriter::create(&folder.path().join("tokens")).unwrap();
    for number in 0..DOCUMENTS {
        let topic = next(500) * 100;
        let body: Vec<&str> = (0..200)
            .map(|at| {
                if at % 3 == 0 {
                    next(words.len())
                } else {
                    topic + next(10_000)
                }
            })
            .map(|at| words[at % words.len()].as_str())
            .collect();
        writer
            .add(
                &format!("src/module{}/file{number}.rs", number % 400),
                [],
                body,
            )
            .unwrap();
    }
    let corpus = writer.finish().unwrap();
    println!(
        "{} documents of 200 words, {} words known",
        corpus.len(),
        corpus.vocabulary().len()
    );
    let options = LearnOptions {
        epochs: Some(1),
        ..LearnOptions::default()
    };
    let start = Instant::now();
    let mut learner = Learner::new(corpus, options);
    while !learner.step().unwrap().is_done() {}
    let learnt = start.elapsed();
    let space = learner.finish().finish().unwrap();
    println!(
        "  learning: {:.3} s a thousand documents and look; vectors of all: {:.1} s; most memory so far {} kB",
        learnt.as_secs_f64() * 1e3 / DOCUMENTS as f64,
        (start.elapsed() - learnt).as_secs_f64(),
        peak_memory()
    );
    println!(
        "  serving: {:.1} MB of heap",
        space.heap_bytes() as f64 / 1e6
    );
    let query = |space: &ConceptSpace, round: usize| {
        let words = [
            words[round * 17 % words.len()].as_str(),
            words[round * 5 % words.len()].as_str(),
        ];
        space.query_vector(words.map(|word| (word, 1))).unwrap()
    };
    times("scan of all documents", 300, |round| {
        std::hint::black_box(space.scan(&query(&space, round), SCAN_DEPTH));
    });
    times("related words", 300, |round| {
        std::hint::black_box(space.related_words(&words[round], 10));
    });
    let mut changed = space;
    times("put one document and publish", 300, |round| {
        changed.insert(&format!("new{round}"), &words[round..round + 200]);
        std::hint::black_box(changed.clone());
    });
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().to_owned()
}
