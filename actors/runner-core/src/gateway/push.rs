//! A push as it stands in a request of git's (gitprotocol-pack), what of it is permitted, and what
//! is answered.

use std::collections::{HashMap, HashSet};

use crate::workflow::WORKFLOW_DIRECTORIES;

/// References of one push, as GitHub has it no limit: a job's push has few.
const MAX_COMMANDS: usize = 256;
/// Longest beginning of a push: everything before its pack.
pub const MAX_PUSH_HEAD: usize = 1 << 20;
/// Longest name of a reference.
const MAX_REFERENCE: usize = 512;
/// Data of one packet with a band.
const BAND_BYTES: usize = 65_515;
const CAPABILITIES: &str = "report-status delete-refs side-band-64k quiet atomic ofs-delta object-format=sha1 agent=orrery";

/// A reference that is to be moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushCommand {
    /// The whole name.
    pub reference: String,
    /// Where the client saw it; zeros: nowhere.
    pub old: String,
    /// Where it shall be; zeros: removed.
    pub new: String,
}

impl PushCommand {
    /// It is to be removed.
    #[must_use]
    pub fn removes(&self) -> bool {
        is_zero(&self.new)
    }

    /// It is to be made.
    #[must_use]
    pub fn makes(&self) -> bool {
        is_zero(&self.old)
    }
}

fn is_zero(id: &str) -> bool {
    id.bytes().all(|byte| byte == b'0')
}

/// What stands before the pack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PushHead {
    /// What is asked for.
    pub commands: Vec<PushCommand>,
    /// All or nothing.
    pub atomic: bool,
    /// The answer goes in bands.
    pub side_band: bool,
    /// An answer is wanted.
    pub report: bool,
}

/// Reads the beginning of a push, and says where the pack begins; `None`: there must be more of it.
///
/// # Errors
/// What is wrong with it.
pub fn parse_push(bytes: &[u8]) -> Result<Option<(PushHead, usize)>, String> {
    let mut head = PushHead::default();
    let mut at = 0;
    loop {
        let Some(length) = bytes.get(at..at + 4) else {
            return Ok(None);
        };
        let length = std::str::from_utf8(length).ok();
        let length = length.filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let length = length.and_then(|text| usize::from_str_radix(text, 16).ok());
        let length = length.ok_or("a packet has no length")?;
        if length == 0 {
            return Ok(Some((head, at + 4)));
        }
        if !(5..=65_520).contains(&length) {
            return Err("a packet has a wrong length".to_owned());
        }
        let Some(line) = bytes.get(at + 4..at + length) else {
            return Ok(None);
        };
        at += length;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        // What is not here is by the alternates or not at all: the tips are checked for it.
        if line.starts_with(b"shallow ") {
            continue;
        }
        command(&mut head, line)?;
    }
}

fn command(head: &mut PushHead, line: &[u8]) -> Result<(), String> {
    let wrong = || "a command of the push cannot be read".to_owned();
    let mut parts = line.splitn(2, |byte| *byte == 0);
    let own = std::str::from_utf8(parts.next().unwrap_or_default()).map_err(|_| wrong())?;
    if let Some(capabilities) = parts.next() {
        let capabilities = String::from_utf8_lossy(capabilities).into_owned();
        for capability in capabilities.split(' ') {
            match capability {
                "atomic" => head.atomic = true,
                "side-band-64k" => head.side_band = true,
                "report-status" => head.report = true,
                "push-options" | "report-status-v2" => return Err(wrong()),
                _ => {}
            }
        }
    }
    let mut words = own.splitn(3, ' ');
    let mut id = || {
        let id = words.next().unwrap_or_default();
        let is_id = id.len() == 40
            && id
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        is_id.then(|| id.to_owned()).ok_or_else(wrong)
    };
    let (old, new) = (id()?, id()?);
    let reference = words
        .next()
        .filter(|name| !name.is_empty())
        .ok_or_else(wrong)?;
    if head.commands.len() >= MAX_COMMANDS {
        return Err(format!(
            "a push of a job moves at most {MAX_COMMANDS} references"
        ));
    }
    if head.commands.iter().any(|one| one.reference == reference) {
        return Err("the push names a reference twice".to_owned());
    }
    head.commands.push(PushCommand {
        reference: reference.to_owned(),
        old,
        new,
    });
    Ok(())
}

