//! A push as it stands in a request of git's (gitprotocol-pack), and what of it is permitted.

/// References of one push, as GitHub has it no limit: a job's push has few.
const MAX_COMMANDS: usize = 256;
/// Longest beginning of a push: everything before its pack.
pub const MAX_PUSH_HEAD: usize = 1 << 20;
/// Longest name of a reference.
const MAX_REFERENCE: usize = 512;

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
    // git takes such a name for the commit itself, and forges refuse it.
    let is_id = [40, 64].contains(&short.len()) && short.bytes().all(|b| b.is_ascii_hexdigit());
    if is_id && !command.removes() {
        return Err("a branch or a tag is not called like a commit".to_owned());
    }
    if command.removes() && command.makes() {
        return Err("it is neither here nor wanted".to_owned());
    }
    Ok(())
}

/// A commit that the forge has on none of its references, and that has other workflow files than
/// each of its parents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedWorkflows {
    /// The commit's id.
    pub id: String,
    /// The folder that differs.
    pub folder: String,
    /// It has those of a commit that the forge has on a reference.
    pub is_known: bool,
}

/// Commits of one push that may have workflow files from elsewhere than their parents.
pub const MAX_CHANGED_WORKFLOWS: usize = 64;

/// Checks that no new commit changes workflow files: of those that have others than each of their
/// parents, each has those of a commit that the forge has on a reference.
///
/// # Errors
/// Which commit does, in GitHub's words.
pub fn check_workflows(changed: &[ChangedWorkflows]) -> Result<(), String> {
    let Some(wrong) = changed.iter().find(|one| !one.is_known) else {
        return Ok(());
    };
    let ChangedWorkflows { id, folder, .. } = wrong;
    let id = id.get(..12).unwrap_or_default();
    Err(format!(
        "refusing to allow the token of a job to create or update workflows in `{folder}` without `workflows` permission (commit {id})"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Vec<u8> {
        format!("{:04x}{text}", text.len() + 4).into_bytes()
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
            "refs/heads/0123456789abcdef0123456789abcdef01234567",
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
        let one = |id: &str, is_known| ChangedWorkflows {
            id: id.to_owned(),
            folder: ".github/workflows".to_owned(),
            is_known,
        };
        assert_eq!(check_workflows(&[]), Ok(()));
        assert_eq!(check_workflows(&[one("a", true), one("b", true)]), Ok(()));
        let refused = check_workflows(&[one("a", true), one("bad0123456789", false)]);
        let refused = refused.unwrap_err();
        assert!(
            refused.ends_with(
                "in `.github/workflows` without `workflows` permission (commit bad012345678)"
            ),
            "{refused}"
        );
    }
}
