//! What a file is for, told by its path and its first lines: the code itself, tests of it, a
//! manual, an example, what a program has written, what others have.

mod generated;
mod names;

use crate::analysis::fold;
use crate::names::file_name;

/// What a file is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum FileRole {
    /// What the folder is about: code, notes, anything that nothing else is known of.
    #[default]
    Main,
    /// Text for people.
    Documentation,
    /// Shows how something is used.
    Example,
    /// Tests, benchmarks, and their data.
    Test,
    /// Written by a program.
    Generated,
    /// A copy of what others have made.
    Vendored,
    /// Exact versions of what is used.
    Lock,
    /// What has changed from version to version, and manuals of earlier ones.
    History,
    /// Settings of tools, and what a forge runs: files with a dot before their name or that of a
    /// folder.
    Settings,
}

/// Folders of code that others have made.
const VENDORED: [&str; 8] = [
    "vendor",
    "vendored",
    "node_modules",
    "bower_components",
    "third_party",
    "third-party",
    "thirdparty",
    "site-packages",
];

/// Those of them that only programs name so.
const INSTALLED: [&str; 3] = ["node_modules", "bower_components", "site-packages"];

/// Folders of what programs write.
const GENERATED: [&str; 6] = [
    "dist",
    "generated",
    "__generated__",
    "autogen",
    "__snapshots__",
    "__pycache__",
];

/// Words of the names of folders with tests.
const TESTS: [&str; 14] = [
    "test",
    "tests",
    "testing",
    "testlib",
    "spec",
    "specs",
    "testdata",
    "fixtures",
    "fixture",
    "e2e",
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
];

/// Words of the names of folders with examples.
const EXAMPLES: [&str; 6] = ["example", "examples", "sample", "samples", "demo", "demos"];

/// Words of the names of folders with manuals.
const DOCUMENTATION: [&str; 4] = ["doc", "docs", "documentation", "manual"];

/// Extensions of texts for people.
const PROSE: [&str; 16] = [
    "adoc", "docx", "eml", "epub", "htm", "html", "markdown", "mbox", "md", "mdx", "odt", "org",
    "pdf", "rst", "tex", "txt",
];

/// Extensions of code whose listings are pages of a manual (`sync.rs.html`).
const LISTED: [&str; 9] = ["c", "cpp", "go", "h", "hpp", "java", "js", "py", "rs"];

/// The page on which makers of books repeat all others, to be printed.
const PRINTED: &str = "print.html";

/// Folders of what is kept for those who have not moved on.
const OUTDATED: [&str; 6] = [
    "archive",
    "archived",
    "deprecated",
    "legacy",
    "obsolete",
    "old",
];

/// Those of them that people call folders of their own notes.
const KEPT: [&str; 3] = ["archive", "archived", "old"];

/// What folders with an older edition of a book end in (`second-edition`).
const EDITION: &str = "-edition";

/// Lock files whose names do not end in `.lock`.
const LOCKS: [&str; 6] = [
    "bun.lockb",
    "go.sum",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "packages.lock.json",
    "pnpm-lock.yaml",
];

/// Ends of the names of generated files.
const GENERATED_ENDS: [&str; 14] = [
    ".min.js",
    ".min.css",
    ".bundle.js",
    ".js.map",
    ".css.map",
    ".pb.go",
    ".pb.cc",
    ".pb.h",
    "_pb2.py",
    "_pb2_grpc.py",
    ".g.dart",
    ".freezed.dart",
    ".designer.cs",
    ".snap",
];

/// Names of lists of changes, without their extensions.
const HISTORY: [&str; 11] = [
    "changelog",
    "changelogs",
    "changes",
    "history",
    "news",
    "release-notes",
    "release_notes",
    "releasenotes",
    "releases",
    "whats-new",
    "whatsnew",
];

/// Words of a query for lists of changes that mean nothing else.
const CHANGELOGS: [&str; 5] = [
    "changelog",
    "changelogs",
    "releasenotes",
    "relnotes",
    "whatsnew",
];

/// Words of a query for settings of tools, and for what a forge runs.
const SETTINGS: [&str; 3] = ["ci", "dotfile", "dotfiles"];

/// Forges, and what they run: a word of each asks for the same.
const FORGES: [&str; 5] = ["forgejo", "gitea", "github", "gitlab", "woodpecker"];
const RUN_BY_FORGES: [&str; 5] = ["action", "actions", "pipeline", "workflow", "workflows"];

