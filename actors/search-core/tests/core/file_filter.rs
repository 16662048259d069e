//! The patterns of the `glob` parameter: what they mean, and what they refuse.

use std::path::Path;

use proptest::prelude::*;
use search_core::role::FileFilter;

fn filter(text: &str) -> FileFilter {
    FileFilter::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn patterns_mean_what_the_reference_says() {
    for (patterns, right, wrong) in [
        (
            "*.md",
            &["a.md", "x/y/a.md", ".md"][..],
            &["a.mdx", "a.md/b", "A.MD"][..],
        ),
        ("*.md,*.txt", &["a.md", "x/b.txt"], &["a.rs"]),
        (" *.md , *.txt ", &["a.md", "x/b.txt"], &["a.rs"]),
        ("*.{md,txt}", &["a.md", "x/b.txt"], &["a.rs"]),
        (
            "docs/*.md",
            &["docs/a.md"],
            &["docs/x/a.md", "x/docs/a.md", "a.md"],
        ),
        (
            "docs/**/*.md",
            &["docs/a.md", "docs/x/y/a.md"],
            &["x/docs/a.md"],
        ),
        (
            "**/docs/*.md",
            &["docs/a.md", "x/docs/a.md"],
            &["docs/x/a.md"],
        ),
        ("docs/", &["docs/a", "x/docs/y/b.rs"], &["docs", "docs2/a"]),
        ("src/docs/", &["src/docs/a"], &["x/src/docs/a"]),
        ("./docs/**", &["docs/a", "docs/x/a"], &["a"]),
        ("!*.log", &["a.md", "x/b"], &["a.log", "x/b.log"]),
        (
            "!target/",
            &["a.md", "targets/x"],
            &["target/a", "x/target/y/z"],
        ),
        (
            "*.md,!draft*",
            &["a.md"],
            &["draft.md", "x/draft-1.md", "a.txt"],
        ),
        ("!draft*,*.md", &["a.md"], &["draft.md"]),
        ("! draft*, *.md", &["a.md"], &["draft.md"]),
        ("**", &["a", "x/y/z", ".hidden"], &[]),
        ("*", &["a", "x/y/z"], &[]),
        ("?.md", &["a.md"], &["ab.md", "é.md"]),
        ("{é,è}*", &["é.md", "è"], &["e.md"]),
        ("[a-c].md", &["a.md"], &["d.md"]),
        ("[!a-c].md", &["d.md"], &["a.md"]),
        ("[,!].md", &[",.md", "!.md"], &["a.md"]),
        ("a\\,b.md", &["a,b.md"], &["a", "b.md"]),
        ("\\!a.md", &["!a.md"], &["a.md"]),
        ("..a/*, a..b", &["..a/x", "a..b"], &["a"]),
    ] {
        let filter = filter(patterns);
        for path in right {
            assert!(filter.matches(Path::new(path)), "{patterns} means {path}");
        }
        for path in wrong {
            assert!(
                !filter.matches(Path::new(path)),
                "{patterns} does not mean {path}"
            );
        }
        assert_eq!(filter.as_str(), patterns);
    }
}

#[test]
fn without_patterns_every_file_is_meant() {
    assert!(FileFilter::default().matches(Path::new("a/b.c")));
    assert!(!FileFilter::default().skips_directory(Path::new("a")));
}

#[test]
fn excluded_folders_need_not_be_walked() {
    let filter = filter("*.md, !target/, !docs/old/**, !*.tmp");
    for folder in ["target", "x/target", "docs/old"] {
        assert!(filter.skips_directory(Path::new(folder)), "{folder}");
    }
    for folder in ["docs", "targets", "old", "x/docs/old", "a.tmp"] {
        assert!(!filter.skips_directory(Path::new(folder)), "{folder}");
    }
}

/// A folder is skipped only where the pattern excludes what lies in it.
#[test]
fn i16_patterns_that_mean_no_file_skip_no_folder() {
    for text in ["!{a,}/", "!{a/,b}/", "!{,a}/**"] {
        let filter = filter(text);
        let skipped = filter.skips_directory(Path::new("src"));
        assert_eq!(skipped, !filter.matches(Path::new("src/main.rs")), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn names_that_are_not_unicode_are_matched() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let path = Path::new(OsStr::from_bytes(b"x/\xff.md"));
    assert!(filter("*.md").matches(path));
    assert!(!filter("!*.md").matches(path));
}

/// S08: patterns made to be slow to compile, or to leave the folder.
#[test]
fn s08_hostile_patterns_are_refused() {
    let braces = "{".repeat(10_000);
    let pairs = "{a,b}".repeat(10_000);
    let nested = format!("{}a{}", "{a,".repeat(500), "}".repeat(500));
    let many = "a,".repeat(2_000) + "a";
    let stars = "**/".repeat(1_000) + "a";
    for (text, message) in [
        (
            braces.as_str(),
            "the patterns have 10000 bytes, more than 4096",
        ),
        (&pairs, "the patterns have 50000 bytes, more than 4096"),
        (&braces[..4_000], "more than 4 braces inside each other"),
        (&pairs[..4_000], "more than 64 braces"),
        (&nested, "more than 4 braces inside each other"),
        (&many, "2001 patterns are more than 256"),
        (&stars, "more than 320 wildcards"),
        ("../**", "a pattern must not hold `..`"),
        ("a/../../b", "a pattern must not hold `..`"),
        ("{..,a}/b", "a pattern must not hold `..`"),
        ("!..", "a pattern must not hold `..`"),
        ("/etc/**", "a pattern must be relative"),
        ("{/etc,a}/b", "a pattern must be relative"),
        ("!/etc", "a pattern must be relative"),
        ("~/x", "a pattern must be relative"),
        ("[a-é].md", "brackets can hold ASCII characters only"),
        ("C:/x", "a pattern must be relative"),
        ("a//b", "a pattern must not hold `//`"),
        ("!.//", "a pattern must not hold `//`"),
    ] {
        let error = FileFilter::parse(text).expect_err(&text[..text.len().min(40)]);
        assert_eq!(error.message, message);
        assert!(error.range.start <= error.range.end && error.range.end <= text.len());
    }
}

/// S08: the most a filter may hold compiles, and matches a long path.
#[test]
fn s08_the_largest_filter_still_compiles() {
    let alternatives = format!("{{{}}}", vec!["abcd?"; 60].join(","));
    let patterns = vec!["**/a*b*[a-z]/x.md"; 60].join(",");
    for text in [
        &format!("{alternatives}/{{a,b,c}}/**"),
        &patterns,
        &"a".repeat(4096),
    ] {
        let filter = filter(text);
        assert!(!filter.matches(Path::new(&"x/".repeat(1_000))));
    }
}

proptest! {
    #[test]
    fn any_text_is_compiled_or_refused(text in r"[a-c{}\[\]!*?,/\\.é ~-]{0,40}") {
        match FileFilter::parse(&text) {
            Ok(filter) => { filter.matches(Path::new("a/b.c")); }
            Err(error) => prop_assert!(text.get(error.range).is_some()),
        }
    }

    /// The order of patterns does not count.
    #[test]
    fn order_does_not_count(
        patterns in prop::collection::vec("!?[ab*]{1,3}(/[ab*]{1,2})?", 1..5),
        path in "[ab]{1,3}(/[ab]{1,3}){0,2}",
    ) {
        let forwards = filter(&patterns.join(","));
        let backwards: Vec<String> = patterns.into_iter().rev().collect();
        let backwards = filter(&backwards.join(","));
        prop_assert_eq!(forwards.matches(Path::new(&path)), backwards.matches(Path::new(&path)));
    }

    /// A folder that is skipped holds no file that is meant.
    #[test]
    fn skipped_folders_hold_nothing(
        patterns in prop::collection::vec(
            "!?([ab*]{1,3}|\\{[ab*]{0,2},[ab]?/?\\}|\\./)(/[ab*]{1,2})?(/|/\\*\\*)?",
            1..5,
        ),
        folder in "[ab]{1,3}(/[ab]{1,3}){0,2}",
        file in "[ab]{1,3}(/[ab]{1,3}){0,2}",
    ) {
        let Ok(filter) = FileFilter::parse(&patterns.join(",")) else {
            return Ok(());
        };
        let path = Path::new(&folder).join(&file);
        prop_assert!(!filter.skips_directory(Path::new(&folder)) || !filter.matches(&path));
    }
}
