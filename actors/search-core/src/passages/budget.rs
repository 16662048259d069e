//! The smallest set of passages that answers, within a number of tokens: what a language model is
//! given to read in place of whole files.
//!
//! ```text
//! documents, best first ─► pieces (cut at seams of the text) ─► scores ─► taken while they fit
//! ```
//!
//! A piece counts by its words (BM25 over the pieces of the documents found), by the place of its
//! document, and less for each piece of the same document taken before it.

use std::ops::Range;

use super::definition_piece::with_definition;
use super::extents::{PassageExtent, extents};
use super::remaining::{REST_TOKENS, rest_budget};
use super::tokens::tokens;
use crate::snippet::TextHit;

/// Most tokens that may be asked for.
pub const MAX_BUDGET_TOKENS: usize = 100_000;

/// How much the words of a piece count beside the place of its document.
const WORDS_SHARE: f32 = 0.6;

/// What a piece with a definition of what is looked for counts.
const DEFINING: f32 = 1.5;

/// What the piece with the line that is meant has on top.
const MEANT: f32 = 1.0;

/// What a further piece of a document counts.
const FURTHER: f32 = 0.85;

/// Pieces that count less than this share of the best one are left off.
const LEAST_SHARE: f32 = 0.3;

/// Tokens of a passage beside its path and text: a bracket, numbers of lines, a line break.
const PLACE_TOKENS: usize = 6;

/// Bytes of a line before the first word that are shown where a piece has to be cut.
const LEAD_BYTES: usize = 200;

/// Bits of terms that are told apart.
const TERMS: usize = 64;

/// A found document.
#[derive(Debug, Clone, Default)]
pub struct PassageDocument {
    /// Its text.
    pub text: String,
    /// Where it is, as it will be shown.
    pub place: String,
    /// Its score.
    pub score: f32,
    /// The words of the query in it, ascending.
    pub hits: Vec<TextHit>,
    /// Lines that define something the query names, from 1.
    pub defining: Vec<usize>,
    /// The one of them that is meant, from 1.
    pub meant: Option<usize>,
    /// The line that the query asks for by its number, from 1.
    pub asked: Option<usize>,
    /// Where the passage begins that it was found by, in bytes, if not by its words: no other place
    /// of it is shown.
    pub nearest: Option<usize>,
    /// Whether its text is only a part of the document: without a word of the query it shows
    /// nothing of why that was found.
    pub is_part: bool,
}

/// A piece that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenPassage {
    /// Which of the documents it is from.
    pub document: usize,
    /// Its bytes.
    pub range: Range<usize>,
    /// Its first line, from 1.
    pub line: usize,
    /// Its last line.
    pub end_line: usize,
    /// Its tokens, about, with its place.
    pub tokens: usize,
}

/// A piece with what it counts.
#[derive(Clone)]
struct Candidate {
    document: usize,
    extent: PassageExtent,
    score: f32,
    tokens: usize,
    /// Whether it begins with the definition that is meant.
    is_definition: bool,
}

/// The passages that say most, at most `budget` tokens of them, by document in the order of the
/// best passage, and in a document in the order of its text.
#[must_use]
pub fn choose(documents: &[PassageDocument], budget: usize) -> Vec<ChosenPassage> {
    chosen(documents, &candidates(documents), budget)
}

/// The same, where the places of documents without a passage are named within the budget, too.
#[must_use]
pub fn choose_beside_rest(documents: &[PassageDocument], budget: usize) -> Vec<ChosenPassage> {
    let candidates = candidates(documents);
    let kept = rest_budget(budget, documents.len());
    let few = chosen(documents, &candidates, budget - kept);
    // What the places of the others do not need is left to the passages.
    let needed = tokens_of_others(documents, &few);
    if needed >= kept {
        return few;
    }
    let more = chosen(documents, &candidates, budget - needed);
    let spent: usize = more.iter().map(|one| one.tokens).sum();
    // A larger piece may have come in the place of those of other documents.
    let fits = spent + tokens_of_others(documents, &more) <= budget;
    if fits { more } else { few }
}

/// Tokens of the places of documents without one of these passages, about.
fn tokens_of_others(documents: &[PassageDocument], shown: &[ChosenPassage]) -> usize {
    let is_shown = |one: usize| shown.iter().any(|passage| passage.document == one);
    let others = (0..documents.len()).filter(|&one| !is_shown(one));
    let needed = others.map(|one| tokens(&documents[one].place) + PLACE_TOKENS);
    needed.map(|tokens| tokens.min(REST_TOKENS)).sum()
}

