//! Where code lies in a tree: in what the tree is called after, in what is for one system alone, in
//! what declares what others do, in what is kept for earlier times.

use crate::analysis::fold;
use crate::names::{file_name, squeezed};

/// Words of the names of folders and files with code for Windows.
const WINDOWS: [&str; 3] = ["win", "win32", "windows"];

/// Words of paths with code for one system alone, which has twins for others. Not those that most
/// programs are written for.
const SYSTEMS: [&str; 17] = [
    "aix",
    "android",
    "cygwin",
    "darwin",
    "emscripten",
    "freebsd",
    "haiku",
    "hurd",
    "ibmi",
    "ios",
    "macos",
    "netbsd",
    "openbsd",
    "os390",
    "solaris",
    "sunos",
    "wasi",
];

/// Folders of code that says what there is, and does nothing.
const DECLARATIONS: [&str; 8] = [
    "abstractions",
    "contract",
    "contracts",
    "interface",
    "interfaces",
    "type",
    "types",
    "typings",
];

/// Files of such code, without their extensions.
const DECLARATION_FILES: [&str; 4] = ["_types", "interface", "interfaces", "types"];

/// Ends of the names of such files.
const DECLARATION_ENDS: [&str; 4] = [".d.ts", ".d.mts", ".d.cts", ".pyi"];

/// Words of paths with code that is kept for those who have not moved on.
const OUTDATED: [&str; 7] = [
    "compat",
    "compatibility",
    "deprecate",
    "deprecated",
    "deprecations",
    "legacy",
    "obsolete",
];

/// Folders that every tree has: a source that is called so is called after none of them.
const COMMON_FOLDERS: [&str; 4] = ["docs", "lib", "source", "src"];

/// The name of a source as [`lies_in_namesake`] takes it; none that every tree has.
#[must_use]
pub fn namesake(source: &str) -> Option<String> {
    let name = squeezed(source);
    (!name.is_empty() && !COMMON_FOLDERS.contains(&name.as_str())).then_some(name)
}

/// Whether one of the folders of a path is called like the source it is from, as the main one of
/// several packages mostly is (`axum` beside `axum-extra` in `axum`). `name` is squeezed.
#[must_use]
pub fn lies_in_namesake(key: &str, name: &str) -> bool {
    let mut folders = key.rsplit('/').skip(1);
    folders.any(|folder| squeezed(folder) == name)
}

/// Whether a path says that the code is for Windows, which mostly has a twin for other systems
/// (`win/udp.c` beside `unix/udp.c`).
#[must_use]
pub fn is_for_windows(key: &str) -> bool {
    path_words(key).any(|word| WINDOWS.iter().any(|name| word.eq_ignore_ascii_case(name)))
}

/// The one system that the path says code is for, folded; not Windows, see [`is_for_windows`].
#[must_use]
pub fn system_of(key: &str) -> Option<&'static str> {
    let among = |word: &str| SYSTEMS.iter().find(|name| word.eq_ignore_ascii_case(name));
    path_words(key).find_map(among).copied()
}

/// Whether a path says that code declares what others do: types, interfaces, contracts.
#[must_use]
pub fn declares(key: &str) -> bool {
    let mut folded = String::with_capacity(key.len());
    fold(key, &mut folded);
    let name = file_name(&folded);
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let mut folders = folded[..folded.len() - name.len()].split('/');
    folders.any(|folder| DECLARATIONS.contains(&folder))
        || DECLARATION_FILES.contains(&stem)
        || DECLARATION_ENDS.iter().any(|end| name.ends_with(end))
}

/// Whether a path says that code is kept for earlier times, and by which word.
#[must_use]
pub fn outdated_word(key: &str) -> Option<&'static str> {
    let among = |word: &str| OUTDATED.iter().find(|name| word.eq_ignore_ascii_case(name));
    path_words(key).find_map(among).copied()
}

