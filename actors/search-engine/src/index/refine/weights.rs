//! What counts how much in the last look. What is added is in units of the best lexical score: 1 is
//! more than words can.

use search_core::file_roles::FileRole;
use search_core::names::NameKind;
use search_core::wanted_files::FileLikeness;

/// What holding an identifier adds: more than any name, which is in the text as well where it is
/// written so.
pub(super) const IDENTIFIER: f32 = 3.0;

/// What being called like the query adds, by how.
pub(super) const fn name_bonus(kind: NameKind) -> f32 {
    match kind {
        NameKind::File => 2.2,
        NameKind::Stem | NameKind::Title => 1.8,
        NameKind::Folder => 1.4,
    }
}

/// What being a file that the query names adds, by how likely it is that file and whether its name
/// is written so. Who names a line of it asks for nothing else: the identifiers beside it, in a
/// stack trace, are in many files.
pub(super) fn file_bonus(file: FileLikeness) -> f32 {
    let of_name = name_bonus(NameKind::File) + if file.has_line { LINE_OF_FILE } else { 0.0 };
    of_name * file.share + if file.is_same { SAME_SPELLING } else { 0.0 }
}

/// What being a file adds of which the query names a line.
const LINE_OF_FILE: f32 = 2.0;

/// What defining what the query names adds; a file that is called so as well has both.
pub(super) const DEFINITION: f32 = 1.6;

/// From how much of a definition on vectors have no say.
pub(super) const DECIDING: f32 = 0.5;

/// What is left of that in files that the query does not ask for.
pub(super) const DEFINED_ASIDE: f32 = 0.5;

/// What a name adds that is written just as it was typed, case and all.
pub(super) const SAME_SPELLING: f32 = 0.4;

/// What a name adds that is the whole query, not its last part.
pub(super) const WHOLE: f32 = 0.3;

/// How much of that what a qualified name lies in has (`Vec` of `Vec::push`).
pub(super) const OWNER: f32 = 0.6;

/// What is left of the score of the words where a document is called like the query: several such
/// differ by their names first.
pub(super) const WORDS_OF_NAMED: f32 = 0.3;

/// What a file's name adds that holds the words of the query and no others.
pub(super) const PATH_NEAR: f32 = 0.8;

/// What it adds beside that if it holds all words of the query.
pub(super) const PATH_OF_FILE: f32 = 0.3;

/// The same if it holds no others.
pub(super) const PATH_HELD: f32 = 0.3;

/// What the words of the folder's name add, beside the file's, where they are all of the query's.
pub(super) const PATH_OF_FOLDER: f32 = 1.3;

/// What the words of a path add, by rarity, for one word, which may be a name, and where somebody
/// asks how to do something.
pub(super) const PATH_BY_RARITY: f32 = 1.0;

/// The same where the document is called like the query, which counts by itself.
pub(super) const PATH_OF_NAMED: f32 = 0.3;

/// What defining something called like the query adds, where all words are the same.
pub(super) const DEFINED_WORDS: f32 = 1.0;

/// What holding the sentence that was typed adds, by the share of its pairs of words that it holds.
pub(super) const QUOTED_SENTENCE: f32 = 2.0;

/// What is left of what the words of paths add, where a text holds the sentence.
pub(super) const PATH_BESIDE_QUOTED: f32 = 0.5;

/// What a file's role leaves of the score of its words, where the query does not ask for such
/// files.
pub(super) const fn role_factor(role: FileRole) -> f32 {
    match role {
        FileRole::Main | FileRole::Documentation => 1.0,
        FileRole::Example | FileRole::History | FileRole::Settings => 0.3,
        FileRole::Test | FileRole::Lock => 0.1,
        FileRole::Generated | FileRole::Vendored => 0.2,
    }
}

/// What having the role adds that the query asks for by a word, which such a file need not hold.
pub(super) const WANTED_ROLE: f32 = 2.5;

/// What is left then of all that others have.
pub(super) const OTHER_ROLE: f32 = 0.5;

/// What a role leaves of a manual, for somebody who asks how to do something.
pub(super) const MANUAL: f32 = 2.0;

/// What is left of manuals beside code, in the same source.
pub(super) const MANUAL_BESIDE_CODE: f32 = 0.85;

/// A manual beside code, where the query is like an order: either may be meant.
pub(super) const MANUAL_OF_ORDER: f32 = 1.2;

/// The same for one word, which is a name that the code has first.
pub(super) const MANUAL_OF_WORD: f32 = 0.3;

/// The same where somebody asks how something works, which the code says.
pub(super) const MANUAL_OF_WORKINGS: f32 = 0.4;

/// What is left of a file beside code that is neither code nor a text for people.
pub(super) const DATA_BESIDE_CODE: f32 = 0.5;

/// The same of data for programs beside pages.
pub(super) const DATA_BESIDE_PAGES: f32 = 0.3;

/// What is left of pages of the past.
pub(super) const PAST: f32 = 0.5;

/// The most that vectors learnt from the corpus have of the score of source code: what is short has
/// a vector that is near to much.
pub(super) const VECTOR_OF_CODE: f32 = 0.2;