fn chosen(
    documents: &[PassageDocument],
    candidates: &[Candidate],
    budget: usize,
) -> Vec<ChosenPassage> {
    let mut candidates = candidates.to_vec();
    let mut chosen: Vec<Candidate> = Vec::new();
    let mut taken = vec![0_i32; documents.len()];
    let (mut left, mut least) = (budget, 0.0);
    let worth = |one: &Candidate, taken: &[i32]| one.score * FURTHER.powi(taken[one.document]);
    while let Some(at) = best_candidate(&candidates, |one| worth(one, &taken)) {
        let one = candidates.swap_remove(at);
        let value = worth(&one, &taken);
        if value < least {
            break;
        }
        let place = match taken[one.document] {
            0 => tokens(&documents[one.document].place) + PLACE_TOKENS,
            _ => PLACE_TOKENS,
        };
        let fitting = if one.tokens + place <= left {
            Some(one)
        } else if chosen.is_empty() {
            let room = left.checked_sub(place);
            room.and_then(|room| cut_to(&documents[one.document], one, room))
        } else {
            None
        };
        let Some(mut one) = fitting else { continue };
        one.tokens += place;
        left -= one.tokens.min(left);
        taken[one.document] += 1;
        least = f32::max(least, value * LEAST_SHARE);
        chosen.push(one);
    }
    in_order(chosen)
}

fn best_candidate(candidates: &[Candidate], worth: impl Fn(&Candidate) -> f32) -> Option<usize> {
    let order = |a: &usize, b: &usize| {
        let (a, b) = (&candidates[*a], &candidates[*b]);
        let by_place = (b.document, b.extent.range.start).cmp(&(a.document, a.extent.range.start));
        worth(a).total_cmp(&worth(b)).then(by_place)
    };
    (0..candidates.len()).max_by(order)
}

/// The pieces that hold words of the query; of a document without any, its first, where its text
/// is whole.
fn candidates(documents: &[PassageDocument]) -> Vec<Candidate> {
    let mut list: Vec<(usize, PassageExtent, [u32; TERMS])> = Vec::new();
    for (document, found) in documents.iter().enumerate() {
        let before = list.len();
        let mut all = extents(&found.text);
        if let Some(line) = found.meant {
            all = with_definition(&found.text, all, line);
        }
        if let Some(nearest) = found.nearest {
            let holds = all.iter().find(|extent| nearest < extent.range.end);
            all = holds.cloned().into_iter().collect();
        }
        let mut hits = found.hits.as_slice();
        for extent in &all {
            let before = hits.partition_point(|hit| hit.start < extent.range.start);
            let behind = hits.partition_point(|hit| hit.start < extent.range.end);
            let (inside, rest) = hits.split_at(behind);
            let inside = &inside[before..];
            hits = rest;
            if !inside.is_empty() || is_meant(found, extent) {
                list.push((document, extent.clone(), term_counts(inside)));
            }
        }
        if list.len() == before && !found.is_part {
            let first = all.into_iter().next();
            list.extend(first.map(|extent| (document, extent, [0; TERMS])));
        }
    }
    let scores = word_scores(documents, &list);
    let highest = scores.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    let scored = documents.iter().map(|found| found.score);
    let highest_document = scored.fold(f32::MIN_POSITIVE, f32::max);
    let scored = list.into_iter().zip(scores);
    let candidate = |((document, extent, _), score): ((usize, PassageExtent, _), f32)| {
        let found = &documents[document];
        let by_document = found.score.max(0.0) / highest_document;
        let meant = if is_meant(found, &extent) {
            MEANT * by_document
        } else {
            0.0
        };
        Candidate {
            tokens: tokens(&found.text[extent.range.clone()]),
            score: WORDS_SHARE * score / highest + (1.0 - WORDS_SHARE) * by_document + meant,
            is_definition: found.meant == Some(extent.line),
            document,
            extent,
        }
    };
    scored.map(candidate).collect()
}

/// Whether a piece begins with the definition that is meant, or holds the line asked for.
fn is_meant(found: &PassageDocument, extent: &PassageExtent) -> bool {
    let asked = found.asked;
    found.meant == Some(extent.line)
        || asked.is_some_and(|line| (extent.line..=extent.end_line).contains(&line))
}

fn term_counts(hits: &[TextHit]) -> [u32; TERMS] {
    let mut counts = [0; TERMS];
    for hit in hits {
        for (bit, count) in counts.iter_mut().enumerate() {
            *count += u32::from(hit.terms >> bit & 1 == 1);
        }
    }
    counts
}

