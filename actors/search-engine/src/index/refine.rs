//! The last look at the best results: what a document is beside the words it holds.
//!
//! Statistics of words know nothing of names. A document that is called like the query, or holds an
//! identifier of it whole, where few do, comes before those that hold the parts, and vectors have
//! no say in that; where many do and it is all that is asked for, vectors choose among them. Words
//! of the query in the name of the file and of its folder add a share. Tests, copies and what
//! programs write are seldom meant: their words count less, unless the query asks for them.

mod asked_roles;
mod demotion;
mod scale;
mod weights;

use std::rc::Rc;

use search_core::document::ContentKind;
use search_core::file_roles::FileRole;
use search_core::query::ParsedQuery;
use search_core::wanted_files::{FileLikeness, MEANT};

use self::asked_roles::{has_path, named_roles};
use self::demotion::{Neighbours, is_code_file, remaining_factor, whole_document_change};
use self::scale::{Scale, append_below};
use self::weights::{
    DECIDING, DEFINED_ASIDE, DEFINED_WORDS, DEFINITION, IDENTIFIER, MANUAL, MANUAL_BESIDE_CODE,
    MANUAL_OF_ORDER, MANUAL_OF_WORD, MANUAL_OF_WORKINGS, OTHER_ROLE, OWNER, PATH_BESIDE_QUOTED,
    PATH_BY_RARITY, PATH_HELD, PATH_NEAR, PATH_OF_FILE, PATH_OF_FOLDER, PATH_OF_NAMED,
    QUOTED_SENTENCE, SAME_SPELLING, VECTOR_OF_CODE, WANTED_ROLE, WHOLE, WORDS_OF_NAMED, file_bonus,
    name_bonus, role_factor,
};
use super::error::IndexError;
use super::lexical::LexicalMatches;
use super::passages::PassageScores;
use super::placement::{Placer, neighbour_scores, size_score};
use super::pool::ScoredDocument;
use super::quoted::QuotedSentence;
use super::record::DocumentRecord;
use super::records::RecordReader;
use super::refinement::Refinement;
use super::rerank::{RankedCandidate, length};
use super::scope::SearchScope;
use super::snapshot::IndexSnapshot;
use super::spellings::{QuerySpellings, Spelling};
use super::term_matches::{DefinedMatch, TermMatches};

/// Results of a lexical search that are looked at; of a fused one all.
pub(super) const REFINE_DEPTH: usize = 100;

/// Looks at the best results of one search.
pub(super) struct Refiner<'r> {
    sources: &'r [IndexSnapshot],
    /// The names of the sources.
    names: &'r [&'r str],
    query: &'r ParsedQuery,
    outcome: &'r LexicalMatches,
    passages: &'r PassageScores,
    matches: TermMatches<'r>,
    is_one_word: bool,
    /// Whether so many words are looked for that they are hardly the name of a page.
    is_sentence: bool,
    /// Whether the query says where files lie.
    has_path: bool,
    /// Roles that the query asks for.
    named_roles: Vec<FileRole>,
    /// Whether all roles count alike.
    ignores_roles: bool,
    /// The role that is meant, where results have it.
    wanted_role: Option<FileRole>,
    placer: Placer,
    /// By source: whether code is among the results.
    has_code: Vec<bool>,
    /// By source: whether texts for people are.
    has_pages: Vec<bool>,
}

impl<'r> Refiner<'r> {
    pub(super) fn new(
        scope: &SearchScope<'r>,
        query: &'r ParsedQuery,
        outcome: &'r LexicalMatches,
        passages: &'r PassageScores,
    ) -> Self {
        let words = query.words().iter();
        let words = words.filter(|word| query.is_looked_for(word)).count();
        let is_one_word = words < 2;
        Self {
            sources: scope.snapshots,
            names: scope.names,
            placer: Placer::new(scope, query, is_one_word),
            query,
            outcome,
            passages,
            matches: TermMatches::new(query, &outcome.term_weights),
            is_one_word,
            is_sentence: words > 2,
            has_path: has_path(query),
            named_roles: named_roles(query),
            ignores_roles: false,
            wanted_role: None,
            has_code: Vec::new(),
            has_pages: Vec::new(),
        }
    }

