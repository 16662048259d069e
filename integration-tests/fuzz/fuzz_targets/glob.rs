//! File patterns: a pattern list and a path, apart by a line break. Any list compiles or is
//! refused, and what it says of a folder agrees with what it says of the files in it.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use search_core::role::FileFilter;

fuzz_target!(|text: &str| {
    let (patterns, path) = text.split_once('\n').unwrap_or((text, "src/main.rs"));
    let Ok(filter) = FileFilter::parse(patterns) else {
        return;
    };
    assert_eq!(filter.as_str(), patterns);
    let path = Path::new(path);
    let matches = filter.matches(path);
    let skipped = path
        .ancestors()
        .skip(1)
        .filter(|folder| !folder.as_os_str().is_empty())
        .any(|folder| filter.skips_directory(folder));
    assert!(
        !(matches && skipped),
        "a file that is meant lies in a folder that is skipped"
    );
});
