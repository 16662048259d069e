//! Languages whose definitions are known, by the extension of a file's name.

/// A language, or several that announce definitions alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Rust.
    Rust,
    /// Python.
    Python,
    /// JavaScript and TypeScript.
    Script,
    /// Go.
    Go,
    /// Java, C#, Kotlin, Scala, Swift.
    Java,
    /// C and C++.
    C,
    /// Ruby.
    Ruby,
    /// PHP.
    Php,
    /// POSIX shells.
    Shell,
    /// Lua.
    Lua,
    /// Elixir.
    Elixir,
    /// Haskell.
    Haskell,
    /// Zig.
    Zig,
    /// Markdown: its headings.
    Markdown,
}

impl Language {
    /// The language of a file with this path.
    #[must_use]
    pub fn from_key(key: &str) -> Option<Self> {
        let name = crate::names::file_name(key);
        let (_, extension) = name.rsplit_once('.')?;
        Some(match extension {
            "rs" => Self::Rust,
            "py" | "pyi" | "pyx" => Self::Python,
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" => {
                Self::Script
            }
            "go" => Self::Go,
            "java" | "cs" | "kt" | "kts" | "scala" | "swift" => Self::Java,
            "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "inc" | "cu" | "m" => Self::C,
            "rb" | "rake" => Self::Ruby,
            "php" => Self::Php,
            "sh" | "bash" | "zsh" => Self::Shell,
            "lua" => Self::Lua,
            "ex" | "exs" => Self::Elixir,
            "hs" => Self::Haskell,
            "zig" => Self::Zig,
            "md" | "markdown" | "mdown" | "mkd" | "mdx" => Self::Markdown,
            _ => return None,
        })
    }
}
