//! Where in the file a part of a text was written.

use super::reader::WorkflowReader;
use crate::expr::Chain;
use crate::source_location::SourceLocation;

impl WorkflowReader<'_> {
    /// Where the `nth` expression of a text begins.
    pub(crate) fn nth_place(
        &self,
        place: SourceLocation,
        text: &str,
        nth: usize,
    ) -> SourceLocation {
        let opened = text.match_indices("${{").nth(nth).map(|(at, _)| at);
        self.expression_place(place, text, opened.unwrap_or(0))
    }

    /// Where the name at `index` of a chain stands, in the `nth` expression of a text.
    pub(crate) fn chain_place(
        &self,
        place: SourceLocation,
        text: &str,
        nth: usize,
        chain: &Chain<'_>,
        index: usize,
    ) -> SourceLocation {
        let opened = text.match_indices("${{").nth(nth).map(|(at, _)| at);
        let from = opened.unwrap_or(0);
        let name = chain.name(index).unwrap_or_default();
        let before = chain.names.iter().take(index).copied().flatten();
        let dotted: Vec<&str> = std::iter::once(chain.context.name())
            .chain(before)
            .chain(std::iter::once(name))
            .collect();
        let searched = text[from..].to_ascii_lowercase();
        let whole = dotted.join(".").to_ascii_lowercase();
        let found = word(&searched, &whole).map(|at| at + whole.len() - name.len());
        let found = found.or_else(|| word(&searched, &name.to_ascii_lowercase()));
        let mut place = self.expression_place(place, text, from + found.unwrap_or(0));
        if found.is_some() {
            place.end = place.start + u32::try_from(name.len()).unwrap_or(1).max(1);
        }
        place
    }

    /// Where in the file the byte `at` of a scalar's text was written: found by counting the `${{`
    /// before it, since quotes, folding and indentation have moved it.
    pub(crate) fn expression_place(
        &self,
        place: SourceLocation,
        text: &str,
        at: usize,
    ) -> SourceLocation {
        let source = self.source.text();
        let raw = source.get(place.bytes()).unwrap_or_default();
        let upto = text.floor_char_boundary((at + 3).min(text.len()));
        let found = match text[..upto].rfind("${{") {
            Some(open) => {
                let nth = text[..open].matches("${{").count();
                raw.match_indices("${{")
                    .nth(nth)
                    .map(|(start, _)| start + at.saturating_sub(open))
            }
            None => raw.find(text).map(|start| start + at),
        };
        let offset = found.unwrap_or(0).min(raw.len());
        let start = place.start + u32::try_from(offset).unwrap_or(0);
        SourceLocation {
            start,
            end: start + 1,
            ..place
        }
    }
}

/// Where `name` stands in a text, not as a part of a longer name.
fn word(text: &str, name: &str) -> Option<usize> {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut found = text.match_indices(name);
    let (at, _) = found.find(|(at, _)| {
        !text[..*at].ends_with(part) && !text[at + name.len()..].starts_with(part)
    })?;
    Some(at)
}
