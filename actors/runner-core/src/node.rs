//! Which Node a JavaScript action runs with: one of those in the machine.

/// The script that lists them, one `<version> <path>` a line, into the file that is its first
/// argument. Names as the images, Debian and the tool cache of the toolkit have them.
pub const LIST_SCRIPT: &str = r#"
list() { [ -x "$1" ] && printf '%s %s\n' "$("$1" --version 2>/dev/null)" "$1"; }
mkdir -p "${1%/*}" && {
  for name in node nodejs node16 node18 node20 node22 node24; do
    path=$(command -v "$name") && list "$path"
  done
  for path in /opt/node*/bin/node /opt/tools/node/*/*/bin/node; do list "$path"; done
} > "$1"
exit 0
"#;

/// What runs actions for older versions where it is there, as GitHub does; it is also the first
/// that finds the machine's proxy without a word about it.
const USUAL: u32 = 24;

/// The program for an action that wants this major version: of 24, or what newer one it wants; else
/// of exactly the one that it wants, else of the newest that is newer, which runs what older ones
/// ran.
///
/// # Errors
/// That there is none, and which there are.
pub fn choose(listing: &str, wanted: u32) -> Result<String, String> {
    let found: Vec<(u32, &str, &str)> = listing.lines().filter_map(entry).collect();
    let of = |wanted: u32| found.iter().find(|(major, ..)| *major == wanted);
    let exact = of(wanted.max(USUAL)).or_else(|| of(wanted));
    let newest = || {
        // Of several names of one version the first.
        let newer = found.iter().rev().filter(|(major, ..)| *major > wanted);
        newer.max_by_key(|(major, ..)| *major)
    };
    if let Some((_, _, path)) = exact.or_else(newest) {
        return Ok((*path).to_owned());
    }
    let mut versions: Vec<&str> = found.iter().map(|(_, version, _)| *version).collect();
    versions.dedup();
    Err(if versions.is_empty() {
        format!("it needs Node {wanted} or newer, and the machine's image has no Node")
    } else {
        format!(
            "it needs Node {wanted} or newer, and the machine's image has {} only",
            versions.join(", ")
        )
    })
}

/// `v20.11.1 /usr/bin/node`.
fn entry(line: &str) -> Option<(u32, &str, &str)> {
    let (version, path) = line.split_once(' ')?;
    let major = version.strip_prefix('v')?.split('.').next()?.parse().ok()?;
    path.starts_with('/').then_some((major, version, path))
}

/// The variable of an input: `INPUT_`, in capitals, blanks as `_` (the toolkit's `getInput`).
#[must_use]
pub fn input_variable(name: &str) -> String {
    format!("INPUT_{}", name.replace(' ', "_").to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_the_usual_node_is_taken_else_the_wanted_else_the_newest_that_is_newer() {
        let all = "v18.19.0 /usr/bin/node\nv20.1.0 /opt/node20/bin/node\nv22.1.0 /opt/node22/bin/node\nv24.0.1 /opt/node24/bin/node\n";
        let debian = "v18.19.0 /usr/bin/node\nv18.19.0 /usr/bin/nodejs\n";
        let old = "v20.1.0 /opt/node20/bin/node\nv22.1.0 /opt/node22/bin/node\n";
        for (listing, wanted, expected) in [
            // As on GitHub; fetch of Node 20 does not find the machine's proxy.
            (all, 20, Ok("/opt/node24/bin/node")),
            (old, 20, Ok("/opt/node20/bin/node")),
            (old, 16, Ok("/opt/node22/bin/node")),
            (all, 24, Ok("/opt/node24/bin/node")),
            (all, 16, Ok("/opt/node24/bin/node")),
            (debian, 16, Ok("/usr/bin/node")),
            (debian, 20, Err("has v18.19.0 only")),
            ("", 20, Err("has no Node")),
            (
                " /usr/bin/node\nnonsense\nv20.1 relative\n",
                20,
                Err("has no Node"),
            ),
        ] {
            let found = choose(listing, wanted);
            match (expected, &found) {
                (Ok(path), Ok(found)) => assert_eq!(path, found),
                (Err(part), Err(why)) => assert!(why.contains(part), "{why}"),
                _ => panic!("{listing} {wanted}: {found:?}"),
            }
        }
    }

    #[test]
    fn inputs_are_variables_as_the_toolkit_reads_them() {
        for (name, variable) in [
            ("who-to-greet", "INPUT_WHO-TO-GREET"),
            ("my input", "INPUT_MY_INPUT"),
        ] {
            assert_eq!(input_variable(name), variable);
        }
    }
}