    /// Whether files count alike, whatever they are for.
    pub(super) fn ignoring_roles(mut self, ignores_roles: bool) -> Self {
        self.ignores_roles = ignores_roles;
        self
    }

    /// The results in their last order.
    pub(super) fn refine(
        &mut self,
        mut ranked: Vec<RankedCandidate>,
        reader: &RecordReader<'_>,
    ) -> Result<Vec<RankedCandidate>, IndexError> {
        let fused = ranked.iter().take_while(|one| one.fusion.is_some()).count();
        let depth = if fused > 0 { fused } else { REFINE_DEPTH };
        let rest = ranked.split_off(depth.min(ranked.len()));
        let scale = Scale::from_ranked(&ranked);
        let candidates: Vec<ScoredDocument> = ranked.iter().map(|one| one.candidate).collect();
        let records = reader.records(&candidates)?;
        self.has_code = vec![false; self.sources.len()];
        self.has_pages = self.has_code.clone();
        for (one, record) in ranked.iter().zip(&records) {
            // What is no code and no manual either (a table, a mail) says nothing of the others.
            self.has_code[one.candidate.source as usize] |=
                record.role == FileRole::Main && record.kind == ContentKind::Code;
            self.has_pages[one.candidate.source as usize] |= record.kind == ContentKind::Prose;
            self.placer.record(record, one.candidate.source);
        }
        let wanted = self.query.wanted_role().filter(|_| !self.ignores_roles);
        self.wanted_role = wanted.filter(|wanted| {
            let mut found = ranked.iter().zip(&records);
            found.any(|(one, record)| self.role(record, one.candidate.source) == *wanted)
        });
        let spellings = self.spellings(&ranked, &records);
        let mut sizes = Vec::with_capacity(ranked.len());
        let mut is_defined = false;
        for ((one, record), spelling) in ranked.iter_mut().zip(&records).zip(spellings) {
            let terms = length(self.sources, &one.candidate)?;
            let alike = self.score_result(one, (record, terms), &scale, spelling);
            is_defined |= self.defines(&one.candidate);
            sizes.push(size_score(terms, alike));
        }
        self.boost_quoted(&mut ranked, &records, &scale)?;
        // Who asks in the words of a heading, or of a definition, means just that.
        if !is_defined {
            self.score_neighbours(&mut ranked, &records, &sizes, &scale);
        }
        ranked.sort_by(|a, b| b.candidate.score.total_cmp(&a.candidate.score));
        append_below(&mut ranked, rest);
        Ok(ranked)
    }

    /// Where a text holds the sentence that was typed, that is what is meant, not a page whose name
    /// has one of its words. Of source code it is not known.
    fn boost_quoted(
        &self,
        ranked: &mut [RankedCandidate],
        records: &[Rc<DocumentRecord>],
        scale: &Scale,
    ) -> Result<(), IndexError> {
        let Some(sentence) = QuotedSentence::from_query(self.query, &self.outcome.term_weights)
        else {
            return Ok(());
        };
        let is_text = |one: &RankedCandidate| !self.has_code[one.candidate.source as usize];
        // Words alone rank collections without names well, and better than this does.
        let has_names = |one: &RankedCandidate| is_text(one) && one.refinement.path > 0.0;
        if !ranked.iter().any(has_names) {
            return Ok(());
        }
        // A file that is named is meant, whatever other texts say of it.
        let names_file = |(one, record): (&RankedCandidate, &Rc<DocumentRecord>)| {
            let file = self.file_likeness(record, one.candidate.source);
            file.is_some_and(|file| file.share >= MEANT)
        };
        if ranked.iter().zip(records).any(names_file) {
            return Ok(());
        }
        let candidates: Vec<ScoredDocument> = ranked.iter().map(|one| one.candidate).collect();
        let shares = sentence.fractions(self.sources, &candidates)?;
        let mut found = ranked.iter().zip(&shares);
        if !found.any(|(one, share)| *share > 0.0 && is_text(one)) {
            return Ok(());
        }
        for ((one, record), share) in ranked.iter_mut().zip(records).zip(shares) {
            if !is_text(one) {
                continue;
            }
            let role = self.role_factor(
                self.role(record, one.candidate.source),
                one.candidate.source,
            );
            let quoted = QUOTED_SENTENCE * share * role.min(1.0) * scale.unit;
            let named = (1.0 - PATH_BESIDE_QUOTED) * one.refinement.path.max(0.0);
            one.refinement.quoted = quoted;
            one.refinement.path -= named;
            one.candidate.score += quoted - named;
        }
        Ok(())
    }

