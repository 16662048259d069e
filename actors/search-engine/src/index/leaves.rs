//! The documents behind the leaves of a condition: fields, beginnings, words of titles.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use search_core::definitions::DefinitionKind;
use search_core::file_roles::FileRole;
use search_core::query::{Field, FieldFilter, ParsedQuery};
use tantivy::TantivyError;

use super::bitmap::Bitmap;
use super::conditions::MatchBounds;
use super::definition_terms::{kind_term, kind_word_term};
use super::error::IndexError;
use super::schema::KEY;
use super::snapshot::{IndexSnapshot, SegmentView, documents_of, find_term};

/// The documents of a segment that have a filter's value. `source` is the display name of theirs.
pub(super) fn filter_documents(
    snapshot: &IndexSnapshot,
    view: &SegmentView,
    source: Option<&str>,
    query: &ParsedQuery,
    filter: &FieldFilter,
) -> Result<MatchBounds, IndexError> {
    let max_doc = view.reader.max_doc();
    Ok(match filter.field {
        Field::Title => {
            let mut all = Bitmap::full(max_doc);
            for &word in &filter.words {
                let word = &query.words()[word];
                all.intersect(&title_documents(
                    snapshot,
                    view,
                    query,
                    word.whole,
                    &word.parts,
                )?);
            }
            if filter.is_phrase {
                MatchBounds::open(all, max_doc)
            } else {
                MatchBounds::exact(all)
            }
        }
        Field::Tag => {
            let tags = view.reader.inverted_index(snapshot.fields().tag)?;
            let info = find_term(&tags, snapshot.fields().tag, &filter.line)?;
            MatchBounds::exact(match info {
                Some(info) => documents_of(&tags, &info, max_doc)?,
                None => Bitmap::new(max_doc),
            })
        }
        Field::Path => MatchBounds::exact(path_documents(view, &filter.value)?),
        Field::Kind => MatchBounds::exact(kind_documents(snapshot, view, query, filter)?),
        Field::Is => MatchBounds::exact(documents_for(snapshot, view, filter)?),
        Field::After | Field::Before => {
            MatchBounds::exact(dated_documents(snapshot, view, filter)?)
        }
        Field::Source => {
            let is_it = source.is_some_and(|name| {
                name.eq_ignore_ascii_case(&filter.value)
                    || search_core::analysis::folded_line(name) == filter.line
            });
            MatchBounds::exact(if is_it {
                Bitmap::full(max_doc)
            } else {
                Bitmap::new(max_doc)
            })
        }
    })
}

/// Documents that were changed last on a day or later, or before it, by UTC. What has no time is in
/// neither.
fn dated_documents(
    snapshot: &IndexSnapshot,
    view: &SegmentView,
    filter: &FieldFilter,
) -> Result<Bitmap, IndexError> {
    let facts = snapshot.facts_of(view)?;
    let mut set = Bitmap::new(facts.len());
    let day: Option<Date> = filter.value.parse().ok();
    let midnight = day.and_then(|day| day.to_zoned(TimeZone::UTC).ok());
    let Some(start) = midnight.map(|midnight| midnight.timestamp().as_second()) else {
        return Ok(set);
    };
    let times = match filter.field {
        Field::After => start..i64::MAX,
        _ => i64::MIN + 1..start,
    };
    for document in 0..facts.len() {
        if times.contains(&facts.modified(document)) {
            set.insert_all(&[document]);
        }
    }
    Ok(set)
}

/// Documents whose files are for what the filter says.
fn documents_for(
    snapshot: &IndexSnapshot,
    view: &SegmentView,
    filter: &FieldFilter,
) -> Result<Bitmap, IndexError> {
    let facts = snapshot.facts_of(view)?;
    let mut set = Bitmap::new(facts.len());
    let role = FileRole::from_name(&filter.value);
    for document in (0..facts.len()).filter(|document| Some(facts.role(*document)) == role) {
        set.insert_all(&[document]);
    }
    Ok(set)
}

