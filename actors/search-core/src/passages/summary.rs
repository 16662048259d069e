//! Extractive summaries: the sentences that most others agree with.
//!
//! Sentences are nodes, their likeness the weight of edges, and importance is what PageRank gives:
//! `TextRank` (Mihalcea and Tarau, 2004), with the cosine of idf-weighted words of `LexRank` (Erkan
//! and Radev, 2004) as likeness, and a penalty for sentences like one already taken (maximal
//! marginal relevance, Carbonell and Goldstein, 1998).

use rustc_hash::FxHashMap;

use super::sentences::{Sentence, sentences};

/// Characters of a summary when nobody asks for another length.
pub const DEFAULT_SUMMARY_CHARS: usize = 500;
/// The longest summary.
pub const MAX_SUMMARY_CHARS: usize = 10_000;

/// PageRank's damping, and how often it is repeated: the order settles well before.
const DAMPING: f64 = 0.85;
const ROUNDS: usize = 30;
/// Likeness below which sentences have nothing to do with each other.
const THRESHOLD: f64 = 0.05;
/// A sentence whose rank is hardly above that of one without any likeness.
const ISOLATED: f64 = 1.2;
/// A sentence this like one already taken says nothing new.
const SAME: f64 = 0.7;

/// A summary of at most `max_chars` characters: sentences of the text, in its order. A text without
/// sentences is cut.
///
/// The same text always gives the same summary.
#[must_use]
pub fn summarize(text: &str, max_chars: usize) -> String {
    let sentences = sentences(text);
    if sentences.is_empty() {
        return cut(text, max_chars);
    }
    let vectors = vectors(&sentences);
    let likeness = similarity_matrix(&vectors);
    let ranks = page_rank(&likeness);
    let mut order: Vec<usize> = (0..sentences.len()).collect();
    // Equal ranks: the earlier one, which introduces.
    order.sort_by(|a, b| ranks[*b].total_cmp(&ranks[*a]).then(a.cmp(b)));
    let mut taken: Vec<usize> = Vec::new();
    let mut used = 0;
    for candidate in order {
        let length = sentences[candidate].text.chars().count() + 1;
        // Beside the subject: nothing else in the text is like it.
        let is_alone = ranks[candidate] <= ISOLATED * (1.0 - DAMPING) / as_f64(sentences.len());
        if is_alone && !taken.is_empty() {
            break;
        }
        let is_new = taken.iter().all(|other| likeness[candidate][*other] < SAME);
        if is_new && used + length <= max_chars + 1 {
            used += length;
            taken.push(candidate);
        }
    }
    if taken.is_empty() {
        return cut(sentences[0].text, max_chars);
    }
    taken.sort_unstable();
    let chosen: Vec<&str> = taken.iter().map(|index| sentences[*index].text).collect();
    chosen.join(" ")
}

/// Sparse unit vectors of term weights, sorted by term number.
type Vector = Vec<(u32, f64)>;

fn vectors(sentences: &[Sentence<'_>]) -> Vec<Vector> {
    let mut numbers: FxHashMap<&str, (u32, u32)> = FxHashMap::default();
    for sentence in sentences {
        // Sorted: numbers must not depend on the order of a hash table.
        let mut terms: Vec<&str> = sentence.terms.keys().map(String::as_str).collect();
        terms.sort_unstable();
        for term in terms {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            numbers.entry(term).or_insert((next, 0)).1 += 1;
        }
    }
    let count = as_f64(sentences.len());
    let vector = |sentence: &Sentence<'_>| {
        let weight = |(term, tf): (&String, &u32)| {
            let (number, df) = numbers[term.as_str()];
            (number, f64::from(*tf) * (1.0 + count / f64::from(df)).ln())
        };
        let mut vector: Vector = sentence.terms.iter().map(weight).collect();
        vector.sort_unstable_by_key(|(number, _)| *number);
        let norm = vector
            .iter()
            .map(|(_, weight)| weight * weight)
            .sum::<f64>()
            .sqrt();
        vector
            .iter_mut()
            .for_each(|(_, weight)| *weight /= norm.max(f64::MIN_POSITIVE));
        vector
    };
    sentences.iter().map(vector).collect()
}

