//! The piece of a text that begins with the definition that is meant, with its body.

use std::ops::Range;

use super::extents::PassageExtent;

/// Most lines of a definition that are one piece; a class may have thousands.
const MAX_LINES: usize = 100;

/// Most bytes of it.
const MAX_BYTES: usize = 16 << 10;

/// The pieces with a definition that begins in `line` as a piece of its own; those around it have
/// what is left of them.
pub(super) fn with_definition(
    text: &str,
    extents: Vec<PassageExtent>,
    line: usize,
) -> Vec<PassageExtent> {
    let Some(body) = body(text, line) else {
        return extents;
    };
    let mut pieces = Vec::with_capacity(extents.len() + 2);
    let mut is_in = false;
    for extent in extents {
        let range = &extent.range;
        if range.end <= body.start || range.start >= body.end {
            pieces.push(extent);
            continue;
        }
        if range.start < body.start {
            pieces.extend(part(text, &extent, range.start..body.start));
        }
        if !is_in {
            let lines = text[body.clone()].trim_end().matches('\n').count();
            pieces.push(PassageExtent {
                range: body.clone(),
                line,
                end_line: line + lines,
            });
            is_in = true;
        }
        if range.end > body.end {
            pieces.extend(part(text, &extent, body.end..range.end));
        }
    }
    pieces
}

/// A part of a piece; none where nothing stands in it.
fn part(text: &str, of: &PassageExtent, range: Range<usize>) -> Option<PassageExtent> {
    let shown = &text[range.clone()];
    let line = of.line + text[of.range.start..range.start].matches('\n').count();
    (!shown.trim().is_empty()).then(|| PassageExtent {
        end_line: line + shown.trim_end().matches('\n').count(),
        line,
        range,
    })
}

/// The lines from a definition to where those of its depth go on. What closes it belongs to it, as
/// does the rest of a signature of several lines.
fn body(text: &str, line: usize) -> Option<Range<usize>> {
    let mut start = 0;
    for _ in 1..line {
        start += memchr::memchr(b'\n', &text.as_bytes()[start..])? + 1;
    }
    let mut lines = text[start..].split_inclusive('\n');
    let first = lines.next()?;
    let depth = indent(first);
    let (mut end, mut last) = (start + first.len(), start + first.len());
    for line in lines.take(MAX_LINES - 1) {
        if end - start + line.len() > MAX_BYTES {
            break;
        }
        end += line.len();
        let code = line.trim();
        if code.is_empty() {
            continue;
        }
        if indent(line) <= depth {
            if code.starts_with([')', ']', '{']) {
                last = end;
                continue;
            }
            if code.starts_with('}') || code == "end" || code.starts_with("end ") {
                last = end;
            }
            break;
        }
        last = end;
    }
    Some(start..last)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::extents::extents;
    use super::{body, with_definition};

    #[test]
    fn i16_a_definition_ends_where_its_depth_goes_on() {
        let shown = |text: &str, line: usize| body(text, line).map(|range| text[range].to_owned());
        let python = "class A:\n    def f(\n        self,\n    ) -> int:\n        return 1\n\n    def g(self): pass\n";
        assert_eq!(
            shown(python, 2).as_deref(),
            Some("    def f(\n        self,\n    ) -> int:\n        return 1\n")
        );
        let rust = "fn a()\n{\n    b();\n}\n\nfn c() {}\n";
        assert_eq!(shown(rust, 1).as_deref(), Some("fn a()\n{\n    b();\n}\n"));
        let ruby = "def a\n  b\nend\ndef c\nend\n";
        assert_eq!(shown(ruby, 1).as_deref(), Some("def a\n  b\nend\n"));
        assert_eq!(shown("# One\ntext\n", 1).as_deref(), Some("# One\n"));
        assert_eq!(shown("a\n", 7), None);
    }

    proptest! {
        #[test]
        fn i16_pieces_stay_one_behind_the_other(
            lines in prop::collection::vec("( {0,8})(def f|\\}|end|x y z|é|)", 0..60),
            line in 1_usize..70,
        ) {
            let text = lines.join("\n");
            let mut at = 0;
            for piece in with_definition(&text, extents(&text), line) {
                prop_assert!(piece.range.start >= at && !piece.range.is_empty());
                prop_assert_eq!(piece.line, text[..piece.range.start].matches('\n').count() + 1);
                prop_assert!(piece.end_line >= piece.line);
                at = piece.range.end;
            }
        }
    }
}