impl FileRole {
    /// All roles.
    pub const ALL: [Self; 9] = [
        Self::Main,
        Self::Documentation,
        Self::Example,
        Self::Test,
        Self::Generated,
        Self::Vendored,
        Self::Lock,
        Self::History,
        Self::Settings,
    ];

    /// The role of a file with this path, `/`-separated, relative to its source.
    #[must_use]
    pub fn from_path(key: &str) -> Self {
        let mut folded = String::with_capacity(key.len());
        fold(key, &mut folded);
        let name = file_name(&folded);
        let folders = || folded[..folded.len() - name.len()].split('/');
        let lies_in = |list: &[&str]| folders().any(|folder| list.contains(&folder));
        let lies_among = |list: &[&str]| {
            folders().any(|folder| {
                folder
                    .split(['-', '_', '.'])
                    .any(|word| list.contains(&word))
            })
        };
        if lies_in(&VENDORED) {
            return Self::Vendored;
        }
        if name.ends_with(".lock") || LOCKS.contains(&name) {
            return Self::Lock;
        }
        if is_hidden(&folded) && !is_for_contributors(&folded, name) {
            return Self::Settings;
        }
        if lies_in(&GENERATED)
            || GENERATED_ENDS.iter().any(|end| name.ends_with(end))
            || name.contains(".generated.")
            || name == PRINTED
            || is_furniture(name)
            || is_listing(name)
        {
            return Self::Generated;
        }
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        let is_prose = PROSE.contains(&extension) || name == "readme";
        // Pages and notes beside tests are about them; plain texts are their data.
        let may_test = !is_prose || extension == "txt" && lies_among(&TESTS);
        let in_tests = || {
            let name = file_name(key);
            let folders = &key[..key.len() - name.len()];
            is_test_name(name) || folders.split('/').any(is_test_folder)
        };
        if may_test && (lies_among(&TESTS) || in_tests()) {
            return Self::Test;
        }
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let is_outdated =
            is_prose && (lies_in(&OUTDATED) || folders().any(|one| one.ends_with(EDITION)));
        if is_outdated || (is_prose || stem == name) && HISTORY.contains(&without_edition(stem)) {
            return Self::History;
        }
        // Code of manuals shows how something is used: `docs_src`, `docs/conf.py`.
        if lies_among(&EXAMPLES) || !is_prose && lies_among(&DOCUMENTATION) {
            return Self::Example;
        }
        if is_prose {
            return Self::Documentation;
        }
        Self::Main
    }

    /// The role of a file that has this role by its path, in a source where no code is near: names
    /// of folders that mean something to programmers alone are those of any folder.
    #[must_use]
    pub fn in_notes(self, key: &str) -> Self {
        let name = file_name(key);
        let mut folders = String::with_capacity(key.len());
        fold(&key[..key.len() - name.len()], &mut folders);
        let is_one_of = |list: &[&str]| folders.split('/').any(|one| list.contains(&one));
        let is_programs = match self {
            Self::Vendored => is_one_of(&INSTALLED),
            Self::History => !is_one_of(&KEPT),
            Self::Example => false,
            _ => true,
        };
        if is_programs {
            return self;
        }
        // Its name may still say something.
        Self::from_path(name)
    }

    /// The role of a file, its beginning looked at as well.
    #[must_use]
    pub fn detect(key: &str, text: &str) -> Self {
        match Self::from_path(key) {
            Self::Main | Self::Test | Self::Example if generated::a_program(key, text) => {
                Self::Generated
            }
            role => role,
        }
    }

    /// The number under which the role is stored.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Main => 0,
            Self::Documentation => 1,
            Self::Example => 2,
            Self::Test => 3,
            Self::Generated => 4,
            Self::Vendored => 5,
            Self::Lock => 6,
            Self::History => 7,
            Self::Settings => 8,
        }
    }

    /// The role stored under `code`; numbers of newer versions read as the main one.
    #[must_use]
    pub const fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Documentation,
            2 => Self::Example,
            3 => Self::Test,
            4 => Self::Generated,
            5 => Self::Vendored,
            6 => Self::Lock,
            7 => Self::History,
            8 => Self::Settings,
            _ => Self::Main,
        }
    }

    /// Whether the folded words of a query ask for files of the role.
    #[must_use]
    pub fn is_named_among(self, words: &[&str]) -> bool {
        let has_one_of = |list: &[&str]| words.iter().any(|word| list.contains(word));
        if self == Self::Lock
            && words
                .windows(2)
                .any(|pair| pair[0] == "lock" && is_file(pair[1]))
        {
            return true;
        }
        words.iter().any(|word| self.is_named_by(word))
            || self == Self::Settings && has_one_of(&FORGES) && has_one_of(&RUN_BY_FORGES)
    }

    /// Whether a word of a query asks for files of the role.
    fn is_named_by(self, folded: &str) -> bool {
        match self {
            Self::Main | Self::Documentation => false,
            Self::Example => EXAMPLES.contains(&folded),
            Self::Test => TESTS.contains(&folded) || folded == "benchmark",
            Self::Generated => GENERATED.contains(&folded) || folded == "minified",
            Self::Vendored => VENDORED.contains(&folded),
            // Code takes locks, watches changes and releases what it holds: those words by
            // themselves ask for nothing else.
            Self::Lock => ["lockfile", "lockfiles"].contains(&folded),
            Self::History => CHANGELOGS.contains(&folded),
            Self::Settings => SETTINGS.contains(&folded),
        }
    }
}

