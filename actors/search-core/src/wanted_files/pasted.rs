//! Where a file stands in a piece of pasted text, and which of its lines is asked for: frames of
//! stack traces, messages of compilers, addresses of pages at forges.

use std::ops::Range;

/// Longest extension of a file, in bytes.
const MAX_EXTENSION: usize = 8;

/// Most digits of the number of a line.
const MAX_DIGITS: usize = 7;

/// Longest piece of text in which a file is looked for, in bytes.
const MAX_PIECE: usize = 512;

/// What stands around a file in a text and belongs to the text.
const AROUND: [char; 18] = [
    '"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '|', '«', '»', '“', '”',
];

/// What the path of a page at a forge has between a repository and a branch or commit.
const VIEWS: [&str; 9] = [
    "blob", "tree", "raw", "blame", "edit", "src", "branch", "commit", "tag",
];

/// A file in a piece of text without white space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PastedFile<'t> {
    /// Its path, as far as it may be one of the source's.
    pub(super) path: &'t str,
    /// The line asked for, from 1.
    pub(super) line: Option<usize>,
    /// What of the piece says where the file is kept, which line is meant: no words of a query.
    pub(super) noise: [Range<usize>; 2],
}

impl<'t> PastedFile<'t> {
    pub(super) fn parse(token: &'t str) -> Option<Self> {
        if token.len() > MAX_PIECE {
            return None;
        }
        let start = token.len() - token.trim_start_matches(AROUND).len();
        match token[start..].split_once("://") {
            Some((scheme, rest)) if is_scheme(scheme) => {
                let rest = start + scheme.len() + 3..start + scheme.len() + 3 + rest.len();
                Self::parse_address(token, scheme, rest)
            }
            _ => Self::parse_path(token, start),
        }
    }

    /// `https://forge.example/owner/repo/blob/main/src/a.rs#L10-L20`, `file:///src/a.rs:10:5`.
    fn parse_address(token: &'t str, scheme: &str, rest: Range<usize>) -> Option<Self> {
        let is_local = scheme == "file" || scheme == "vscode";
        let host = token[rest.clone()].find('/')?;
        let mut found = Self::parse_path(token, rest.start + host + 1)?;
        if is_local {
            found.noise[0] = 0..rest.start;
            return Some(found);
        }
        if let Some(inside) = in_repository(found.path) {
            let begin = inside.as_ptr().addr() - token.as_ptr().addr();
            found.noise[0] = 0..begin;
            found.path = inside;
        }
        Some(found)
    }

    /// A path from there on, perhaps inside a call (`Main.run(Main.java:10`), and the line.
    fn parse_path(token: &'t str, start: usize) -> Option<Self> {
        let text = &token[start..];
        let ends = text.char_indices().filter(|(_, c)| is_end(*c));
        let ends = ends.map(|(at, _)| at).chain([text.len()]);
        let of_end = |end: usize| {
            let (path, is_whole) = without_lead(text[..end].trim_end_matches('.'));
            let (path, is_whole) = (without_drive(path), is_whole);
            if path.contains(':') || !has_extension(path) {
                return None;
            }
            let number = line_in(&text[end..]);
            // A call with a file in it is a frame; without a line it may be any code.
            let is_call = !is_whole || text[end..].starts_with(['(', '[', '=', '+']);
            (number.is_some() || !is_call).then_some((path, end, number))
        };
        let (path, end, number) = ends.filter_map(of_end).next_back()?;
        let after = start + end;
        let (line, noise) = match number {
            Some((line, length)) => (Some(line), after..after + length),
            None => (None, 0..0),
        };
        Some(Self {
            path,
            line,
            noise: [0..0, noise],
        })
    }
}

/// The number of a line in the words behind a file: `", line 12`, `on line 12`, `(line 12)`. Gives
/// where the number ends in `text`.
pub(super) fn line_behind(text: &str) -> Option<(usize, usize)> {
    let mut rest = text.trim_start_matches(is_seam);
    rest = without_word(rest, "on")
        .or_else(|| without_word(rest, "at"))
        .unwrap_or(rest);
    let rest = without_word(rest, "line")?;
    let (line, length) = digits(rest)?;
    let is_number = !rest[length..].starts_with(|c: char| c.is_alphanumeric() || c == '.');
    let end = rest.as_ptr().addr() - text.as_ptr().addr() + length;
    is_number.then_some((line, end))
}