    /// Scores a result; how many of its definitions are called like words of the query.
    fn score_result(
        &mut self,
        one: &mut RankedCandidate,
        (record, terms): (&DocumentRecord, u32),
        scale: &Scale,
        spelling: Spelling,
    ) -> usize {
        let file = self.file_likeness(record, one.candidate.source);
        let of_file = file
            .filter(|file| file.share >= MEANT)
            .map_or(0.0, file_bonus);
        let called = self.name_bonus(record);
        let name = called.max(of_file);
        let defined = self.outcome.definers.weight(&one.candidate);
        let mut held = self.outcome.holders.count(&one.candidate);
        if defined > 0.0 && !self.outcome.holders.are_few() {
            // What defines it writes it in its own way.
            held = held.max(1);
        }
        let is_meant = held > 0 && self.outcome.holders.are_few();
        let decides = is_meant || name > 0.0 || defined >= DECIDING;
        if let Some(fusion) = one.fusion.as_mut().filter(|_| decides) {
            fusion.lexical_part = fusion.lexical_score / scale.lexical.max(f32::MIN_POSITIVE);
            fusion.otherwise_part = 0.0;
            fusion.concept_part = 0.0;
            one.candidate.score = fusion.lexical_part;
        }
        if is_code_file(record)
            && let Some(fusion) = &mut one.fusion
        {
            // In code other words are other things.
            fusion.drop_otherwise();
            one.candidate.score = fusion.limit_learnt(VECTOR_OF_CODE);
        }
        let as_a_whole = self.as_a_whole(one, record);
        let of_words = one.candidate.score + as_a_whole;
        let named_alike = self.defined_match(record, one.candidate.source);
        // A sentence may speak of a file and mean another.
        let spoken_of = file.filter(|_| name == 0.0).map_or(0.0, |file| file.share);
        // Of a file named beside words of its folders, folders count as they do of others.
        let path = (self.path(&record.key, called > 0.0, one.candidate.source)
            + spoken_of
            + self.placer.score_place(record, one.candidate.source))
            * scale.unit;
        // Identifiers and names decide, whatever the file is for; among them it orders.
        let of_words_and_path = path + of_words * if name > 0.0 { WORDS_OF_NAMED } else { 1.0 };
        let source = one.candidate.source;
        let role_of = self.role(record, source);
        let mut role = self.role_factor(role_of, source);
        if role_of == FileRole::Documentation && self.is_written_so(record) {
            // Who writes the name of a page as it is means the page, beside code as well.
            role = role.max(1.0);
        }
        let aside = if role < DEFINED_ASIDE {
            DEFINED_ASIDE
        } else {
            1.0
        };
        // What defines just what the query names has more than what is called alike.
        let alike = role * DEFINED_WORDS * named_alike.share;
        let is_named = name > 0.0 || spoken_of >= MEANT;
        let left = match is_named || named_alike.share > 0.0 {
            true => 1.0,
            false => {
                // A page that is called by a word of the query may be as long as it likes.
                let terms = if path > 0.0 { 0 } else { terms };
                self.aside_factor(record, terms, (role_of, source))
            }
        };
        one.refinement = Refinement {
            passages: as_a_whole,
            aside: (left - 1.0) * role * of_words_and_path.max(0.0),
            definition: (spelling.worth(DEFINITION) * defined * aside).max(alike) * scale.unit,
            identifiers: IDENTIFIER * held as f32 * scale.unit,
            name: match name {
                0.0 => 0.0,
                name => name * scale.unit - (1.0 - WORDS_OF_NAMED) * of_words,
            },
            path,
            role: (role - 1.0) * of_words_and_path,
            quoted: 0.0,
            role_of,
        };
        if let Some(wanted) = self.wanted_role {
            let all = one.candidate.score + one.refinement.sum();
            one.refinement.role += match wanted == role_of {
                true => WANTED_ROLE * scale.unit,
                false => (OTHER_ROLE - 1.0) * all.max(0.0),
            };
        }
        one.candidate.score += one.refinement.sum();
        named_alike.alike
    }

