//! Escape sequences of roff in a line of text: what is shown of them, and nothing else.

/// Special characters by name (groff_char(7)), the usual ones.
const NAMED: [(&str, &str); 34] = [
    ("-", "-"),
    ("<-", "←"),
    ("<=", "≤"),
    ("->", "→"),
    (">=", "≥"),
    ("Do", "$"),
    ("Eu", "€"),
    ("Fc", "»"),
    ("Fo", "«"),
    ("Po", "£"),
    ("R", "®"),
    ("Tm", "™"),
    ("aa", "´"),
    ("aq", "'"),
    ("at", "@"),
    ("bu", "•"),
    ("co", "©"),
    ("cq", "’"),
    ("de", "°"),
    ("dq", "\""),
    ("em", "—"),
    ("en", "–"),
    ("ga", "`"),
    ("ha", "^"),
    ("hy", "-"),
    ("lB", "["),
    ("lq", "“"),
    ("mu", "×"),
    ("oq", "‘"),
    ("rB", "]"),
    ("rg", "®"),
    ("rq", "”"),
    ("rs", "\\"),
    ("ti", "~"),
];

/// The text of a line without its escape sequences.
pub(super) fn plain(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        shown.push_str(&rest[..at]);
        rest = sequence(&rest[at + 1..], &mut shown);
    }
    shown.push_str(rest);
    shown
}

/// Takes one sequence, whose backslash is gone; what follows it.
fn sequence<'l>(rest: &'l str, shown: &mut String) -> &'l str {
    let mut signs = rest.chars();
    let Some(first) = signs.next() else {
        return "";
    };
    let behind = signs.as_str();
    match first {
        '-' | '\'' | '`' | '.' | '_' => shown.push(first),
        'e' | '\\' | 'E' => shown.push('\\'),
        ' ' | '~' | '0' | 't' => shown.push(' '),
        // A comment goes to the end of the line.
        '"' | '#' => return "",
        '(' | '[' | 'C' => {
            let (name, behind) = match first {
                'C' => quoted(behind),
                _ => escape_name(rest),
            };
            character(name, shown);
            return behind;
        }
        '*' => {
            let (name, behind) = escape_name(behind);
            character(name, shown);
            return behind;
        }
        'f' | 'F' | 'm' | 'M' | 'n' | 'k' | 'g' | 'Y' | 'V' => {
            let behind = behind.strip_prefix(['+', '-']).unwrap_or(behind);
            return escape_name(behind).1;
        }
        's' => return size(behind),
        'N' | 'b' | 'D' | 'h' | 'H' | 'l' | 'L' | 'o' | 'R' | 'S' | 'v' | 'w' | 'x' | 'X' | 'Z'
        | 'A' | 'B' => return quoted(behind).1,
        // Widths of nothing, breaks that are allowed, and what is not known.
        _ => {}
    }
    behind
}

/// A name of one character, of two behind `(`, or in brackets; and what follows it.
fn escape_name(rest: &str) -> (&str, &str) {
    if let Some(inside) = rest.strip_prefix('[') {
        return inside.split_once(']').unwrap_or((inside, ""));
    }
    let (rest, wanted) = match rest.strip_prefix('(') {
        Some(two) => (two, 2),
        None => (rest, 1),
    };
    let end = rest
        .char_indices()
        .nth(wanted)
        .map_or(rest.len(), |(end, _)| end);
    rest.split_at(end)
}

/// What stands between two of the same sign, and what follows.
fn quoted(rest: &str) -> (&str, &str) {
    let Some(sign) = rest.chars().next() else {
        return ("", "");
    };
    let inside = &rest[sign.len_utf8()..];
    inside.split_once(sign).unwrap_or(("", inside))
}

/// What follows a size: `\s-1`, `\s+2`, `\s0`, `\s12`, `\s(12`, `\s'+1'`, `\s[10]`.
fn size(rest: &str) -> &str {
    if rest.starts_with('\'') {
        return quoted(rest).1;
    }
    let behind = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    if behind.starts_with(['(', '[']) {
        return escape_name(behind).1;
    }
    let digits = behind
        .bytes()
        .take(2)
        .take_while(u8::is_ascii_digit)
        .count();
    // Sizes of two digits begin with 1, 2 or 3.
    let taken = match behind.as_bytes() {
        [b'1'..=b'3', ..] => digits,
        _ => digits.min(1),
    };
    &behind[taken..]
}

fn character(name: &str, shown: &mut String) {
    if let Some((_, text)) = NAMED.iter().find(|(known, _)| *known == name) {
        shown.push_str(text);
        return;
    }
    let code = name.strip_prefix('u').filter(|code| code.len() >= 4);
    let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
    if let Some(one) = code.and_then(char::from_u32) {
        shown.push(one);
    } else if let [letter, accent @ (b':' | b'\'' | b'`' | b'^' | b'~' | b',')] = name.as_bytes() {
        // `\(:a` has the accent in front; some write it behind.
        accented(*accent, *letter, shown);
    } else if let [accent @ (b':' | b'\'' | b'`' | b'^' | b'~' | b','), letter] = name.as_bytes() {
        accented(*accent, *letter, shown);
    }
}

fn accented(accent: u8, letter: u8, shown: &mut String) {
    shown.push(char::from(letter));
    shown.push(match accent {
        b':' => '\u{308}',
        b'\'' => '\u{301}',
        b'`' => '\u{300}',
        b'^' => '\u{302}',
        b'~' => '\u{303}',
        _ => '\u{327}',
    });
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn i16_escapes_leave_what_is_shown() {
        for (line, expected) in [
            (r"\fIRestartSec=\fR", "RestartSec="),
            (
                r"\fB\-\-no\-install\-recommends\fP",
                "--no-install-recommends",
            ),
            (r"[\fI\,OPTION\/\fR]...", "[OPTION]..."),
            (
                r"a\ b\~c\&d\|e \(em \[u00E9] \*(lqx\*(rq",
                "a b cde — é “x”",
            ),
            (r"\s-1BSD\s0 \s+2x\s'0'y \h'-04'\(bu\h'+03'\c", "BSD xy •"),
            (r#"\e\\ \.x \(aqy\(aq \-\"comment"#, r"\\ .x 'y' -"),
            (r"end\ ", "end "),
            (r"\f[CR]a\f(CWb\f1c \N'34'd", "abc d"),
        ] {
            assert_eq!(plain(line), expected, "{line}");
        }
        // Whatever stands there, nothing panics.
        for line in [
            r"\f",
            r"\(",
            r"\(a",
            r"\[",
            r"\s",
            r"\h'",
            r"\*",
            "\\é\\(éü\\s+",
        ] {
            let _ = plain(line);
        }
    }
}
