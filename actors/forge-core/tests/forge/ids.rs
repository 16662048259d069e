//! Ids: what is one and what is not.

use std::collections::HashSet;
use std::fmt::Debug;
use std::str::FromStr;

use forge_core::{
    AgentName, BranchName, CommentId, CommitSha, DeliveryId, EventName, ForgeIdError, GitRef,
    IssueNumber, Login, ObjectFormats, ProjectId, PullRequestNumber, RefName, RepoName, RunId,
    StatusContext,
};

fn check<T: FromStr<Err = ForgeIdError> + Debug>(good: &[&str], bad: &[&str]) {
    for text in good {
        assert!(
            text.parse::<T>().is_ok(),
            "{text:?}: {:?}",
            text.parse::<T>()
        );
    }
    for text in bad {
        assert!(text.parse::<T>().is_err(), "{text:?}");
    }
}

#[test]
fn agent_names() {
    let long = "a".repeat(41);
    check::<AgentName>(
        &["pr-reviewer", "a1", "build-runner", &long[..40]],
        &[
            "",
            "a",
            "A1",
            "1a",
            "-a",
            "a_b",
            "a b",
            "a/b",
            "../x",
            "bu\u{0456}lder",
            &long,
            "ab\n",
        ],
    );
}

#[test]
fn project_ids() {
    let long = "p".repeat(41);
    check::<ProjectId>(
        &["odilo", "p", "2048", "my_project-2", &long[..40]],
        &["", "-p", "_p", "P", "a/b", "a.b", "..", &long],
    );
}

#[test]
fn repository_names() {
    let part = "x".repeat(100);
    let (fits, long) = (format!("{part}/{part}"), format!("{part}/{part}x"));
    check::<RepoName>(
        &[
            "acme/rocket",
            "Acme/rocket.rs",
            "a/b",
            "a_b/c-d",
            "acme/.github",
            &fits,
        ],
        &[
            "", "/", "acme", "acme/", "/rocket", "a/b/c", "../etc", "a/..", "a/.", "./a", "a/b..c",
            "-a/b", "a/-b", "a b/c", "a/b\n", "a/b\0", "a/\u{e9}", "a\\b/c", "a/b?c", "a/%2e",
            &long,
        ],
    );
}

#[test]
fn repository_names_and_logins_ignore_case_but_keep_it() {
    let (one, two) = (
        "Acme/Rocket".parse::<RepoName>(),
        "acme/rocket".parse::<RepoName>(),
    );
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one, two);
    assert_eq!(one.cmp(&two), std::cmp::Ordering::Equal);
    assert_eq!(HashSet::from([one.clone(), two]).len(), 1);
    assert_eq!(one.to_string(), "Acme/Rocket");
    assert_eq!("Ada".parse::<Login>(), "ada".parse());
    assert_ne!("a/b".parse::<RepoName>(), "a/c".parse());
}

#[test]
fn logins() {
    let long = "l".repeat(101);
    check::<Login>(
        &["ada", "dependabot[bot]", "a.b_c-d", &long[..100]],
        &["", "a b", "a/b", "a\nb", "a\u{a0}b", &long],
    );
}

#[test]
fn commits() {
    let sha = "0123456789abcdef0123456789abcdef01234567";
    check::<CommitSha>(
        &[sha],
        &[
            "",
            &sha[..39],
            &format!("{sha}0"),
            &sha.to_uppercase(),
            &"0".repeat(40),
            &"a".repeat(64),
            "HEAD",
        ],
    );
    assert_eq!(sha.parse::<CommitSha>().unwrap().short(), "0123456789ab");
    let long = "a".repeat(64);
    assert!(CommitSha::parse(&long, ObjectFormats::Sha1AndSha256).is_ok());
    assert!(CommitSha::parse(&long, ObjectFormats::Sha1).is_err());
    assert!(CommitSha::parse(&"A".repeat(64), ObjectFormats::Sha1AndSha256).is_err());
    assert!(CommitSha::parse(&"0".repeat(64), ObjectFormats::Sha1AndSha256).is_err());
    assert!(CommitSha::parse(&"a".repeat(63), ObjectFormats::Sha1AndSha256).is_err());
}

