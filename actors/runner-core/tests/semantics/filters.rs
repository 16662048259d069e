//! Patterns of branches, tags and paths; what starts a workflow.

use runner_core::event::{EventContext, EventKind, StartDecision, decide};
use runner_core::expr::ExprValue;
use runner_core::glob::GlobPattern;
use runner_core::workflow::parse;

const SHEET: &str = "Workflow syntax: Filter pattern cheat sheet";
const PUSH: &str = "Workflow syntax: on.push";
const PATHS: &str = "Workflow syntax: on.<push|pull_request>.paths";
const PULL: &str = "Events that trigger workflows: pull_request";
const SKIP: &str = "Skip workflow runs";

/// Page, pattern, text, whether it matches.
pub(crate) const PATTERNS: &[(&str, &str, &str, bool)] = &[
    (SHEET, "feature/*", "feature/my-branch", true),
    (SHEET, "feature/*", "feature/a/b", false),
    (SHEET, "feature/**", "feature/beta-a/my-branch", true),
    (SHEET, "main", "main", true),
    (SHEET, "main", "main2", false),
    (
        SHEET,
        "releases/mona-the-octocat",
        "releases/mona-the-octocat",
        true,
    ),
    (SHEET, "*", "main", true),
    (SHEET, "*", "releases/x", false),
    (SHEET, "**", "all/the/branches", true),
    (SHEET, "*feature", "mona-feature", true),
    (SHEET, "*feature", "feature", true),
    (SHEET, "v2*", "v2.0", true),
    (SHEET, "v2*", "v1.9", false),
    (SHEET, "v[12].[0-9]+.[0-9]+", "v1.10.1", true),
    (SHEET, "v[12].[0-9]+.[0-9]+", "v3.1.1", false),
    (SHEET, "v[12].[0-9]+.[0-9]+", "v1.10", false),
    (SHEET, "*.jsx?", "page.js", true),
    (SHEET, "*.jsx?", "page.jsx", true),
    (SHEET, "*.jsx?", "page.jsxx", false),
    (SHEET, "**.js", "js/index.js", true),
    (SHEET, "**.js", "index.js", true),
    (SHEET, "docs/*", "docs/README.md", true),
    (SHEET, "docs/*", "docs/mona/file.txt", false),
    (SHEET, "docs/**/*.md", "docs/README.md", true),
    (SHEET, "docs/**/*.md", "docs/a/markdown/file.md", true),
    (SHEET, "**/docs/**", "docs/hello.md", true),
    (SHEET, "**/docs/**", "dir/docs/my-file.txt", true),
    (SHEET, "**/README.md", "README.md", true),
    (SHEET, "**/README.md", "js/README.md", true),
    (SHEET, "**/README.md", "js/OTHER-README.md", false),
    (SHEET, "**/*src/**", "a/src/app.js", true),
    (SHEET, "**/*src/**", "my-src/code/js/app.js", true),
    (SHEET, "**/*-post.md", "my-post.md", true),
    (SHEET, "**/migrate-*.sql", "db/sept/migrate-v1.sql", true),
    (SHEET, "a\\*b", "a*b", true),
    (SHEET, "a\\*b", "axb", false),
    (SHEET, "[CB]at", "Bat", true),
    (SHEET, "[1-2]00", "300", false),
    (SHEET, "a+", "aaa", true),
    (SHEET, "a+", "", false),
];

