//! What git is answered about a push: what it sees first, and what became of each reference
//! (gitprotocol-pack).

use std::collections::HashMap;

use super::push::PushHead;

/// Data of one packet with a band.
const BAND_BYTES: usize = 65_515;
const CAPABILITIES: &str = "report-status delete-refs side-band-64k quiet atomic ofs-delta object-format=sha1 agent=orrery";

/// What became of each reference at the forge, as `git push --porcelain` tells it.
#[must_use]
pub fn parse_porcelain(output: &str) -> HashMap<String, Result<(), String>> {
    let lines = output.lines().filter_map(|line| {
        let mut parts = line.splitn(3, '\t');
        let (flag, names, summary) = (parts.next()?, parts.next()?, parts.next()?);
        let (_, reference) = names.rsplit_once(':')?;
        if flag != "!" {
            return Some((reference.to_owned(), Ok(())));
        }
        let reason = summary
            .split_once('(')
            .and_then(|(_, rest)| rest.strip_suffix(')'));
        let reason = match reason.unwrap_or(summary) {
            "stale info" => "fetch first: the reference has moved at the forge",
            reason => reason,
        };
        Some((reference.to_owned(), Err(to_one_line(reason))))
    });
    lines.collect()
}

/// Text of a server as one line.
fn to_one_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(400).collect()
}

/// The lines that the forge says about a push.
#[must_use]
pub fn forge_messages(stderr: &str) -> Vec<String> {
    let lines = stderr
        .lines()
        .filter_map(|line| line.strip_prefix("remote: "));
    lines
        .map(|line| to_one_line(line.trim_end()))
        .take(200)
        .collect()
}

fn packet(out: &mut Vec<u8>, data: &[u8]) {
    out.extend_from_slice(format!("{:04x}", data.len() + 4).as_bytes());
    out.extend_from_slice(data);
}

/// The references as a push sees them first.
#[must_use]
pub fn push_advertisement(references: &[(String, String)]) -> Vec<u8> {
    let mut out = Vec::new();
    packet(&mut out, b"# service=git-receive-pack\n");
    out.extend_from_slice(b"0000");
    let none = [("0".repeat(40), "capabilities^{}".to_owned())];
    let references = if references.is_empty() {
        &none
    } else {
        references
    };
    for (at, (id, name)) in references.iter().enumerate() {
        let line = match at {
            0 => format!("{id} {name}\0{CAPABILITIES}\n"),
            _ => format!("{id} {name}\n"),
        };
        packet(&mut out, line.as_bytes());
    }
    out.extend_from_slice(b"0000");
    out
}

/// The answer to a push.
#[must_use]
pub fn push_report(
    head: &PushHead,
    messages: &[String],
    unpacked: Result<(), &str>,
    results: &[Result<(), String>],
) -> Vec<u8> {
    let mut report = Vec::new();
    let unpack = match unpacked {
        Ok(()) => "unpack ok\n".to_owned(),
        Err(reason) => format!("unpack {}\n", to_one_line(reason)),
    };
    packet(&mut report, unpack.as_bytes());
    for (command, result) in head.commands.iter().zip(results) {
        let line = match result {
            Ok(()) => format!("ok {}\n", command.reference),
            Err(reason) => format!("ng {} {}\n", command.reference, to_one_line(reason)),
        };
        packet(&mut report, line.as_bytes());
    }
    report.extend_from_slice(b"0000");
    if !head.side_band {
        return if head.report { report } else { Vec::new() };
    }
    let mut out = Vec::new();
    let mut band = |number: u8, data: &[u8]| {
        for part in data.chunks(BAND_BYTES) {
            packet(&mut out, &[&[number], part].concat());
        }
    };
    for message in messages {
        band(2, format!("{message}\n").as_bytes());
    }
    if head.report {
        band(1, &report);
    }
    out.extend_from_slice(b"0000");
    out
}

