//! What `dtolnay/rust-toolchain` adds to a Rust: components and targets. The image has them or not;
//! each is looked for by a command of its own.

/// A component or a target of Rust, and how it is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RustPart {
    /// Its name.
    pub name: String,
    /// A shell script that ends with 0 where it is there; its first argument is the name.
    pub test: &'static str,
}

/// Components by the names of rustup; those of earlier years are the same.
const COMPONENTS: [(&str, &str); 10] = [
    ("clippy", "cargo clippy --version"),
    ("rustfmt", "cargo fmt --version"),
    ("miri", "cargo miri --version"),
    ("rust-analyzer", "rust-analyzer --version"),
    ("rust-src", RUST_SRC),
    ("llvm-tools", LLVM_TOOLS),
    ("llvm-tools-preview", LLVM_TOOLS),
    ("cargo", "cargo --version"),
    ("rustc", "rustc --version"),
    ("rust-std", "test -d \"$(rustc --print target-libdir)\""),
];
const RUST_SRC: &str = "test -d \"$(rustc --print sysroot)/lib/rustlib/src/rust/library\"";
const LLVM_TOOLS: &str =
    "ls \"$(rustc --print sysroot)\"/lib/rustlib/*/bin/llvm-profdata >/dev/null";
const TARGET: &str = "test -d \"$(rustc --print target-libdir --target \"$1\")\"";

/// What the inputs `components` and `targets` (or `target`) ask for: names between commas, blanks
/// and line ends.
///
/// # Errors
/// The component that nobody knows how to look for.
pub fn rust_parts(components: &str, targets: &str) -> Result<Vec<RustPart>, String> {
    let mut parts = Vec::new();
    for name in names(components) {
        let known = COMPONENTS.iter().find(|(known, _)| *known == name);
        let Some((_, test)) = known else {
            let known: Vec<&str> = COMPONENTS.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "the component {} cannot be looked for in the image; known are {}",
                config_core::quoted(name),
                known.join(", ")
            ));
        };
        parts.push(RustPart {
            name: name.to_owned(),
            test,
        });
    }
    parts.extend(names(targets).map(|name| RustPart {
        name: name.to_owned(),
        test: TARGET,
    }));
    Ok(parts)
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    let names = text.split(|c: char| c == ',' || c.is_whitespace());
    names.filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_and_targets_are_looked_for_by_name() {
        for (components, targets, expected) in [
            ("", "", Ok("")),
            ("clippy, rustfmt", "", Ok("clippy rustfmt")),
            (
                "rust-src\nmiri",
                "wasm32-unknown-unknown,x86_64-pc-windows-gnu",
                Ok("rust-src miri wasm32-unknown-unknown x86_64-pc-windows-gnu"),
            ),
            ("clippy rls", "", Err("`rls`")),
        ] {
            let found = rust_parts(components, targets);
            let shown = found.map(|parts| {
                let names: Vec<String> = parts.into_iter().map(|part| part.name).collect();
                names.join(" ")
            });
            match (shown, expected) {
                (Ok(shown), Ok(expected)) => assert_eq!(shown, expected),
                (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
                (found, _) => panic!("{components}: {found:?}"),
            }
        }
    }
}