/// Page, what stands under `on`, the event, whether it starts.
pub(crate) const TRIGGERS: &[(&str, &str, &str, &str)] = &[
    (PUSH, "push", "push heads/main", "start"),
    (PUSH, "push", "push tags/v1", "start"),
    (PUSH, "[push]", "pull_request opened main", "skip"),
    (
        PUSH,
        "{push: {branches: [main, 'releases/**']}}",
        "push heads/releases/10/beta",
        "start",
    ),
    (PUSH, "{push: {branches: [main]}}", "push heads/dev", "skip"),
    (PUSH, "{push: {branches: [main]}}", "push tags/main", "skip"),
    (PUSH, "{push: {tags: ['v*']}}", "push heads/v1", "skip"),
    (PUSH, "{push: {tags: ['v*']}}", "push tags/v1", "start"),
    (
        PUSH,
        "{push: {tags-ignore: ['v2']}}",
        "push tags/v2",
        "skip",
    ),
    (
        PUSH,
        "{push: {branches-ignore: ['x/**']}}",
        "push heads/y",
        "start",
    ),
    (
        PUSH,
        "{push: {branches-ignore: ['x/**']}}",
        "push heads/x/y/z",
        "skip",
    ),
    (
        PUSH,
        "{push: {branches: ['releases/**', '!releases/**-alpha']}}",
        "push heads/releases/beta/3-alpha",
        "skip",
    ),
    (
        PUSH,
        "{push: {branches: ['releases/**', '!releases/**-alpha']}}",
        "push heads/releases/10",
        "start",
    ),
    (
        PUSH,
        "{push: {branches: ['a*', '!ab', 'abc']}}",
        "push heads/abc",
        "start",
    ),
    (
        PUSH,
        "{push: {branches: ['a*', '!ab*', 'abc']}}",
        "push heads/abd",
        "skip",
    ),
    (
        PATHS,
        "{push: {paths: ['**.js']}}",
        "push heads/main a/b.js README.md",
        "start",
    ),
    (
        PATHS,
        "{push: {paths: ['**.js']}}",
        "push heads/main README.md",
        "skip",
    ),
    (
        PATHS,
        "{push: {paths-ignore: ['docs/**']}}",
        "push heads/main docs/a src/b",
        "start",
    ),
    (
        PATHS,
        "{push: {paths-ignore: ['docs/**']}}",
        "push heads/main docs/a docs/b",
        "skip",
    ),
    (
        SHEET,
        "{push: {paths-ignore: ['docs/**', '!docs/a']}}",
        "push heads/main docs/a docs/b",
        "start",
    ),
    (
        SHEET,
        "{push: {paths-ignore: ['docs/**', '!docs/a']}}",
        "push heads/main docs/b",
        "skip",
    ),
    (
        SHEET,
        "{push: {paths-ignore: ['!docs/**']}}",
        "push heads/main docs/b",
        "start",
    ),
    (
        SHEET,
        "{push: {branches-ignore: ['x/**', '!x/y']}}",
        "push heads/x/y",
        "start",
    ),
    (
        SHEET,
        "{push: {branches-ignore: ['x/**', '!x/y']}}",
        "push heads/x/z",
        "skip",
    ),
    (
        PATHS,
        "{push: {paths: ['sub/**', '!sub/docs/**']}}",
        "push heads/main sub/docs/x",
        "skip",
    ),
    (
        PATHS,
        "{push: {paths: ['sub/**', '!sub/docs/**']}}",
        "push heads/main sub/docs/x sub/y",
        "start",
    ),
    (
        PATHS,
        "{push: {paths: ['docs/**']}}",
        "push tags/v1 src/x",
        "start",
    ),
    (
        PATHS,
        "{push: {paths: ['docs/**']}}",
        "push heads/main",
        "ask",
    ),
    (
        PATHS,
        "{push: {branches: [main], paths: ['docs/**']}}",
        "push heads/dev docs/x",
        "skip",
    ),
    (PULL, "pull_request", "pull_request opened main", "start"),
    (
        PULL,
        "pull_request",
        "pull_request synchronize main",
        "start",
    ),
    (PULL, "pull_request", "pull_request reopened main", "start"),
    (PULL, "pull_request", "pull_request labeled main", "skip"),
    (
        PULL,
        "{pull_request: {types: [labeled]}}",
        "pull_request labeled main",
        "start",
    ),
    (
        PULL,
        "{pull_request: {types: [labeled]}}",
        "pull_request opened main",
        "skip",
    ),
    (
        PULL,
        "{pull_request: {types: [synchronized]}}",
        "pull_request synchronize main",
        "start",
    ),
    (
        PULL,
        "{pull_request: {branches: ['releases/**']}}",
        "pull_request opened main",
        "skip",
    ),
    (
        PULL,
        "{pull_request: {branches: ['releases/**']}}",
        "pull_request opened releases/1",
        "start",
    ),
    (
        PULL,
        "{pull_request: {branches-ignore: [main]}}",
        "pull_request opened main",
        "skip",
    ),
    (PULL, "workflow_dispatch", "push heads/main", "skip"),
    (
        SKIP,
        "push",
        "push heads/main message:fix [skip ci]",
        "skip",
    ),
    (SKIP, "push", "push heads/main message:[ci skip]", "skip"),
    (SKIP, "push", "push heads/main message:[no ci]", "skip"),
    (
        SKIP,
        "push",
        "push heads/main message:[skip actions]",
        "skip",
    ),
    (
        SKIP,
        "push",
        "push heads/main message:[actions skip]",
        "skip",
    ),
    (
        SKIP,
        "push",
        "push heads/main message:fix\n\n\nskip-checks: true",
        "skip",
    ),
    (SKIP, "push", "push heads/main message:skip ci", "start"),
    (
        SKIP,
        "pull_request",
        "pull_request opened main message:x [skip ci]",
        "skip",
    ),
    (
        SKIP,
        "workflow_dispatch",
        "workflow_dispatch message:[skip ci]",
        "start",
    ),
];

