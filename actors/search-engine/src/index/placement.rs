//! What code adds to its score, or loses, by where it lies and by how much it holds: of several
//! files with the words of the query, the one that people mean.

use rustc_hash::{FxHashMap, FxHashSet};
use search_core::code_places::{
    declares, is_for_windows, is_part, lies_in_namesake, may_mean_windows, namesake, outdated_word,
    system_of, unversioned,
};
use search_core::document::ContentKind;
use search_core::query::ParsedQuery;

use super::record::DocumentRecord;
use super::scope::SearchScope;

// All in units of the best lexical score.

/// What code loses by each folder it lies in: of several files that do, the one nearer to the root
/// of its source is meant.
const NESTED: f32 = 0.05;

/// What code adds that lies in the folder called like its source: the main one of its packages.
const NAMESAKE: f32 = 0.4;

/// What code for Windows or another system loses, which mostly has a twin, where the query does not
/// ask for it.
const FOR_ONE_SYSTEM: f32 = 0.2;

/// What code loses that declares what others do: sentences mean what does it.
const DECLARING: f32 = 0.2;

/// What code loses that is kept for earlier times.
const OUTDATED: f32 = 0.3;

/// What a file loses that holds a part of what another one is called after.
const PART: f32 = 0.1;

/// What code adds by each doubling of its length: who asks in sentences means where the work is
/// done, and statistics of words take long files down.
const LENGTH: f32 = 0.015;

/// The lengths between which that counts, in terms: a function by itself is no file, and which of
/// several is meant their words say.
const LENGTHS: [f32; 2] = [256.0, 4_096.0];

/// What code adds by the logarithm of how many of its definitions are called like words of the
/// query.
const MANY_ALIKE: f32 = 0.03;

/// What code adds by the best of its neighbours, each at most 1: folders are about one thing.
const NEIGHBOURS: f32 = 0.05;

/// Neighbours that count.
const BEST_NEIGHBOURS: usize = 2;

/// Results among which neighbours are looked for.
const NEIGHBOURHOOD: usize = 20;

/// Letters from which on the beginning of a word asks for what it begins like, in bytes.
const MIN_BEGINNING: usize = 5;

/// What places add for one query.
pub(super) struct Placer {
    /// By source: what its main package is called, squeezed.
    namesakes: Vec<Option<String>>,
    /// The words of the query.
    asked: Vec<String>,
    is_one_word: bool,
    /// The code among the results.
    code: FxHashSet<(u32, String)>,
}

impl Placer {
    pub(super) fn new(scope: &SearchScope<'_>, query: &ParsedQuery, is_one_word: bool) -> Self {
        Self {
            namesakes: scope.names.iter().map(|name| namesake(name)).collect(),
            asked: query.words().iter().map(|one| one.folded.clone()).collect(),
            is_one_word,
            code: FxHashSet::default(),
        }
    }

    /// Notes a result, beside which others may be of an earlier version.
    pub(super) fn record(&mut self, record: &DocumentRecord, source: u32) {
        if record.kind == ContentKind::Code {
            self.code.insert((source, record.key.clone()));
        }
    }

    /// What code adds, or loses, by where it lies.
    pub(super) fn score_place(&self, record: &DocumentRecord, source: u32) -> f32 {
        if record.kind != ContentKind::Code {
            return 0.0;
        }
        let key = record.key.as_str();
        let mut place = -NESTED * key.matches('/').count() as f32;
        let name = self.namesakes.get(source as usize);
        let name = name.and_then(Option::as_deref);
        if name.is_some_and(|name| lies_in_namesake(key, name)) {
            place += NAMESAKE;
        }
        let is_asked_for = |name: &str| self.is_named(name);
        let may_mean_windows = || self.asked.iter().any(|word| may_mean_windows(word));
        if is_for_windows(key) && !may_mean_windows()
            || system_of(key).is_some_and(|name| !is_asked_for(name))
        {
            place -= FOR_ONE_SYSTEM;
        }
        if !self.is_one_word && declares(key) {
            place -= DECLARING;
        }
        let has_twin = || unversioned(key).is_some_and(|twin| self.code.contains(&(source, twin)));
        if outdated_word(key).is_some_and(|name| !is_asked_for(name)) || has_twin() {
            place -= OUTDATED;
        }
        if is_part(key) {
            place -= PART;
        }
        place
    }

    /// Whether a word of the query begins like a word of a path, or the other way round.
    fn is_named(&self, name: &str) -> bool {
        self.asked.iter().any(|word| {
            let is_beginning = word.len() >= MIN_BEGINNING && name.starts_with(word.as_str());
            word.starts_with(name) || is_beginning
        })
    }
}

/// What code of so many terms adds, `alike` of whose definitions are called like words of the
/// query.
pub(super) fn size_score(terms: u32, alike: usize) -> f32 {
    let [least, most] = LENGTHS;
    let doublings = ((terms as f32).clamp(least, most) / least).log2();
    LENGTH * doublings + MANY_ALIKE * (1.0 + alike as f32).ln()
}