    /// What a file beside code that is no manual has as a whole more, or less, than by its
    /// passages.
    fn as_a_whole(&self, one: &RankedCandidate, record: &DocumentRecord) -> f32 {
        let source = one.candidate.source;
        let is_beside_code = record.kind != ContentKind::Code && self.has_code[source as usize];
        let passages = self.passages.get(&one.candidate);
        // Manuals are long, and people ask for one place of them.
        let is_meant =
            record.role == FileRole::Documentation || self.named_roles.contains(&record.role);
        let passages = passages.filter(|_| is_beside_code && !is_meant);
        passages.map_or(0.0, |passages| {
            whole_document_change(one.fusion.as_ref(), passages)
        })
    }

    /// What is left of what words and path give to a document that people seldom mean in its
    /// source.
    fn aside_factor(&self, record: &DocumentRecord, terms: u32, role: (FileRole, u32)) -> f32 {
        let (role, source) = role;
        if record.kind == ContentKind::Code || self.is_one_word || self.has_path {
            return 1.0;
        }
        let neighbours = match (
            self.has_code[source as usize],
            self.has_pages[source as usize],
        ) {
            (true, _) => Neighbours::Code,
            (false, true) if self.is_sentence => Neighbours::Pages,
            _ => Neighbours::Other,
        };
        remaining_factor(record, terms, role, neighbours, &|form| {
            self.is_extension_asked(form)
        })
    }

    /// Whether a word of the query is the extension of a file (`yaml`).
    fn is_extension_asked(&self, extension: &str) -> bool {
        let mut words = self.query.words().iter();
        words.any(|word| {
            self.query.is_looked_for(word) && word.folded.eq_ignore_ascii_case(extension)
        })
    }

    /// How the documents that define what the query names write it, one for each result.
    fn spellings(
        &self,
        ranked: &[RankedCandidate],
        records: &[Rc<DocumentRecord>],
    ) -> Vec<Spelling> {
        let wanted = QuerySpellings::from_query(self.query);
        let spelling = |(one, record): (&RankedCandidate, &Rc<DocumentRecord>)| {
            let defined = self.outcome.definers.weight(&one.candidate);
            (defined > 0.0).then(|| wanted.spelling(&record.defined))
        };
        let found: Vec<_> = ranked.iter().zip(records).map(spelling).collect();
        let is_better = |(found, record): (&Option<Spelling>, &Rc<DocumentRecord>)| match found {
            Some(Spelling::Same) => true,
            Some(Spelling::Unknown) => record.role == FileRole::Main,
            _ => false,
        };
        let chooses = wanted.choose() && found.iter().zip(records).any(is_better);
        let of_all = |spelling: Option<Spelling>| match spelling {
            Some(spelling) if chooses => spelling,
            _ => Spelling::Unknown,
        };
        found.into_iter().map(of_all).collect()
    }

    /// Whether a document is called like the query, written just so.
    fn is_written_so(&self, record: &DocumentRecord) -> bool {
        let mut names = self.query.names().iter().filter(|name| !name.is_owner);
        names.any(|name| {
            let kind = name.kind_of(&record.key, &record.title);
            kind.is_some_and(|(_, is_same)| is_same)
        })
    }

    /// Whether a document defines what is asked for.
    fn defines(&self, candidate: &ScoredDocument) -> bool {
        self.outcome.definers.weight(candidate) >= DECIDING
    }

