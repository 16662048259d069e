//! What a file is called: the name that people type when they mean it.

/// The kinds with which `rustdoc` begins the file names of items (`struct.Vec.html`).
const RUSTDOC_KINDS: [&str; 16] = [
    "attr",
    "constant",
    "derive",
    "enum",
    "externtype",
    "fn",
    "keyword",
    "macro",
    "mod",
    "primitive",
    "static",
    "struct",
    "trait",
    "traitalias",
    "type",
    "union",
];

/// The last part of a path.
#[must_use]
pub fn file_name(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

/// The name of a file without extensions, and without the kind in front that `rustdoc` writes:
/// `struct.Vec.html` is called `Vec`, `parse.test.ts` is called `parse`. A name that begins with a
/// dot keeps it (`.gitignore`).
#[must_use]
pub fn stem(key: &str) -> &str {
    let name = file_name(key);
    let dots = name.len() - name.trim_start_matches('.').len();
    let (first, rest) = match name[dots..].split_once('.') {
        Some((first, rest)) => (&name[..dots + first.len()], rest),
        None => return name,
    };
    match rest.split_once('.') {
        // The source of a module is at `mod.rs.html`.
        Some((item, _)) if RUSTDOC_KINDS.contains(&first) && !item.is_empty() && item != "rs" => {
            item
        }
        _ => first,
    }
}

#[cfg(test)]
mod tests {
    use super::{file_name, stem};

    #[test]
    fn files_are_called_by_their_stems() {
        for (key, expected) in [
            ("docs/QUERIES.md", "QUERIES"),
            ("std/vec/struct.Vec.html", "Vec"),
            ("std/macro.println!.html", "println!"),
            ("src/alloc/vec/mod.rs.html", "mod"),
            ("src/struct.rs", "struct"),
            ("web/parse.test.ts", "parse"),
            ("Makefile", "Makefile"),
            (".env", ".env"),
            ("a/.eslintrc.json", ".eslintrc"),
            ("..", ".."),
            ("", ""),
        ] {
            assert_eq!(stem(key), expected, "{key}");
        }
        assert_eq!(file_name("a/b.c"), "b.c");
        assert_eq!(file_name("a/"), "");
    }
}