/// BM25 of the pieces, among themselves.
fn word_scores(
    documents: &[PassageDocument],
    list: &[(usize, PassageExtent, [u32; TERMS])],
) -> Vec<f32> {
    let lengths = list.iter().map(|(_, extent, _)| extent.range.len() as f32);
    let average = lengths.sum::<f32>() / list.len().max(1) as f32;
    let mut with = [0_u32; TERMS];
    for (_, _, counts) in list {
        for (with, count) in with.iter_mut().zip(counts) {
            *with += u32::from(*count > 0);
        }
    }
    let rarity = with.map(|with| {
        let (all, with) = (list.len() as f32, with as f32);
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    });
    let score = |(document, extent, counts): &(usize, PassageExtent, [u32; TERMS])| {
        let norm = 1.2 * (0.25 + 0.75 * extent.range.len() as f32 / average.max(1.0));
        let terms = counts.iter().zip(rarity);
        let score: f32 = terms
            .map(|(&count, rarity)| rarity * count as f32 * 2.2 / (count as f32 + norm))
            .sum();
        let lines = extent.line..=extent.end_line;
        let mut defining = documents[*document].defining.iter();
        if defining.any(|line| lines.contains(line)) {
            score * DEFINING
        } else {
            score
        }
    };
    list.iter().map(score).collect()
}

/// The lines of a piece around its first word that fit in `budget` tokens.
fn cut_to(found: &PassageDocument, mut one: Candidate, budget: usize) -> Option<Candidate> {
    let extent = &mut one.extent;
    let first = found
        .hits
        .iter()
        .find(|hit| hit.start >= extent.range.start);
    let text = &found.text;
    let asked = found.asked.and_then(|line| {
        let inside = line.checked_sub(extent.line)?;
        let shown = &text[extent.range.clone()];
        let before = shown.split_inclusive('\n').take(inside).map(str::len);
        (line <= extent.end_line).then(|| extent.range.start + before.sum::<usize>())
    });
    let is_meant = found.meant == Some(extent.line);
    let meant = asked.or(is_meant.then_some(extent.range.start));
    let focus = meant
        .unwrap_or_else(|| first.map_or(extent.range.start, |hit| hit.start.min(extent.range.end)));
    let line_start = text[..focus].rfind('\n').map_or(0, |gap| gap + 1);
    let mut start = line_start.max(extent.range.start);
    if focus - start > LEAD_BYTES {
        start = text.ceil_char_boundary(focus - LEAD_BYTES / 2);
    }
    extent.line += text[extent.range.start..start].matches('\n').count();
    let (mut end, mut count) = (start, 0);
    for word in text[start..extent.range.end].split_inclusive(char::is_whitespace) {
        count += tokens(word);
        if count > budget {
            break;
        }
        end += word.len();
    }
    extent.range = start..end;
    extent.end_line = extent.line + text[start..end].trim_end().matches('\n').count();
    one.tokens = tokens(&text[start..end]);
    (!text[start..end].trim().is_empty()).then_some(one)
}