fn similarity_matrix(vectors: &[Vector]) -> Vec<Vec<f64>> {
    let mut matrix = vec![vec![0.0; vectors.len()]; vectors.len()];
    for a in 0..vectors.len() {
        for b in 0..a {
            let both = dot(&vectors[a], &vectors[b]);
            matrix[a][b] = both;
            matrix[b][a] = both;
        }
    }
    matrix
}

fn dot(a: &Vector, b: &Vector) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.len() && j < b.len() {
        match a[i].0.cmp(&b[j].0) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                sum += a[i].1 * b[j].1;
                i += 1;
                j += 1;
            }
        }
    }
    sum
}

fn page_rank(likeness: &[Vec<f64>]) -> Vec<f64> {
    let count = likeness.len();
    let edge = |a: usize, b: usize| {
        if likeness[a][b] >= THRESHOLD {
            likeness[a][b]
        } else {
            0.0
        }
    };
    let out: Vec<f64> = (0..count)
        .map(|a| (0..count).map(|b| edge(a, b)).sum())
        .collect();
    let mut ranks = vec![1.0 / as_f64(count); count];
    for _ in 0..ROUNDS {
        let next = |a: usize| {
            let flow = (0..count).filter(|b| out[*b] > 0.0);
            let flow: f64 = flow.map(|b| ranks[b] * edge(b, a) / out[b]).sum();
            (1.0 - DAMPING) / as_f64(count) + DAMPING * flow
        };
        ranks = (0..count).map(next).collect();
    }
    ranks
}

fn as_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// At most `max_chars`, ended at a word.
fn cut(text: &str, max_chars: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().take(max_chars).collect();
    let line = words.join(" ");
    let Some((end, _)) = line.char_indices().nth(max_chars) else {
        return line;
    };
    let end = line[..end]
        .rfind(' ')
        .filter(|at| *at > end / 2)
        .unwrap_or(end);
    format!("{}…", line[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Supervision\nThe supervisor restarts children that fail. A child that fails too often is parked by its supervisor.\n\
        The weather was pleasant on that day.\n```\nfn code() { restarts(children) }\n```\n| a | table | row |\n\
        Supervisors count the failures of children and back off before they restart them. Somebody ate an apple quickly.";

    #[test]
    fn the_sentences_that_agree_are_taken_in_order() {
        let summary = summarize(TEXT, 180);
        assert!(summary.contains("supervisor"), "{summary}");
        assert!(
            !summary.contains("weather") && !summary.contains("apple"),
            "{summary}"
        );
        assert!(
            !summary.contains("code()") && !summary.contains('|'),
            "{summary}"
        );
        assert!(summary.chars().count() <= 180, "{summary}");
    }

    #[test]
    fn the_same_text_gives_the_same_summary_and_repeats_say_nothing_new() {
        let repeated = format!("{TEXT}\n{TEXT}");
        let summary = summarize(&repeated, 5000);
        assert_eq!(summary, summarize(&repeated, 5000));
        assert_eq!(
            summary.matches("restarts children that fail").count(),
            1,
            "{summary}"
        );
    }

    #[test]
    fn any_text_is_summarised_within_the_length() {
        assert_eq!(summarize("", 10), "");
        assert_eq!(summarize("two words", 100), "two words");
        assert_eq!(summarize("longword another", 10), "longword…");
        let endless = "word ".repeat(100_000);
        assert!(summarize(&endless, 50).chars().count() <= 51);
        let many = "The pump moves water through the pipe. ".repeat(5000);
        assert!(summarize(&many, 300).chars().count() <= 300);
        assert!(
            summarize(
                "日本語の文章です。これは二番目の文です。三番目の文もここにあります。",
                30
            )
            .chars()
            .count()
                <= 31
        );
    }
}
