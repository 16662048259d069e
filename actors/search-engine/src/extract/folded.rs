//! Texts whose lines are cut where no word ends, or that say beside the words when they are spoken:
//! calendars and addresses, whose long lines are folded (RFC 5545, 6350), and captions. Each keeps
//! its number of lines.

/// The text as people read it.
pub(super) fn read(key: &str, text: String) -> String {
    match extension(key).as_str() {
        "ics" | "ifb" | "vcf" | "vcard" => unfold(&text).unwrap_or(text),
        "srt" | "vtt" | "sbv" => captions(&text),
        _ => text,
    }
}

/// Whether a file holds captions: prose, whatever it looks like.
pub(super) fn is_captions(key: &str) -> bool {
    matches!(extension(key).as_str(), "srt" | "vtt" | "sbv")
}

fn extension(key: &str) -> String {
    let extension = key.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.len() {
        ..=5 => extension.to_ascii_lowercase(),
        _ => String::new(),
    }
}

/// Joins the lines that begin with a blank to the line before; empty lines take their place. `None`
/// where there are none.
fn unfold(text: &str) -> Option<String> {
    let is_folded = |line: &str| line.starts_with([' ', '\t']);
    if !text.lines().any(is_folded) {
        return None;
    }
    let mut joined = String::with_capacity(text.len());
    let mut owed = 0;
    for line in text.lines() {
        if is_folded(line) && !joined.is_empty() {
            joined.push_str(&line[1..]);
            owed += 1;
            continue;
        }
        if !joined.is_empty() {
            joined.push('\n');
        }
        for _ in 0..std::mem::take(&mut owed) {
            joined.push('\n');
        }
        joined.push_str(line);
    }
    joined.push('\n');
    (0..owed).for_each(|_| joined.push('\n'));
    Some(joined)
}

/// Captions without their times, numbers and tags.
fn captions(text: &str) -> String {
    let mut read = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        // A number stands before its times.
        let mut is_number = || {
            let is_digits = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
            is_digits && lines.peek().is_some_and(|next| is_time(next))
        };
        if !is_time(line) && !is_number() {
            push_without_tags(line, &mut read);
        }
        read.push('\n');
    }
    read
}

/// `00:00:01.000 --> 00:00:02.000`, or `0:00:01.000,0:00:02.000` of SBV.
fn is_time(line: &str) -> bool {
    let line = line.trim();
    let begins = line.starts_with(|c: char| c.is_ascii_digit());
    let of_sbv = || {
        let mut signs = line.bytes();
        line.contains(':') && signs.all(|byte| byte.is_ascii_digit() || b":.,".contains(&byte))
    };
    begins && (line.contains("-->") || of_sbv())
}

/// `<i>`, `<v Bob>`, `</c.yellow>`, `<00:00:01.500>` are none of the words.
fn push_without_tags(line: &str, read: &mut String) {
    let mut rest = line;
    while let Some(open) = rest.find('<') {
        let is_tag = rest[open + 1..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/');
        let Some(length) = rest[open..].find('>').filter(|_| is_tag) else {
            read.push_str(&rest[..=open]);
            rest = &rest[open + 1..];
            continue;
        };
        read.push_str(&rest[..open]);
        rest = &rest[open + length + 1..];
    }
    read.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_folded_lines_of_a_calendar_are_one() {
        let text = "BEGIN:VEVENT\r\nSUMMARY:Zahnrei\r\n nigung\r\n\t heute\r\nEND:VEVENT\r\n";
        let found = read("a/term.ICS", text.to_owned());
        assert_eq!(
            found,
            "BEGIN:VEVENT\nSUMMARY:Zahnreinigung heute\n\n\nEND:VEVENT\n"
        );
        let plain = "BEGIN:VCARD\nEND:VCARD\n";
        assert_eq!(read("a.vcf", plain.to_owned()), plain);
        assert_eq!(read("a.txt", text.to_owned()), text);
    }

    #[test]
    fn i16_captions_are_what_is_spoken() {
        let text = "1\n00:00:01,000 --> 00:00:02,000\n<i>We need a bigger</i>\n<b>telescope</b> 2 < 3\n\n42\nyears\n";
        let found = read("a.srt", text.to_owned());
        assert_eq!(
            found,
            "\n\nWe need a bigger\ntelescope 2 < 3\n\n42\nyears\n"
        );
        let found = read(
            "a.vtt",
            "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Bob>Hi<00:01.500> you".to_owned(),
        );
        assert_eq!(found, "WEBVTT\n\n\nHi you\n");
    }
}