fn is_file(word: &str) -> bool {
    word == "file" || word == "files"
}

/// Whether the name of a file, or that of a folder it lies in, begins with a dot.
fn is_hidden(folded: &str) -> bool {
    folded.split('/').any(|name| name.starts_with('.'))
}

/// Whether a hidden file is a text for people, as forges show it, and no form to be filled in.
fn is_for_contributors(folded: &str, name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_form = folded.contains("template");
    !name.starts_with('.') && PROSE.contains(&extension) && !is_form
}

/// What the names of types for tests end in.
const TEST_ENDS: [&str; 14] = [
    "Test",
    "Tests",
    "Spec",
    "Specs",
    "Benchmark",
    "Benchmarks",
    "TestCase",
    "TestSuite",
    "TestUtils",
    "TestUtil",
    "TestHelper",
    "Stub",
    "Mock",
    "Fixture",
];

/// Whether a folder is called by words of which one is for tests (`AdapterTestUtilities`).
fn is_test_folder(folder: &str) -> bool {
    folder.match_indices("Test").any(|(at, word)| {
        let rest = folder[at + word.len()..].trim_start_matches('s');
        let begins_word = at == 0 || folder[..at].ends_with(|c: char| c.is_ascii_lowercase());
        begins_word && (rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_uppercase()))
    })
}

/// Whether a file is called like tests are in some language: `test_a.py`, `a_test.go`,
/// `a.spec.ts`, `ATest.java`.
fn is_test_name(name: &str) -> bool {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let words: Vec<&str> = stem.split(['_', '-', '.']).collect();
    let is_test = |word: &str| matches!(word, "test" | "tests" | "spec" | "conftest");
    let ends_like_java = TEST_ENDS
        .iter()
        .filter_map(|end| stem.strip_suffix(end))
        .any(|rest| rest.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit()));
    let (first, last) = (words.first(), words.last());
    first.is_some_and(|word| is_test(word))
        || last.is_some_and(|word| is_test(word))
        || ends_like_java
        || extension.len() > "test".len() && extension.ends_with("test")
}

/// Whether a file goes with the pages that a program has written: drawings, the tables that
/// `rustdoc` writes for its own scripts (`sidebar-items1.80.0.js`), scripts and styles called by a
/// hash (`toc-2f9b8d1e.js`).
fn is_furniture(name: &str) -> bool {
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return false;
    };
    match extension {
        "svg" => true,
        "js" | "css" => {
            let hash = stem.rsplit_once('-').map_or("", |(_, hash)| hash);
            name.starts_with("sidebar-items")
                || hash.len() == 8
                    && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
                    && hash.bytes().any(|byte| byte.is_ascii_digit())
                    && hash.bytes().any(|byte| byte.is_ascii_alphabetic())
        }
        _ => false,
    }
}

/// Whether a page of a manual lists the code of a file: `sync.rs.html`.
fn is_listing(name: &str) -> bool {
    let listed = [".html", ".htm"]
        .iter()
        .find_map(|end| name.strip_suffix(end));
    let code = listed.and_then(|name| name.rsplit_once('.'));
    code.is_some_and(|(stem, extension)| !stem.is_empty() && LISTED.contains(&extension))
}

/// A stem without the release that it is of: `changelog` of `changelog_4x`, `changelog-2.2`.
fn without_edition(stem: &str) -> &str {
    let begins_edition = |rest: &str| {
        let rest = rest.strip_prefix('v').unwrap_or(rest);
        rest.starts_with(|c: char| c.is_ascii_digit())
    };
    let seams = stem.match_indices(['-', '_', '.']);
    let seam = seams
        .map(|(at, _)| at)
        .find(|at| begins_edition(&stem[at + 1..]));
    seam.map_or(stem, |at| &stem[..at])
}

#[cfg(test)]
mod tests;
