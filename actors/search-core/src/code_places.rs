//! Where code lies in a tree: in what the tree is called after, or in what is for another system.

use crate::names::squeezed;

/// Words of the names of folders and files with code for Windows.
const WINDOWS: [&str; 3] = ["win", "win32", "windows"];

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
    let mut words = key.split(['/', '_', '-', '.']);
    words.any(|word| WINDOWS.iter().any(|name| word.eq_ignore_ascii_case(name)))
}

/// Whether a word of a query may ask for such code: `win32`, `windows`, but `window` as well.
#[must_use]
pub fn may_mean_windows(folded: &str) -> bool {
    folded.starts_with("win")
}

#[cfg(test)]
mod tests {
    use super::{is_for_windows, lies_in_namesake, may_mean_windows, namesake};

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
}