/// Whether a job may move this reference: branches and tags with names that git allows.
///
/// # Errors
/// Why it may not.
pub fn check_reference(command: &PushCommand) -> Result<(), String> {
    let name = command.reference.as_str();
    let short = ["refs/heads/", "refs/tags/"]
        .iter()
        .find_map(|kind| name.strip_prefix(kind));
    let Some(short) = short else {
        return Err("the token of a job moves branches and tags only".to_owned());
    };
    let odd = |c: char| c.is_control() || c == '\u{7f}' || " ~^:?*[\\".contains(c);
    let part_is_odd = |part: &str| {
        part.is_empty() || part.starts_with('.') || part.ends_with('.') || part.ends_with(".lock")
    };
    if name.len() > MAX_REFERENCE
        || short.starts_with('-')
        || short == "HEAD"
        || name.chars().any(odd)
        || name.contains("..")
        || name.contains("@{")
        || short.split('/').any(part_is_odd)
    {
        return Err("git allows no such name".to_owned());
    }
    if command.removes() && command.makes() {
        return Err("it is neither here nor wanted".to_owned());
    }
    Ok(())
}

/// The folders of workflows in a commit: what each is, if it is there.
pub type WorkflowFolders = [Option<String>; WORKFLOW_DIRECTORIES.len()];

/// A commit that the forge has on none of its references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCommit {
    /// Its id.
    pub id: String,
    /// Its parents.
    pub parents: Vec<String>,
}

/// Checks that no new commit changes workflow files: each has those of one of its parents, or of a
/// commit that the forge has on a reference (`tips`), or none where it has no parent.
///
/// # Errors
/// Which commit does, in GitHub's words.
pub fn check_workflows(
    new: &[NewCommit],
    folders: &HashMap<String, WorkflowFolders>,
    tips: &HashSet<WorkflowFolders>,
) -> Result<(), String> {
    let none = WorkflowFolders::default();
    for commit in new {
        let own = folders.get(&commit.id).unwrap_or(&none);
        let mut parents = commit
            .parents
            .iter()
            .map(|id| folders.get(id).unwrap_or(&none));
        let fresh = commit.parents.is_empty() && *own == none;
        if fresh || tips.contains(own) && *own != none || parents.any(|parent| parent == own) {
            continue;
        }
        let named = commit
            .parents
            .first()
            .and_then(|id| folders.get(id))
            .unwrap_or(&none);
        let mut all = WORKFLOW_DIRECTORIES.iter().zip(own.iter().zip(named));
        let folder = all.find(|(_, (own, parent))| own != parent);
        let folder = folder.map_or(WORKFLOW_DIRECTORIES[0], |(folder, _)| *folder);
        let id = commit.id.get(..12).unwrap_or_default();
        return Err(format!(
            "refusing to allow the token of a job to create or update workflows in `{folder}` without `workflows` permission (commit {id})"
        ));
    }
    Ok(())
}

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
        Some((reference.to_owned(), Err(shown(reason))))
    });
    lines.collect()
}

/// Text of a server as one line.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(400).collect()
}