#[test]
fn a_stored_long_commit_can_be_read_back() {
    let sha = CommitSha::parse(&"a".repeat(64), ObjectFormats::Sha1AndSha256).unwrap();
    let stored = serde_json::to_string(&sha).unwrap();
    assert_eq!(serde_json::from_str::<CommitSha>(&stored).unwrap(), sha);
}

#[test]
fn branches() {
    let long = "b".repeat(256);
    check::<BranchName>(
        &[
            "main",
            "feature/x",
            "a.b",
            "gr\u{fc}n",
            "x@y",
            "refs/pull/8/head",
            &long[..255],
        ],
        &[
            "", "@", "-x", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b", "a//b",
            "/a", "a/", "a.", ".a", "a/.b", "a.lock", "a.lock/b", "a@{1}", "a\x7f", "a\n", &long,
        ],
    );
}

#[test]
fn references() {
    check::<RefName>(
        &["refs/notes/commits"],
        &["main", "refs/", "refs//x", "HEAD"],
    );
    for text in ["refs/heads/main", "refs/tags/v1", "refs/pull/1/head"] {
        assert_eq!(text.parse::<GitRef>().unwrap().to_string(), text);
    }
    check::<GitRef>(
        &[],
        &["", "main", "refs/heads/", "refs/heads/-x", "refs/tags/a..b"],
    );
}

#[test]
fn other_names() {
    check::<RunId>(
        &["run-1", "0193e5a0-7d2c-7c3e-8a55-1f0a3f6f2b11", "A"],
        &["", "a--b", "-a", "a-", "a_b", "a/b", "..", &"r".repeat(65)],
    );
    check::<DeliveryId>(
        &["72d3162e-cc78-11e3-81ab-4c9367dc0958"],
        &["", "a b", "a\n", "\u{e9}", &"d".repeat(129)],
    );
    check::<EventName>(
        &["push", "pull_request"],
        &["", "Push", "a-b", "_a", "1a", &"e".repeat(65)],
    );
    check::<StatusContext>(
        &["orch/build", "ci / test (1)"],
        &["", " a", "a ", "a\nb", &"c".repeat(256)],
    );
}

#[test]
fn w29_numbers_have_a_range() {
    let (max, over) = (i64::MAX as u64, i64::MAX as u64 + 1);
    assert!(IssueNumber::try_from(0).unwrap().is_cli());
    assert!(!IssueNumber::try_from(max).unwrap().is_cli());
    assert!(IssueNumber::try_from(over).is_err());
    assert!(PullRequestNumber::try_from(0).is_err());
    assert!(PullRequestNumber::try_from(over).is_err());
    assert!(CommentId::try_from(0).is_ok());
    assert!(serde_json::from_str::<PullRequestNumber>("0").is_err());
    assert!(serde_json::from_str::<IssueNumber>("-1").is_err());
    assert_eq!(
        serde_json::from_str::<PullRequestNumber>("7")
            .unwrap()
            .get(),
        7
    );
}

#[test]
fn deserialising_goes_through_the_same_check() {
    assert!(serde_json::from_str::<AgentName>("\"pr-reviewer\"").is_ok());
    let error = serde_json::from_str::<AgentName>("\"../x\"")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("agent name \"../x\" is not valid: use 2 to 40 of a-z"),
        "{error}"
    );
    assert!(serde_json::from_str::<RepoName>("\"a/..\"").is_err());
}

#[test]
fn errors_repeat_little_of_their_input() {
    let error = "x".repeat(10_000).parse::<AgentName>().unwrap_err();
    assert!(error.to_string().len() < 200);
    assert_eq!(error.kind(), "agent name");
    assert!(!error.reason().is_empty());
}