fn is_seam(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ':' | '(' | '`')
}

/// A text without this word at its begin, and the blanks behind it.
fn without_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let begin = text.get(..word.len())?;
    let rest = &text[word.len()..];
    let blanks = rest.len() - rest.trim_start().len();
    (begin.eq_ignore_ascii_case(word) && blanks > 0).then(|| &rest[blanks..])
}

fn is_scheme(text: &str) -> bool {
    (2..=12).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'-')
}

/// What may follow a path.
fn is_end(c: char) -> bool {
    AROUND.contains(&c) || matches!(c, ':' | '#' | '?' | '+' | '=')
}

/// A path without what stands in front of it inside a call or a tag, and whether that was nothing.
fn without_lead(path: &str) -> (&str, bool) {
    let name = path.rfind(['/', '\\']).map_or(0, |slash| slash + 1);
    match path[name..].rfind(['(', '[', '<', '"', '\'', '=', '|', ',']) {
        Some(at) => (&path[name + at + 1..], false),
        None => (path, true),
    }
}

/// A path without the letter of a drive.
fn without_drive(path: &str) -> &str {
    match path.as_bytes() {
        [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic() => &path[3..],
        _ => path,
    }
}

/// The path inside a repository of the path of a page of a forge: behind `blob/main/`,
/// `src/branch/main/`, `-/blob/main/`.
fn in_repository(path: &str) -> Option<&str> {
    let mut rest = path;
    for _ in 0..2 {
        rest = rest.split_once('/')?.1;
    }
    let mut is_view = false;
    // Groups of projects lie between, `-` behind them.
    while let Some((first, behind)) = rest.split_once('/') {
        if VIEWS.contains(&first) {
            is_view = true;
        } else if is_view {
            return Some(behind);
        }
        rest = behind;
    }
    None
}

/// The number of a line behind a path, and the length of what says it.
fn line_in(text: &str) -> Option<(usize, usize)> {
    let mut rest = text.trim_start_matches([':', '(', '#', '?', '+']);
    if text.starts_with(['"', '\'']) || rest.len() == text.len() {
        return None;
    }
    // `?plain=1#L10`
    if let Some((query, fragment)) = rest.split_once("#L")
        && query
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'=')
    {
        rest = fragment;
    }
    let rest = rest.strip_prefix("line=").unwrap_or(rest);
    let rest = rest.strip_prefix(['L', 'l']).unwrap_or(rest);
    let (line, length) = digits(rest)?;
    let mut end = text.len() - rest.len() + length;
    // The column, or the last line: `:9`, `-L20`, `,5)`.
    let more = text[end..].trim_start_matches([':', '-', ',', '.', 'L', 'C']);
    if let Some((_, length)) = digits(more) {
        end = text.len() - more.len() + length;
    }
    Some((line, end))
}

/// The number, above 0, at the begin of a text, and its length.
fn digits(text: &str) -> Option<(usize, usize)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = (1..=MAX_DIGITS)
        .contains(&length)
        .then(|| text[..length].parse().ok())??;
    (number > 0).then_some((number, length))
}