/// Passages that stand one behind the other are one, but a definition that is meant begins its own.
fn in_order(chosen: Vec<Candidate>) -> Vec<ChosenPassage> {
    let mut order: Vec<usize> = Vec::new();
    for one in &chosen {
        if !order.contains(&one.document) {
            order.push(one.document);
        }
    }
    let mut sorted = chosen;
    let place = |document: usize| order.iter().position(|&one| one == document);
    sorted.sort_by_key(|one| (place(one.document), one.extent.range.start));
    let mut passages: Vec<ChosenPassage> = Vec::new();
    for one in sorted {
        match passages.last_mut() {
            Some(last)
                if last.document == one.document
                    && last.range.end == one.extent.range.start
                    && !one.is_definition =>
            {
                last.range.end = one.extent.range.end;
                last.end_line = one.extent.end_line;
                last.tokens += one.tokens;
            }
            _ => passages.push(ChosenPassage {
                document: one.document,
                range: one.extent.range,
                line: one.extent.line,
                end_line: one.extent.end_line,
                tokens: one.tokens,
            }),
        }
    }
    passages
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::remaining::places_without_passage;
    use super::*;
    use crate::query::{SearchRequest, parse};
    use crate::snippet::TermFinder;

    fn found(place: &str, text: &str, score: f32, query: &str) -> PassageDocument {
        let query = parse(&SearchRequest::for_text(query)).expect("parses");
        PassageDocument {
            text: text.to_owned(),
            place: place.to_owned(),
            score,
            hits: TermFinder::new(&query).hits(text),
            ..PassageDocument::default()
        }
    }

    #[test]
    fn i16_the_passage_that_answers_comes_with_its_lines_and_not_its_file() {
        let filler = "fn other(number: u32) -> u32 {\n    number + 1\n}\n\n".repeat(100);
        let text = format!(
            "{filler}/// Opens the lock of a file.\nfn open_lock(path: &Path) -> Lock {{\n    Lock::open(path)\n}}\n\n{filler}"
        );
        let documents = [
            found("src/lock.rs", &text, 9.0, "open the lock"),
            found("notes.md", "Nothing here opens.\n", 3.0, "open the lock"),
        ];
        let passages = choose(&documents, 1_000);
        assert_eq!(passages[0].document, 0);
        let shown = &text[passages[0].range.clone()];
        assert!(shown.contains("Lock::open(path)"), "{shown}");
        let first = text[..passages[0].range.start].matches('\n').count() + 1;
        assert_eq!(passages[0].line, first);
        let total: usize = passages.iter().map(|one| one.tokens).sum();
        assert!(total < 400, "{total} tokens: {passages:?}");
    }

    #[test]
    fn i16_the_definition_comes_with_its_body_and_the_line_asked_for_with_what_is_around_it() {
        let text = "class A:\n    def other(self):\n        return make_it\n\n    def make_it(\n        self,\n    ):\n        one()\n        two()\n\n    def last(self):\n        make_it()\n";
        let mut document = found("a.py", text, 9.0, "make_it");
        document.defining = vec![5];
        document.meant = Some(5);
        let passages = choose(std::slice::from_ref(&document), 1_000);
        let meant = passages.iter().find(|one| one.line == 5);
        let end = meant.map(|one| one.end_line);
        assert!(end >= Some(9), "{passages:?}");
        // What does not fit is cut behind, not before.
        let few = choose(std::slice::from_ref(&document), 25);
        assert_eq!(few[0].line, 5);
        let lines = "line of text\n".repeat(400);
        let mut asked = found("b.txt", &lines, 1.0, "absent");
        asked.asked = Some(200);
        let passages = choose(&[asked], 60);
        assert!(
            passages[0].line <= 200 && passages[0].end_line >= 200,
            "{passages:?}"
        );
    }

    #[test]
    fn i16_a_long_line_is_cut_where_it_has_to_be() {
        let text = format!("{} needle {}", "hay ".repeat(5_000), "hay ".repeat(5_000));
        let documents = [found("a.txt", &text, 1.0, "needle")];
        let passages = choose(&documents, 60);
        assert_eq!(passages.len(), 1);
        assert!(text[passages[0].range.clone()].len() < 400);
        assert_eq!(choose(&documents, 0), []);
    }

    proptest! {
        #[test]
        fn i16_passages_keep_to_the_budget_and_to_the_text(
            texts in prop::collection::vec(prop::collection::vec("(red|fox|tree|sky|é)[ \n]{1,3}", 0..80), 1..6),
            budget in 0_usize..400,
        ) {
            let documents: Vec<PassageDocument> = texts.iter().enumerate()
                .map(|(at, words)| found(&format!("{at}.txt"), &words.concat(), at as f32, "red fox"))
                .collect();
            let passages = choose(&documents, budget);
            prop_assert!(passages.iter().map(|one| one.tokens).sum::<usize>() <= budget);
            let beside = choose_beside_rest(&documents, budget);
            let results = documents.iter().enumerate();
            let rest = places_without_passage(
                results,
                |(at, _)| beside.iter().any(|one| one.document == *at),
                |(_, found)| format!("{}:1", found.place),
                budget,
            );
            let tokens_of_rest: usize = rest.iter().map(|place| tokens(place).min(REST_TOKENS)).sum();
            prop_assert!(beside.iter().map(|one| one.tokens).sum::<usize>() + tokens_of_rest <= budget);
            let mut seen: Vec<(usize, Range<usize>)> = Vec::new();
            for one in passages {
                let text = &documents[one.document].text;
                prop_assert_eq!(one.line, text[..one.range.start].matches('\n').count() + 1);
                prop_assert!(one.line <= one.end_line && !one.range.is_empty());
                let overlap = seen.iter().any(|(document, range)| *document == one.document && range.start < one.range.end && one.range.start < range.end);
                prop_assert!(!overlap);
                seen.push((one.document, one.range));
            }
        }
    }
}