/// A refusal of a request that git has sent already, as git shows it: of another answer it shows
/// the status alone. Its content type, and the answer; nothing for other requests.
#[must_use]
pub fn render_refusal(path: &str, message: &str) -> Option<(String, Vec<u8>)> {
    let service = path.rsplit('/').next().unwrap_or_default();
    let message = to_one_line(message);
    let mut out = Vec::new();
    match service {
        "git-upload-pack" => packet(&mut out, format!("ERR {message}\n").as_bytes()),
        "git-receive-pack" => {
            let mut report = Vec::new();
            packet(&mut report, b"unpack refused\n");
            report.extend_from_slice(b"0000");
            packet(&mut out, format!("\u{2}{message}\n").as_bytes());
            packet(&mut out, &[&[1], report.as_slice()].concat());
            out.extend_from_slice(b"0000");
        }
        _ => return None,
    }
    Some((format!("application/x-{service}-result"), out))
}

#[cfg(test)]
mod tests {
    use super::super::push::PushCommand;
    use super::*;

    fn one(reference: &str) -> PushCommand {
        PushCommand {
            reference: reference.to_owned(),
            old: "a".repeat(40),
            new: "b".repeat(40),
        }
    }

    #[test]
    fn i17_the_forge_s_answers_are_told_on() {
        let said = "To https://forge.example/a\n \taaaa:refs/heads/x\tabc..def\n*\tbbbb:refs/tags/v1\t[new tag]\n-\t:refs/heads/y\t[deleted]\n!\tcccc:refs/heads/main\t[remote rejected] (pre-receive hook declined)\n!\tdddd:refs/heads/z\t[rejected] (stale info)\nDone\n";
        let found = parse_porcelain(said);
        assert_eq!(found["refs/heads/x"], Ok(()));
        assert_eq!(found["refs/tags/v1"], Ok(()));
        assert_eq!(found["refs/heads/y"], Ok(()));
        assert_eq!(
            found["refs/heads/main"],
            Err("pre-receive hook declined".to_owned())
        );
        assert!(
            found["refs/heads/z"]
                .as_ref()
                .unwrap_err()
                .starts_with("fetch first")
        );
        assert_eq!(found.len(), 5);
        let messages = forge_messages("remote: protected \u{1b}[31m\nerror: x\nremote: see\n");
        assert_eq!(messages, ["protected [31m", "see"]);
    }

    #[test]
    fn i17_a_push_is_answered_as_git_reads_it() {
        let mut head = PushHead {
            commands: vec![one("refs/heads/x"), one("refs/heads/y")],
            report: true,
            ..PushHead::default()
        };
        let results = [Ok(()), Err("no\nway".to_owned())];
        let plain = push_report(&head, &[], Ok(()), &results);
        let plain = String::from_utf8(plain).unwrap();
        assert_eq!(
            plain,
            "000eunpack ok\n0014ok refs/heads/x\n001ang refs/heads/y noway\n0000"
        );
        head.side_band = true;
        let banded = push_report(&head, &["see".to_owned()], Ok(()), &results);
        assert!(banded.starts_with(b"0009\x02see\n"));
        assert!(banded.ends_with(b"00000000"));
        let empty = push_advertisement(&[]);
        let empty = String::from_utf8(empty).unwrap();
        assert!(
            empty.contains("capabilities^{}\0report-status delete-refs"),
            "{empty}"
        );
    }

    #[test]
    fn i17_refusals_are_said_in_the_words_of_the_service() {
        let (kind, answer) = render_refusal("/a/b/git-upload-pack", "too much").unwrap();
        assert_eq!(kind, "application/x-git-upload-pack-result");
        assert_eq!(answer, b"0011ERR too much\n");
        let (_, answer) = render_refusal("/a/b.git/git-receive-pack", "too much").unwrap();
        let text = String::from_utf8(answer).unwrap();
        assert_eq!(
            text,
            "000e\u{2}too much\n001c\u{1}0013unpack refused\n00000000"
        );
        assert_eq!(render_refusal("/a/b/info/refs", "x"), None);
    }
}