#[test]
fn patterns_match_as_documented() {
    for (page, pattern, text, expected) in PATTERNS {
        let parsed =
            GlobPattern::parse(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        assert_eq!(
            parsed.matches(text),
            *expected,
            "{page}: {pattern} over {text}"
        );
    }
}

#[test]
fn wrong_patterns_are_explained() {
    for (pattern, part) in [
        ("", "empty"),
        ("!", "empty"),
        ("[a", "no closing"),
        ("[]", "matches nothing"),
        ("[9-1]", "empty"),
        ("a\\", "ends in"),
    ] {
        let error = GlobPattern::parse(pattern).unwrap_err();
        assert!(error.contains(part), "{pattern}: {error}");
    }
}

#[test]
fn a_hostile_pattern_takes_no_time() {
    let pattern = GlobPattern::parse(&"*a".repeat(400)).unwrap();
    assert!(!pattern.matches(&"a".repeat(4_000).replace("aaaa", "aaab")));
}

/// `push heads/main path… message:…`, `pull_request action base …`.
fn event(text: &str) -> EventContext {
    let (words, message) = match text.split_once(" message:") {
        Some((words, message)) => (words, Some(message.to_owned())),
        None => (text, None),
    };
    let mut words = words.split(' ');
    let kind = words.next().expect("a word");
    let mut event = EventContext {
        kind: EventKind::Push,
        action: None,
        reference: String::new(),
        sha: "a".repeat(40),
        repository: "o/r".to_owned(),
        actor: String::new(),
        base_branch: None,
        head_branch: None,
        untrusted: false,
        changed_paths: None,
        message,
        inputs: Vec::new(),
        payload: ExprValue::Null,
    };
    match kind {
        "push" => event.reference = format!("refs/{}", words.next().expect("a word")),
        "pull_request" => {
            event.kind = EventKind::PullRequest;
            event.action = words.next().map(str::to_owned);
            event.base_branch = words.next().map(str::to_owned);
        }
        _ => event.kind = EventKind::WorkflowDispatch,
    }
    let paths: Vec<String> = words.map(str::to_owned).collect();
    event.changed_paths = (!paths.is_empty()).then_some(paths);
    event
}

#[test]
fn workflows_start_as_documented() {
    for (page, on, text, expected) in TRIGGERS {
        let file = format!("on: {on}\njobs: {{a: {{runs-on: x, steps: [{{run: y}}]}}}}\n");
        let workflow = parse("ci.yml", file.as_bytes())
            .unwrap_or_else(|error| panic!("{error}"))
            .value;
        let decision = match decide(&workflow, &event(text)) {
            StartDecision::Start => "start",
            StartDecision::Skip(reason) => {
                assert!(!reason.is_empty());
                "skip"
            }
            StartDecision::NeedsPaths => "ask",
        };
        assert_eq!(decision, *expected, "{page}: {on}: {text}");
    }
}