/// Whether a path ends with a name that has an extension.
fn has_extension(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return false;
    };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '@' | '$');
    stem.contains(char::is_alphanumeric)
        && stem.chars().all(is_name)
        && extension.starts_with(|c: char| c.is_ascii_alphabetic())
        && extension.len() <= MAX_EXTENSION
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::{PastedFile, line_behind};

    /// The path, the line, and what is no word of the query before and behind.
    type Read<'t> = Option<(&'t str, Option<usize>, &'t str, &'t str)>;

    fn read(token: &str) -> Read<'_> {
        let found = PastedFile::parse(token)?;
        let [before, behind] = found.noise;
        Some((found.path, found.line, &token[before], &token[behind]))
    }

    /// Each form as programs and forges write it; what is no word of the query stands behind.
    #[test]
    fn i16_files_are_read_in_frames_and_messages() {
        for (token, expected) in [
            ("a.rs:120:9", Some(("a.rs", Some(120), "", ":120:9"))),
            (
                "(./src/a.rs:120:9):",
                Some(("./src/a.rs", Some(120), "", ":120:9")),
            ),
            (
                "a.b.F.wrap(F.java:30)",
                Some(("F.java", Some(30), "", ":30")),
            ),
            (
                "a.Main.main(Main.java:10)",
                Some(("Main.java", Some(10), "", ":10")),
            ),
            (
                "lib/x/job.rb:85:in",
                Some(("lib/x/job.rb", Some(85), "", ":85")),
            ),
            (
                "src/X.php(131):",
                Some(("src/X.php", Some(131), "", "(131")),
            ),
            ("x.c(10):", Some(("x.c", Some(10), "", "(10"))),
            ("x.cs(120,9):", Some(("x.cs", Some(120), "", "(120,9"))),
            (
                "src/P.hs:(120,5)-(125,20):",
                Some(("src/P.hs", Some(120), "", ":(120,5")),
            ),
            (
                "(file:///app/src/n.ts:55:10)",
                Some(("app/src/n.ts", Some(55), "(file://", ":55:10")),
            ),
            (
                "vscode://file/a/b.rs:120",
                Some(("a/b.rs", Some(120), "vscode://", ":120")),
            ),
            (
                "C:\\src\\e.rs:120",
                Some(("src\\e.rs", Some(120), "", ":120")),
            ),
            ("a.rs#L120", Some(("a.rs", Some(120), "", "#L120"))),
            ("a.rs:120-130", Some(("a.rs", Some(120), "", ":120-130"))),
            ("a.rs+120", Some(("a.rs", Some(120), "", "+120"))),
            ("a.rs:120:let", Some(("a.rs", Some(120), "", ":120"))),
            (
                "app/(group)/page.tsx:12",
                Some(("app/(group)/page.tsx", Some(12), "", ":12")),
            ),
            ("a++.cc:7", Some(("a++.cc", Some(7), "", ":7"))),
            ("X.cs:line", Some(("X.cs", None, "", ""))),
            ("\"/usr/lib/t.py\",", Some(("/usr/lib/t.py", None, "", ""))),
            ("self.items(other.name)", None),
            ("http://host.example:80", None),
            ("https://host.example/", None),
            ("std::fs.rs", None),
            ("1.95.0", None),
            ("127.0.0.1:80", None),
            (".env", None),
            ("a.rs:0", Some(("a.rs", None, "", ""))),
            ("a=b.c", None),
        ] {
            assert_eq!(read(token), expected, "{token}");
        }
    }

    #[test]
    fn i16_files_are_read_in_addresses_of_forges() {
        let forge = "https://forge.example/a/b";
        for (token, expected) in [
            (
                &*format!("{forge}/blob/main/m/s.go#L300-L310"),
                Some((
                    "m/s.go",
                    Some(300),
                    "https://forge.example/a/b/blob/main/",
                    "#L300-L310",
                )),
            ),
            (
                &*format!("{forge}/src/branch/main/m/s.go#L3"),
                Some((
                    "m/s.go",
                    Some(3),
                    "https://forge.example/a/b/src/branch/main/",
                    "#L3",
                )),
            ),
            (
                &*format!("{forge}/c/-/blob/v1/m/s.go?plain=1#L3"),
                Some((
                    "m/s.go",
                    Some(3),
                    "https://forge.example/a/b/c/-/blob/v1/",
                    "?plain=1#L3",
                )),
            ),
            (
                &*format!("{forge}/blob/0fe12/src/s.go?L7"),
                Some((
                    "src/s.go",
                    Some(7),
                    "https://forge.example/a/b/blob/0fe12/",
                    "?L7",
                )),
            ),
            (
                "https://docs.example/std/vec/struct.Vec.html#method.push",
                Some(("std/vec/struct.Vec.html", None, "", "")),
            ),
        ] {
            assert_eq!(read(token), expected, "{token}");
        }
    }

    #[test]
    fn i16_the_line_is_read_in_the_words_behind_a_file() {
        for (text, expected) in [
            ("\", line 451, in f", Some((451, 11))),
            (" line 12", Some((12, 8))),
            (" on line 227", Some((227, 12))),
            (":line 45", Some((45, 8))),
            (", line 300", Some((300, 10))),
            (" lines of code", None),
            (" line by line", None),
            (" line 1.5", None),
            ("", None),
        ] {
            assert_eq!(line_behind(text), expected, "{text}");
        }
    }
}