/// The path without the folder of a version (`v1/fields.py`): where the newer twin is, if there is
/// any. None where the path has no such folder.
#[must_use]
pub fn unversioned(key: &str) -> Option<String> {
    let segments: Vec<&str> = key.split('/').collect();
    let (_, folders) = segments.split_last()?;
    let is_version = |folder: &&str| {
        let number = folder.strip_prefix('v');
        number.is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let place = folders.iter().position(is_version)?;
    let twin = [&segments[..place], &segments[place + 1..]].concat();
    Some(twin.join("/"))
}

/// Whether a file's name says in a second part that it holds a part of something: `Writer.Async.cs`
/// beside `Writer.cs`.
#[must_use]
pub fn is_part(key: &str) -> bool {
    let name = file_name(key).trim_start_matches('.');
    name.matches('.').count() > 1
}

fn path_words(key: &str) -> impl Iterator<Item = &str> {
    key.split(['/', '_', '-', '.'])
}

/// Whether a word of a query may ask for code for Windows: `win32`, `windows`, but `window` as
/// well.
#[must_use]
pub fn may_mean_windows(folded: &str) -> bool {
    folded.starts_with("win")
}

#[cfg(test)]
mod tests {
    use super::{
        declares, is_for_windows, is_part, lies_in_namesake, may_mean_windows, namesake,
        outdated_word, system_of, unversioned,
    };

    #[test]
    fn i16_a_package_is_called_like_its_source() {
        for (source, key, expected) in [
            ("axum", "axum/src/json.rs", true),
            ("axum", "axum-extra/src/json.rs", false),
            ("newtonsoft-json", "Src/Newtonsoft.Json/JToken.cs", true),
            ("vitest", "packages/vitest/src/core.ts", true),
            ("vitest", "packages/ui/vitest.ts", false),
            ("src", "src/a.rs", false),
            ("…", "a/b.rs", false),
        ] {
            let name = namesake(source);
            let found = name.is_some_and(|name| lies_in_namesake(key, &name));
            assert_eq!(found, expected, "{key} of {source}");
        }
    }

    #[test]
    fn i16_code_for_windows_says_so_in_its_path() {
        for (key, expected) in [
            ("src/win/udp.c", true),
            ("src/Windows/pipe.rs", true),
            ("lib/file_win32.go", true),
            ("src/unix/udp.c", false),
            ("src/window.rs", false),
            ("src/winner/a.c", false),
        ] {
            assert_eq!(is_for_windows(key), expected, "{key}");
        }
        assert!(may_mean_windows("windows") && !may_mean_windows("pipe"));
    }

    #[test]
    fn i16_code_for_one_system_says_so_in_its_path() {
        for (key, expected) in [
            ("src/unix/sunos.c", Some("sunos")),
            ("src/file_freebsd.go", Some("freebsd")),
            ("Source/iOS/View.swift", Some("ios")),
            ("src/unix/core.c", None),
            ("src/linux.c", None),
            ("src/win/udp.c", None),
            ("src/biosphere.rs", None),
        ] {
            assert_eq!(system_of(key), expected, "{key}");
        }
    }

    #[test]
    fn i16_declarations_are_told_from_what_does_something() {
        for (key, expected) in [
            ("src/types/store.ts", true),
            ("src/Contracts/Queue.php", true),
            ("src/types.rs", true),
            ("pkg/_types.py", true),
            ("index.d.ts", true),
            ("pkg/a.pyi", true),
            ("src/store.ts", false),
            ("src/typescript/a.ts", false),
            ("src/type_checker.rs", false),
            ("contracts", false),
        ] {
            assert_eq!(declares(key), expected, "{key}");
        }
    }

    #[test]
    fn i16_code_of_earlier_times_says_so_or_has_a_twin() {
        for (key, expected) in [
            ("Sources/Deprecations/A.swift", Some("deprecations")),
            ("a/_compat.py", Some("compat")),
            ("a/legacy/b.rs", Some("legacy")),
            ("a/compatible.rs", None),
            ("a/b.rs", None),
        ] {
            assert_eq!(outdated_word(key), expected, "{key}");
        }
        for (key, expected) in [
            ("a/v1/fields.py", Some("a/fields.py")),
            ("v12/b/c.go", Some("b/c.go")),
            ("a/v/c.go", None),
            ("a/vec/c.go", None),
            ("a/v1", None),
            ("", None),
        ] {
            assert_eq!(unversioned(key).as_deref(), expected, "{key}");
        }
    }

    #[test]
    fn i16_parts_of_files_have_names_of_two_parts() {
        for (key, expected) in [
            ("a/Writer.Async.cs", true),
            ("a/Writer.cs", false),
            ("a.b/Writer", false),
            (".a.toml", false),
            ("", false),
        ] {
            assert_eq!(is_part(key), expected, "{key}");
        }
    }
}