    /// What code has of its size, one for each result, and of the results in its folder.
    fn score_neighbours(
        &self,
        ranked: &mut [RankedCandidate],
        records: &[Rc<DocumentRecord>],
        sizes: &[f32],
        scale: &Scale,
    ) {
        let is_meant = |one: &RankedCandidate, record: &DocumentRecord| {
            one.refinement.name == 0.0 && self.means_code(record, one.candidate.source)
        };
        let add = |one: &mut RankedCandidate, record: &DocumentRecord, more: f32| {
            let role = self.role_factor(record.role, one.candidate.source);
            let added = role * more * scale.unit;
            one.refinement.path += added;
            one.candidate.score += added;
        };
        for ((one, record), size) in ranked.iter_mut().zip(records).zip(sizes) {
            if is_meant(one, record) {
                add(one, record, *size);
            }
        }
        let found = ranked.iter().zip(records).map(|(one, record)| {
            let candidate = &one.candidate;
            (candidate.source, record.key.as_str(), candidate.score)
        });
        let beside = neighbour_scores(&found.collect::<Vec<_>>());
        for ((one, record), beside) in ranked.iter_mut().zip(records).zip(beside) {
            if is_meant(one, record) {
                add(one, record, beside);
            }
        }
    }

    /// Whether a manual is asked for. An order may be one for code, where some is near.
    fn is_manual_asked(&self, source: u32) -> bool {
        let is_for_code = self.query.is_order() && self.has_code[source as usize];
        self.query.is_how_to() && !is_for_code
    }

    /// Whether a document is code, and the query a sentence that code may answer.
    fn means_code(&self, record: &DocumentRecord, source: u32) -> bool {
        record.kind == ContentKind::Code && !self.is_one_word && !self.is_manual_asked(source)
    }

    /// What the words of a document's path add. Of several words each says as much of what is
    /// meant, and a name that holds nothing else says most.
    fn path(&mut self, key: &str, is_named: bool, source: u32) -> f32 {
        let path = self.matches.path(key);
        if is_named {
            PATH_OF_NAMED * path.by_rarity
        } else if self.is_one_word || self.is_manual_asked(source) {
            PATH_BY_RARITY * path.by_rarity
        } else {
            let file = PATH_NEAR * path.near + PATH_OF_FILE * path.of_file + PATH_HELD * path.held;
            file + PATH_OF_FOLDER * path.of_folder
        }
    }

    /// How much of what a document defines is called like the query. Who asks how to do something
    /// means no code, and one word is a name, whose definition counts.
    fn defined_match(&mut self, record: &DocumentRecord, source: u32) -> DefinedMatch {
        if self.is_manual_asked(source) || self.is_one_word {
            return DefinedMatch::default();
        }
        self.matches.definitions(&record.defined)
    }

    /// What a document is for. Where no code is near, folders are called as people call them:
    /// `Vendor` holds contracts, `Archive` what was not thrown away.
    fn role(&self, record: &DocumentRecord, source: u32) -> FileRole {
        if self.has_code[source as usize] || record.kind == ContentKind::Code {
            return record.role;
        }
        record.role.in_notes(&record.key)
    }

    fn role_factor(&self, role: FileRole, source: u32) -> f32 {
        match role {
            _ if self.ignores_roles => 1.0,
            FileRole::Documentation if self.is_manual_asked(source) => MANUAL,
            FileRole::Documentation if self.has_code[source as usize] => {
                if self.query.is_order() {
                    MANUAL_OF_ORDER
                } else if self.query.is_how_it_works() {
                    MANUAL_OF_WORKINGS
                } else if self.is_one_word {
                    MANUAL_OF_WORD
                } else {
                    MANUAL_BESIDE_CODE
                }
            }
            role if self.named_roles.contains(&role) => 1.0,
            role => role_factor(role),
        }
    }

    /// How likely a document is a file that the query names.
    fn file_likeness(&self, record: &DocumentRecord, source: u32) -> Option<FileLikeness> {
        let name = self.names.get(source as usize).copied().unwrap_or_default();
        self.query.file_likeness(&record.key, name)
    }

    fn name_bonus(&self, record: &DocumentRecord) -> f32 {
        let names = self.query.names().iter();
        let bonuses = names.filter_map(|name| {
            let (kind, is_same) = name.kind_of(&record.key, &record.title)?;
            let mut bonus = name_bonus(kind);
            if is_same {
                bonus += SAME_SPELLING;
            }
            if name.within.is_empty() {
                bonus += WHOLE;
            }
            Some(if name.is_owner { OWNER * bonus } else { bonus })
        });
        bonuses.fold(0.0, f32::max)
    }
}
