//! Markdown as the rules need it: fenced blocks, and the text outside of them.

/// One fenced block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FencedBlock<'a> {
    /// The word after the fence.
    pub(super) language: &'a str,
    /// Its lines with their numbers in the file, from 1.
    pub(super) lines: Vec<(usize, &'a str)>,
}

/// The fenced blocks, and the lines outside of them with their numbers.
pub(super) fn split(text: &str) -> (Vec<FencedBlock<'_>>, Vec<(usize, &str)>) {
    let (mut blocks, mut prose) = (Vec::new(), Vec::new());
    let mut open: Option<(FencedBlock<'_>, &str)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim_start();
        match open.take() {
            Some((block, fence)) if trimmed.trim_end() == fence => blocks.push(block),
            Some((mut block, fence)) => {
                block.lines.push((number, line));
                open = Some((block, fence));
            }
            None => match fence(trimmed) {
                Some(fence) => {
                    let language = trimmed[fence.len()..]
                        .split(|c: char| !c.is_alphanumeric())
                        .next();
                    open = Some((
                        FencedBlock {
                            language: language.unwrap_or_default(),
                            lines: Vec::new(),
                        },
                        fence,
                    ));
                }
                None => prose.push((number, line)),
            },
        }
    }
    blocks.extend(open.map(|(block, _)| block));
    (blocks, prose)
}

/// The line without its `code spans`.
pub(super) fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// The anchors that headings get: lower case, words joined by `-` (GitHub's rule).
pub(super) fn anchors(text: &str) -> Vec<String> {
    let (_, prose) = split(text);
    let headings = prose.into_iter().filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len())
            .then(|| title.strip_prefix(' '))
            .flatten()
    });
    headings.map(anchor).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading
        .trim()
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

fn fence(line: &str) -> Option<&str> {
    let mark = ["`", "~"]
        .into_iter()
        .find(|mark| line.starts_with(&mark.repeat(3)))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    Some(&line[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_told_from_prose() {
        let (blocks, prose) = split("a\n```sh\nb\n```\nc\n  ~~~\n```\n  ~~~\n");
        assert_eq!(
            blocks,
            [
                FencedBlock {
                    language: "sh",
                    lines: vec![(3, "b")]
                },
                FencedBlock {
                    language: "",
                    lines: vec![(7, "```")]
                }
            ]
        );
        assert_eq!(prose, [(1, "a"), (5, "c")]);
    }

    #[test]
    fn headings_get_anchors() {
        let text = "# One search, end to end\n```\n# no heading\n```\n## `core` and C++\n#no\n";
        assert_eq!(anchors(text), ["one-search-end-to-end", "core-and-c"]);
        assert_eq!(without_code("a `b](c)` d"), "a   d");
    }
}