/// What each of the results has of its neighbours, the best results of its folder. `found` are the
/// source, the key and the score of each.
pub(super) fn neighbour_scores(found: &[(u32, &str, f32)]) -> Vec<f32> {
    let folder = |at: usize| {
        let (source, key, _) = found[at];
        (
            source,
            key.rsplit_once('/').map_or("", |(folder, _)| folder),
        )
    };
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by(|&a, &b| found[b].2.total_cmp(&found[a].2));
    let highest = order.first().map_or(0.0, |&at| found[at].2);
    let mut best: FxHashMap<(u32, &str), Vec<usize>> = FxHashMap::default();
    for &at in order.iter().take(NEIGHBOURHOOD) {
        best.entry(folder(at)).or_default().push(at);
    }
    let share = |at: &usize| (found[*at].2 / highest.max(f32::MIN_POSITIVE)).clamp(0.0, 1.0);
    (0..found.len())
        .map(|at| {
            let beside = best.get(&folder(at)).map_or(&[][..], Vec::as_slice);
            let others = beside.iter().filter(|&&other| other != at);
            NEIGHBOURS * others.take(BEST_NEIGHBOURS).map(share).sum::<f32>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use search_core::document::ContentKind;
    use search_core::query::{SearchRequest, parse};

    use super::{DocumentRecord, Placer, SearchScope, neighbour_scores, size_score};

    fn code(key: &str) -> DocumentRecord {
        DocumentRecord {
            key: key.to_owned(),
            kind: ContentKind::Code,
            ..DocumentRecord::default()
        }
    }

    #[test]
    fn i16_code_counts_by_where_it_lies() {
        for (query, key, expected) in [
            ("cut pages", "a.c", 0.0),
            ("cut pages", "book/a.c", 0.35),
            ("cut pages", "src/sunos.c", -0.25),
            ("pages of sunos", "src/sunos.c", -0.05),
            ("cut pages", "win/a.c", -0.25),
            ("windows of pages", "win/a.c", -0.05),
            ("cut pages", "types/a.ts", -0.25),
            ("pages", "types/a.ts", -0.05),
            ("cut pages", "legacy/a.c", -0.35),
            ("legacy pages", "legacy/a.c", -0.05),
            ("deprecation of pages", "deprecated/a.c", -0.35),
            ("deprecate pages", "deprecated/a.c", -0.05),
            ("cut pages", "v1/a.c", -0.35),
            ("cut pages", "v1/b.c", -0.05),
            ("cut pages", "a.part.c", -0.1),
        ] {
            let scope = SearchScope {
                snapshots: &[],
                names: &["book"],
                texts: None,
                reranker: None,
            };
            let query = parse(&SearchRequest::for_text(query)).expect("a query");
            let is_one_word = query.words().len() < 2;
            let mut placer = Placer::new(&scope, &query, is_one_word);
            placer.record(&code("a.c"), 0);
            placer.record(&code("b.c"), 1);
            let place = placer.score_place(&code(key), 0);
            assert!((place - expected).abs() < 1e-6, "{key}: {place}");
            let notes = DocumentRecord {
                kind: ContentKind::Prose,
                ..code(key)
            };
            assert_eq!(placer.score_place(&notes, 0), 0.0);
        }
    }

    #[test]
    fn i16_long_code_with_many_names_alike_counts_more() {
        for (terms, alike, expected) in [
            (0, 0, 0.0),
            (256, 0, 0.0),
            (1_024, 0, 0.03),
            (1 << 20, 0, 0.06),
            (64, 3, 0.03 * 4.0_f32.ln()),
        ] {
            let found = size_score(terms, alike);
            assert!((found - expected).abs() < 1e-6, "{terms}, {alike}: {found}");
        }
    }

    #[test]
    fn i16_the_best_two_of_a_folder_speak_for_the_others() {
        let found = [
            (0, "a/one", 2.0),
            (0, "a/two", 1.0),
            (0, "a/three", 0.5),
            (0, "a/four", 0.1),
            (0, "b/five", 1.5),
            (1, "a/six", 1.5),
            (0, "seven", -1.0),
            (0, "eight", 0.2),
        ];
        let expected = [0.75, 1.25, 1.5, 1.5, 0.0, 0.0, 0.1, 0.0];
        for ((found, expected), (_, key, _)) in
            neighbour_scores(&found).iter().zip(expected).zip(found)
        {
            assert!((found - 0.05 * expected).abs() < 1e-6, "{key}: {found}");
        }
        assert!(neighbour_scores(&[]).is_empty());
        // What is far down says nothing for its folder.
        let many: Vec<(u32, String, f32)> = (0..30)
            .map(|number| (0, format!("{}/a", number / 2), 30.0 - number as f32))
            .collect();
        let many: Vec<_> = many.iter().map(|(s, k, n)| (*s, k.as_str(), *n)).collect();
        let shares = neighbour_scores(&many);
        assert_eq!((shares[18] > 0.0, shares[22]), (true, 0.0));
    }
}
