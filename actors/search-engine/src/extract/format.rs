//! Which format a file has: by its name, else by its first line.

/// How a text is taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// Markdown with or without front matter.
    Markdown,
    /// HTML and XHTML.
    Html,
    /// Plain text and reStructuredText.
    Text,
    /// Source code: the whole text counts.
    Code,
    /// Configuration, tables, logs.
    Data,
}

const CODE: &[&str] = &[
    "adb", "ads", "asm", "awk", "bash", "bat", "bpf", "bzl", "c", "cc", "cl", "clj", "cljs",
    "cmake", "cmd", "cocci", "coffee", "cpp", "cr", "cs", "css", "cu", "cxx", "d", "dart", "dts",
    "dtsi", "el", "elm", "erl", "ex", "exs", "f", "f90", "fish", "fs", "fsx", "gd", "glsl", "go",
    "gradle", "groovy", "h", "hcl", "hh", "hpp", "hrl", "hs", "hxx", "inc", "ino", "java", "jl",
    "js", "jsx", "kt", "kts", "l", "lds", "less", "lisp", "lua", "m", "mjs", "mk", "ml", "mli",
    "mm", "nim", "nix", "pas", "php", "pl", "pm", "proto", "ps1", "py", "pyi", "pyx", "r", "rb",
    "rs", "s", "sass", "scala", "scm", "scss", "sh", "sol", "sql", "sv", "svelte", "swift", "tcl",
    "tf", "thrift", "ts", "tsx", "v", "vala", "vb", "vhd", "vhdl", "vim", "vue", "wat", "y", "zig",
    "zsh",
];

const DATA: &[&str] = &[
    "cfg",
    "conf",
    "config",
    "csv",
    "desktop",
    "diff",
    "env",
    "geojson",
    "gv",
    "ini",
    "json",
    "json5",
    "jsonc",
    "jsonl",
    "lock",
    "log",
    "map",
    "ndjson",
    "opml",
    "patch",
    "plist",
    "po",
    "pot",
    "properties",
    "reg",
    "rss",
    "service",
    "srt",
    "svg",
    "toml",
    "tsv",
    "vcf",
    "xml",
    "xsd",
    "xsl",
    "yaml",
    "yml",
];

const CODE_NAMES: &[&str] = &[
    "Dockerfile",
    "GNUmakefile",
    "Jenkinsfile",
    "Kbuild",
    "Kconfig",
    "Makefile",
    "Rakefile",
    "Vagrantfile",
    "makefile",
];

impl TextFormat {
    /// The format the name tells; [`TextFormat::Text`] where it tells nothing.
    #[must_use]
    pub fn from_key(key: &str) -> Self {
        let name = key.rsplit('/').next().unwrap_or(key);
        let stem = name.split('.').next().unwrap_or(name);
        if CODE_NAMES.contains(&stem) {
            return Self::Code;
        }
        let Some((_, extension)) = name.rsplit_once('.') else {
            return Self::Text;
        };
        // All extensions in the tables are short; a longer one needs no copy.
        if extension.len() > 10 {
            return Self::Text;
        }
        Self::from_extension(&extension.to_ascii_lowercase())
    }

    fn from_extension(extension: &str) -> Self {
        match extension {
            "md" | "markdown" | "mdown" | "mkd" | "mdx" | "qmd" => Self::Markdown,
            "html" | "htm" | "xhtml" | "xht" => Self::Html,
            _ if CODE.binary_search(&extension).is_ok() => Self::Code,
            _ if DATA.binary_search(&extension).is_ok() => Self::Data,
            _ => Self::Text,
        }
    }

    /// Looks at the first line where the name told nothing.
    #[must_use]
    pub fn or_by_content(self, text: &str) -> Self {
        if self != Self::Text {
            return self;
        }
        let start = text.trim_start();
        let is_html = |opening: &str| {
            start
                .get(..opening.len())
                .is_some_and(|begin| begin.eq_ignore_ascii_case(opening))
        };
        if start.starts_with("#!") {
            Self::Code
        } else if is_html("<!doctype html") || is_html("<html") {
            Self::Html
        } else {
            Self::Text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_can_be_searched() {
        assert!(CODE.is_sorted() && DATA.is_sorted());
        assert!(CODE.iter().all(|extension| !DATA.contains(extension)));
    }

    #[test]
    fn names_tell_formats() {
        for (key, format) in [
            ("a/README.md", TextFormat::Markdown),
            ("a/INDEX.HTML", TextFormat::Html),
            ("mm/slab.c", TextFormat::Code),
            ("mm/Makefile", TextFormat::Code),
            ("Dockerfile.dev", TextFormat::Code),
            ("x.json", TextFormat::Data),
            ("notes.rst", TextFormat::Text),
            ("LICENSE", TextFormat::Text),
            ("a.d/file", TextFormat::Text),
            ("odd.averyverylongextension", TextFormat::Text),
        ] {
            assert_eq!(TextFormat::from_key(key), format, "{key}");
        }
    }

    #[test]
    fn the_first_line_tells_where_the_name_does_not() {
        assert_eq!(
            TextFormat::Text.or_by_content("#!/bin/sh\n"),
            TextFormat::Code
        );
        assert_eq!(
            TextFormat::Text.or_by_content("\n<!DOCTYPE HTML>"),
            TextFormat::Html
        );
        assert_eq!(TextFormat::Text.or_by_content("<ü"), TextFormat::Text);
        assert_eq!(
            TextFormat::Data.or_by_content("#!/bin/sh"),
            TextFormat::Data
        );
    }
}