/// The lines that the forge says about a push.
#[must_use]
pub fn forge_messages(stderr: &str) -> Vec<String> {
    let lines = stderr
        .lines()
        .filter_map(|line| line.strip_prefix("remote: "));
    lines.map(|line| shown(line.trim_end())).take(200).collect()
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
        Err(reason) => format!("unpack {}\n", shown(reason)),
    };
    packet(&mut report, unpack.as_bytes());
    for (command, result) in head.commands.iter().zip(results) {
        let line = match result {
            Ok(()) => format!("ok {}\n", command.reference),
            Err(reason) => format!("ng {} {}\n", command.reference, shown(reason)),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        packet(&mut out, text.as_bytes());
        out
    }

    fn one(reference: &str, old: char, new: char) -> PushCommand {
        let id = |c: char| c.to_string().repeat(40);
        PushCommand {
            reference: reference.to_owned(),
            old: id(old),
            new: id(new),
        }
    }

    #[test]
    fn i17_the_beginning_of_a_push_is_read_and_nothing_else_is() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let first = line(&format!(
            "{a} {b} refs/heads/x\0 report-status side-band-64k atomic"
        ));
        let bytes = [
            line(&format!("shallow {a}")),
            first.clone(),
            line(&format!("{b} {a} refs/tags/y")),
            b"0000PACK".to_vec(),
        ]
        .concat();
        for end in [0, 3, 4, 60, bytes.len() - 5] {
            assert_eq!(parse_push(&bytes[..end]), Ok(None), "{end}");
        }
        let (head, at) = parse_push(&bytes).unwrap().unwrap();
        assert_eq!(&bytes[at..], b"PACK");
        assert_eq!(
            head.commands,
            [one("refs/heads/x", 'a', 'b'), one("refs/tags/y", 'b', 'a')]
        );
        assert!(head.atomic && head.side_band && head.report);
        assert_eq!(parse_push(b"0000"), Ok(Some((PushHead::default(), 4))));
        let capital = format!("{} {b} refs/heads/x", "A".repeat(40));
        for wrong in [
            b"zzzz".to_vec(),
            b"+001".to_vec(),
            b"0001".to_vec(),
            b"0004".to_vec(),
            b"ffff".to_vec(),
            line("hello"),
            line(&format!("{a} {b}")),
            line(&format!("{a} {b} ")),
            line(&capital),
            line(&format!("{a} {} refs/heads/x", "b".repeat(64))),
            [first, line(&format!("{a} {b} refs/heads/x"))].concat(),
            line(&format!("{a} {b} refs/heads/x\0push-options")),
            line("push-cert\0x"),
        ] {
            assert!(
                parse_push(&wrong).is_err(),
                "{:?}",
                String::from_utf8_lossy(&wrong)
            );
        }
    }

    #[test]
    fn i17_only_branches_and_tags_with_plain_names_are_moved() {
        for name in [
            "refs/heads/main",
            "refs/heads/a/b-c_d.e",
            "refs/tags/v1.0",
            "refs/heads/é",
            "refs/heads/a@b",
            "refs/heads/#1",
        ] {
            assert_eq!(check_reference(&one(name, 'a', 'b')), Ok(()), "{name}");
        }
        for name in [
            "refs/pull/1/head",
            "refs/notes/commits",
            "refs/heads",
            "refs/heads/",
            "HEAD",
            "main",
            "refs/tags/",
            "refs/heads/-x",
            "refs/heads/HEAD",
            "refs/heads/a..b",
            "refs/heads/a:b",
            "refs/heads/a b",
            "refs/heads/.a",
            "refs/heads/a/.b",
            "refs/heads/a//b",
            "refs/heads/a.lock",
            "refs/heads/a.",
            "refs/heads/a~1",
            "refs/heads/a^",
            "refs/heads/a@{1}",
            "refs/heads/a\\b",
            "refs/heads/a\tb",
            "refs/heads/*",
            "refs/heads/../../x",
            "../x",
            "+refs/heads/x",
            "refs/heads/a/",
        ] {
            assert!(check_reference(&one(name, 'a', 'b')).is_err(), "{name}");
        }
        assert!(check_reference(&one("refs/heads/x", '0', '0')).is_err());
        assert!(
            check_reference(&one(&format!("refs/heads/{}", "x".repeat(600)), 'a', 'b')).is_err()
        );
    }

    #[test]
    fn i17_workflow_files_come_from_commits_that_the_forge_has() {
        let folders = |text: &str| [(!text.is_empty()).then(|| text.to_owned()), None, None];
        let of = |pairs: &[(&str, &str)]| -> HashMap<String, WorkflowFolders> {
            pairs
                .iter()
                .map(|(id, text)| ((*id).to_owned(), folders(text)))
                .collect()
        };
        let commit = |id: &str, parents: &[&str]| NewCommit {
            id: id.to_owned(),
            parents: parents.iter().map(|one| (*one).to_owned()).collect(),
        };
        let tips = HashSet::from([folders("main"), folders("other"), folders("")]);
        for (new, known, expected) in [
            // As before; as on another reference; as neither.
            (
                vec![commit("n", &["o"])],
                of(&[("n", "old"), ("o", "old")]),
                true,
            ),
            (
                vec![commit("n", &["o"])],
                of(&[("n", "other"), ("o", "old")]),
                true,
            ),
            (
                vec![commit("n", &["o"])],
                of(&[("n", "evil"), ("o", "old")]),
                false,
            ),
            // Removed.
            (
                vec![commit("n", &["o"])],
                of(&[("n", ""), ("o", "old")]),
                false,
            ),
            // A branch of its own without any, and one with some.
            (vec![commit("n", &[])], of(&[("n", "")]), true),
            (vec![commit("n", &[])], of(&[("n", "evil")]), false),
            // Changed and changed back: the commit between could be named later.
            (
                vec![commit("m", &["n"]), commit("n", &["o"])],
                of(&[("m", "old"), ("n", "evil"), ("o", "old")]),
                false,
            ),
            // A merge has those of either side.
            (
                vec![commit("n", &["o", "p"])],
                of(&[("n", "side"), ("o", "old"), ("p", "side")]),
                true,
            ),
            (vec![], of(&[]), true),
        ] {
            assert_eq!(
                check_workflows(&new, &known, &tips).is_ok(),
                expected,
                "{new:?} {known:?}"
            );
        }
        let refused = check_workflows(&[commit("n", &[])], &of(&[("n", "evil")]), &tips);
        let refused = refused.unwrap_err();
        assert!(
            refused.contains("/workflows` without `workflows` permission"),
            "{refused}"
        );
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
            commands: vec![one("refs/heads/x", 'a', 'b'), one("refs/heads/y", 'a', 'b')],
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
}