/// Documents that define something of a kind: called by any of the query's words, or anything where
/// the query has no others.
fn kind_documents(
    snapshot: &IndexSnapshot,
    view: &SegmentView,
    query: &ParsedQuery,
    filter: &FieldFilter,
) -> Result<Bitmap, IndexError> {
    let field = snapshot.fields().exact;
    let inverted = view.reader.inverted_index(field)?;
    let max_doc = view.reader.max_doc();
    let with = |term: &str| match find_term(&inverted, field, term)? {
        Some(info) => documents_of(&inverted, &info, max_doc),
        None => Ok(Bitmap::new(max_doc)),
    };
    let Some(kind) = DefinitionKind::from_name(&filter.value) else {
        return Ok(Bitmap::new(max_doc));
    };
    let words = query.words().iter();
    let mut words = words.filter(|word| query.is_looked_for(word)).peekable();
    if words.peek().is_none() {
        return with(&kind_term(kind));
    }
    let of_term = |term: usize| with(&kind_word_term(kind, &query.terms()[term].text));
    let mut set = Bitmap::new(max_doc);
    for word in words {
        set.unite(&of_term(word.whole)?);
        if let Some((&first, rest)) = word.parts.split_first() {
            let mut all = of_term(first)?;
            for &part in rest {
                all.intersect(&of_term(part)?);
            }
            set.unite(&all);
        }
    }
    Ok(set)
}

/// Documents whose title has a word: the whole of it, or all of its parts.
pub(super) fn title_documents(
    snapshot: &IndexSnapshot,
    view: &SegmentView,
    query: &ParsedQuery,
    whole: usize,
    parts: &[usize],
) -> Result<Bitmap, IndexError> {
    let with = |term: usize| {
        let text = &query.terms()[term].text;
        let info = find_term(&view.title, snapshot.fields().title, text)?;
        match info {
            Some(info) => documents_of(&view.title, &info, view.reader.max_doc()),
            None => Ok(Bitmap::new(view.reader.max_doc())),
        }
    };
    let mut set = with(whole)?;
    if let Some((&first, rest)) = parts.split_first() {
        let mut all = with(first)?;
        for &part in rest {
            all.intersect(&with(part)?);
        }
        set.unite(&all);
    }
    Ok(set)
}

/// The documents whose key holds `value`, from the column of keys: its dictionary is read in order,
/// and each document has the number of its key there.
fn path_documents(view: &SegmentView, value: &str) -> Result<Bitmap, IndexError> {
    let max_doc = view.reader.max_doc();
    let mut set = Bitmap::new(max_doc);
    let Some(column) = view.reader.fast_fields().str(KEY)? else {
        return Ok(set);
    };
    let mut wanted = PathPattern::new(value);
    let mut stream = column.dictionary().stream().map_err(TantivyError::from)?;
    let mut numbers = Bitmap::new(column.num_terms() as u32);
    let mut number = 0;
    while stream.advance() {
        if wanted.matches(stream.key()) {
            numbers.insert_all(&[number]);
        }
        number += 1;
    }
    if numbers.is_empty() {
        return Ok(set);
    }
    for document in 0..max_doc {
        let key = column.ords().first(document);
        if key.is_some_and(|key| numbers.contains(key as u32)) {
            set.insert_all(&[document]);
        }
    }
    Ok(set)
}

/// A piece of a path, where a star stands for anything. Case is not looked at.
struct PathPattern {
    /// The pieces between the stars.
    pieces: Vec<Vec<u8>>,
    /// With a star the last piece has to end the path.
    is_anchored: bool,
    /// The key in small letters.
    key: Vec<u8>,
}

impl PathPattern {
    fn new(value: &str) -> Self {
        let pieces: Vec<Vec<u8>> = value
            .split('*')
            .map(|piece| piece.to_ascii_lowercase().into_bytes())
            .collect();
        Self {
            is_anchored: pieces.len() > 1,
            pieces,
            key: Vec::new(),
        }
    }

    /// Each piece is taken at its first place behind the one before, the last one at the end: if
    /// there is a way to fit them, this is one.
    fn matches(&mut self, key: &[u8]) -> bool {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.key.make_ascii_lowercase();
        let key = &self.key;
        let Some((last, before)) = self.pieces.split_last() else {
            return false;
        };
        let mut at = 0;
        for piece in before {
            let Some(found) = memchr::memmem::find(&key[at..], piece) else {
                return false;
            };
            at += found + piece.len();
        }
        if self.is_anchored {
            key[at..].ends_with(last)
        } else {
            memchr::memmem::find(&key[at..], last).is_some()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PathPattern;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, path, expected) in [
            ("net", "drivers/net/a.c", true),
            ("NET/", "drivers/net/a.c", true),
            ("net/b", "drivers/net/a.c", false),
            ("*.c", "drivers/net/a.c", true),
            ("*.c", "drivers/net/a.c.orig", false),
            ("net/*.c", "drivers/net/deep/a.c", true),
            ("net/*", "drivers/net/a.h", true),
            ("a*a", "a", false),
            ("*", "a", true),
        ] {
            assert_eq!(
                PathPattern::new(pattern).matches(path.as_bytes()),
                expected,
                "{pattern} {path}"
            );
        }
    }
}
