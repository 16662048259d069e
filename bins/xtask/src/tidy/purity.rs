//! Core crates are pure: time, randomness, files and the environment are arguments.

use super::finding::Finding;
use super::rust_text::{code_only, is_test_file};

/// Modules of the standard library that reach outside.
const OUTSIDE: [&str; 4] = ["env", "fs", "process", "thread"];

/// Types and calls that open a socket, read a clock or the system's randomness. Addresses, which
/// stand in `std::net` too, are plain values.
const NAMES: [&str; 10] = [
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "ToSocketAddrs",
    "SystemTime::now",
    "Instant::now",
    "Timestamp::now",
    "Zoned::now",
    "Uuid::new_v4",
    "Uuid::now_v7",
];

/// Checks one source file of a core crate; its tests are free.
pub(super) fn check(path: &str, source: &str) -> Vec<Finding> {
    if is_test_file(path) {
        return Vec::new();
    }
    let code = code_only(source);
    let modules = std_modules(&code)
        .into_iter()
        .filter(|(_, module)| OUTSIDE.contains(module));
    let modules = modules.map(|(at, module)| (at, format!("std::{module}")));
    let calls = NAMES.iter().flat_map(|call| code.match_indices(call));
    let calls = calls
        .filter(|(at, call)| is_word(&code, *at, call))
        .map(|(at, call)| (at, call.to_owned()));
    let finding = |(at, what): (usize, String)| {
        let place = format!("{path}:{}", line_of(&code, at));
        Finding::error(
            place,
            format!("{what} in a core crate: take what it gives as an argument"),
        )
    };
    modules.chain(calls).map(finding).collect()
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

fn is_word(text: &str, at: usize, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    !text[..at].ends_with(inside) && !text[at + word.len()..].starts_with(inside)
}

/// Every first-level module named after `std::`, in paths and in `use std::{…}` groups.
fn std_modules(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (at, _) in code
        .match_indices("std::")
        .filter(|(at, _)| is_word(code, *at, "std"))
    {
        let start = at + "std::".len();
        let rest = code[start..].trim_start();
        match rest.strip_prefix('{') {
            Some(group) => found.extend(group_heads(group).into_iter().map(|head| (at, head))),
            None => found.push((at, identifier(rest))),
        }
    }
    found
}

/// The first identifier of each entry of a `use` group, nested groups skipped.
fn group_heads(group: &str) -> Vec<&str> {
    let mut heads = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                heads.push(identifier(group[start..at].trim_start()));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    heads
}

fn identifier(text: &str) -> &str {
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(source: &str) -> Vec<String> {
        check("actors/x-core/src/a.rs", source)
            .into_iter()
            .map(|finding| finding.place)
            .collect()
    }

    #[test]
    fn every_way_outside_is_found() {
        for source in [
            "use std::fs;",
            "use std::{collections::BTreeMap, env};",
            "use std::{\n    fmt,\n    process::{Command, Stdio},\n};",
            "let x = std::env::var(\"A\");",
            "let now = std::time::SystemTime::now();",
            "let now = Instant::now();",
            "let id = uuid::Uuid::new_v4();",
            "std::net::TcpStream::connect(x)",
        ] {
            assert_eq!(places(source), ["actors/x-core/src/a.rs:1"], "{source}");
        }
        assert_eq!(
            places("a\n\nuse std::fs::File;"),
            ["actors/x-core/src/a.rs:3"]
        );
    }

    #[test]
    fn pure_code_words_and_tests_pass() {
        for source in [
            "use std::{fmt, collections::BTreeMap};",
            "// std::fs::read\nfn f() {}",
            "let text = \"std::env::var\";",
            "use std::path::Path;",
            "use std::net::{IpAddr, SocketAddr};",
            "MyInstant::now_and_then(my_std::fs)",
            "#[cfg(test)]\nmod tests { use std::fs; }",
        ] {
            assert_eq!(places(source), [""; 0], "{source}");
        }
        assert_eq!(check("actors/x-core/src/a/tests.rs", "use std::fs;"), []);
    }
}
