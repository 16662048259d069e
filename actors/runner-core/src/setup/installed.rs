//! The releases of a tool that are in a machine, and which of them a step gets.

use std::cmp::Ordering;

use super::version_bounds::version_in;
use super::versions::VersionRequirement;

/// Lists a tool's releases: the one in `PATH`, then those where images and the tool cache of
/// GitHub's toolkit have others. Arguments: the command, what makes it print its version, and
/// patterns of further paths. Each is an output `tool`: path, real path, version, between tabs.
///
/// What a tool would fetch for the workspace is none of the image: each is asked outside of it and
/// for itself, rustup for the program behind its own, and only a line that begins as the tool's
/// version does counts. A program is started once, by whatever names it has.
pub const LIST_SCRIPT: &str = r#"
command=$1 argument=$2; shift 2
case $argument in --list-*) lines=50 ;; *) lines=1 ;; esac
tool=${command##*/}
case $tool in
  bun|dotnet) version='[0-9]*' ;;
  deno|rustc) version="$tool [0-9]*" ;;
  go) version='go version *' ;;
  java) version='*version "*' ;;
  node) version='v[0-9]*' ;;
  python3) version='Python [0-9]*' ;;
  *) version='*' ;;
esac
seen=:
look() {
  [ -f "$1" ] && [ -x "$1" ] || return 0
  own=$1
  real=$(readlink -f "$1" 2>/dev/null || printf %s "$1")
  if [ $tool = rustc ] && [ "$real" -ef "${real%/*}/rustup" ]; then
    own=$("${real%/*}/rustup" which rustc 2>/dev/null) && [ -x "$own" ] || return 0
    real=$(readlink -f "$own" 2>/dev/null || printf %s "$own")
  fi
  case $seen in *:"$real":*) return 0 ;; esac
  seen=$seen$real:
  # Java alone says its version where errors go.
  { if [ $tool = java ]; then "$own" "$argument" 2>&1; else "$own" "$argument"; fi; } |
  case $1 in
    # Its own version stands on another line than Python's.
    *pypy*) head -n 2 | tr '\n' ' '; echo ;;
    *) cat ;;
  esac | while [ "$lines" -gt 0 ] && IFS= read -r says; do
    case $says in $version) ;; *) continue ;; esac
    lines=$((lines - 1))
    printf '::set-output name=tool::%s\t%s\t%s\n' "$1" "$real" "$says"
  done
}
found=$(command -v "$command")
unset RUSTUP_TOOLCHAIN
export GOTOOLCHAIN=local RUSTUP_AUTO_INSTALL=0
cd /
[ -z "$found" ] || look "$found"
for pattern in "$@"; do
  case $pattern in "~"*) pattern=$HOME${pattern#"~"} ;; esac
  for path in $pattern; do look "$path"; done
done
exit 0
"#;

/// Where releases of a tool lie beside the one in `PATH`.
const PLACES: [(&str, &[&str]); 8] = [
    (
        "node",
        &["/opt/node*/bin/node", "/opt/tools/node/*/*/bin/node"],
    ),
    (
        "python3",
        &[
            "/opt/python*/bin/python3",
            "/opt/tools/Python/*/*/bin/python3",
            "/opt/pypy*/bin/pypy3",
            "/opt/tools/PyPy/*/*/bin/pypy3",
            "/usr/bin/pypy3",
            "/usr/bin/python3.*t",
            "/tmp/.setup-python/*/bin/python3",
        ],
    ),
    (
        "go",
        &[
            "/opt/go*/bin/go",
            "/usr/local/go/bin/go",
            "/usr/lib/go-*/bin/go",
            "/opt/tools/go/*/*/bin/go",
        ],
    ),
    (
        "java",
        &[
            "/opt/java*/bin/java",
            "/usr/lib/jvm/*/bin/java",
            "/opt/tools/Java_*/*/*/bin/java",
        ],
    ),
    (
        "dotnet",
        &[
            "/opt/dotnet*/dotnet",
            "/usr/share/dotnet/dotnet",
            "/usr/lib/dotnet/dotnet",
            "/opt/tools/dotnet/*/*/dotnet",
        ],
    ),
    (
        "rustc",
        &[
            "/opt/rust*/bin/rustc",
            "~/.cargo/bin/rustc",
            "~/.rustup/toolchains/*/bin/rustc",
        ],
    ),
    ("deno", &["/opt/deno*/bin/deno", "/opt/tools/deno/*/*/deno"]),
    (
        "bun",
        &[
            "/opt/bun*/bin/bun",
            "/opt/tools/bun/*/*/bun",
            "~/.bun/bin/bun",
        ],
    ),
];
/// Where a step unpacks a JDK of the repository: no other step is given it for its version.
pub const UNPACKED_JAVA: &str = "/tmp/.setup-java";
/// Folders that are in `PATH` anyway.
const SYSTEM: [&str; 5] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/bin",
];

/// A release of a tool in the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledTool {
    /// The program.
    pub path: String,
    /// The same without links.
    pub real_path: String,
    /// What it says of itself.
    pub says: String,
}

/// The command that lists a tool's releases; without `elsewhere` the one in `PATH` only, which is
/// quicker.
#[must_use]
pub fn list_command(command: &str, argument: &str, elsewhere: bool) -> Vec<String> {
    let places = PLACES.iter().find(|(known, _)| *known == command);
    let places = places.filter(|_| elsewhere).map_or(&[][..], |(_, it)| *it);
    let words = ["sh", "-c", LIST_SCRIPT, "sh", command, argument];
    let words = words.iter().chain(places);
    words.map(|word| (*word).to_owned()).collect()
}

/// What the command has printed, each program once.
#[must_use]
pub fn installed(outputs: &[(String, String)]) -> Vec<InstalledTool> {
    let mut found: Vec<InstalledTool> = Vec::new();
    for (name, value) in outputs {
        let mut parts = value.splitn(3, '\t').map(str::to_owned);
        let (Some(path), Some(real_path), Some(says)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let tool = InstalledTool {
            path,
            real_path,
            says: says.trim_end().to_owned(),
        };
        let is_new =
            |known: &InstalledTool| known.real_path != tool.real_path || known.says != tool.says;
        if name == "tool" && tool.path.starts_with('/') && found.iter().all(is_new) {
            found.push(tool);
        }
    }
    found
}

/// The newest release that is wanted; of equal ones the first.
#[must_use]
pub fn choose<'t>(
    wanted: &VersionRequirement,
    all: &'t [InstalledTool],
) -> Option<&'t InstalledTool> {
    let mut fitting: Vec<&InstalledTool> =
        all.iter().filter(|tool| tool.satisfies(wanted)).collect();
    for _ in 0..wanted.lines_back() {
        let newest = fitting.iter().map(|tool| tool.line()).max();
        fitting.retain(|tool| Some(tool.line()) < newest);
    }
    let mut best: Option<&InstalledTool> = None;
    for tool in fitting {
        let is_newer = best.is_none_or(|best| newer(&tool.says, &best.says) == Ordering::Greater);
        if is_newer {
            best = Some(tool);
        }
    }
    best
}

fn newer(one: &str, other: &str) -> Ordering {
    version_in(one).cmp(&version_in(other))
}

impl InstalledTool {
    /// Which of two releases is the newer one.
    #[must_use]
    pub fn is_newer(&self, other: &Self) -> Ordering {
        newer(&self.says, &other.says)
    }

    /// The folder that it is in.
    #[must_use]
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// What is installed around it: `/opt/node24` of `/opt/node24/bin/node`.
    #[must_use]
    pub fn prefix(&self) -> &str {
        let folder = self.real_path.rsplit_once('/').map_or("", |(it, _)| it);
        folder.strip_suffix("/bin").unwrap_or(folder)
    }

    /// Whether it is what is wanted, but for the lines before it.
    fn satisfies(&self, wanted: &VersionRequirement) -> bool {
        wanted.build() == self.python_build()
            && wanted.is_met_by(&self.says)
            && self
                .pypy_says()
                .is_none_or(|says| wanted.holds_of_pypy(says))
    }

    /// The line of releases that it is of: the major version of Node, `1.22` of Go.
    fn line(&self) -> Vec<u64> {
        let parts = if self.says.starts_with("go") { 2 } else { 1 };
        let version = version_in(&self.says).unwrap_or_default();
        version.into_iter().take(parts).collect()
    }

    /// The number in what it says of itself.
    #[must_use]
    pub fn version(&self) -> String {
        let start = self.says.find(|c: char| c.is_ascii_digit());
        let rest = &self.says[start.unwrap_or(self.says.len())..];
        let end = rest.find(|c: char| c.is_whitespace() || c == '"');
        rest[..end.unwrap_or(rest.len())].to_owned()
    }
}

/// `PATH` of later steps, whose added folders are `path`: the chosen releases come first, the last
/// of them before the others, and what a setup before it put there of the same tool goes.
pub fn select(path: &mut Vec<String>, chosen: &[&InstalledTool], all: &[InstalledTool]) {
    let has = |folder: &str| all.iter().any(|tool| tool.folder() == folder);
    path.retain(|folder| !(is_place(folder) && has(folder)));
    for tool in chosen {
        let own = tool.folder();
        let is_shadowed = path.iter().any(|folder| folder != own && has(folder));
        let is_found = SYSTEM.contains(&own) || path.iter().any(|folder| folder == own);
        if is_shadowed || !is_found {
            path.retain(|folder| folder != own);
            path.insert(0, own.to_owned());
        }
    }
}

fn is_place(folder: &str) -> bool {
    let patterns = PLACES.iter().flat_map(|(_, patterns)| *patterns);
    let starts = patterns.filter_map(|pattern| pattern.split('*').next());
    let mut starts = starts.chain([UNPACKED_JAVA]);
    starts.any(|start| folder.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(path: &str, real_path: &str, says: &str) -> InstalledTool {
        InstalledTool {
            path: path.to_owned(),
            real_path: real_path.to_owned(),
            says: says.to_owned(),
        }
    }

    fn nodes() -> Vec<InstalledTool> {
        vec![
            tool("/usr/local/bin/node", "/opt/node22/bin/node", "v22.11.0"),
            tool("/opt/node20/bin/node", "/opt/node20/bin/node", "v20.9.0"),
            tool("/opt/node24/bin/node", "/opt/node24/bin/node", "v24.1.0"),
            tool("/opt/node23/bin/node", "/opt/node23/bin/node", "v23.1.0"),
        ]
    }

    #[test]
    fn i17_a_step_gets_the_newest_release_that_it_wants() {
        for (wanted, expected) in [
            ("", Some("/opt/node24/bin/node")),
            ("22", Some("/usr/local/bin/node")),
            ("20", Some("/opt/node20/bin/node")),
            ("lts/*", Some("/opt/node24/bin/node")),
            (">=20 <24", Some("/opt/node23/bin/node")),
            ("lts/-1", Some("/usr/local/bin/node")),
            ("lts/-2", Some("/opt/node20/bin/node")),
            ("lts/-3", None),
            ("18", None),
        ] {
            let wanted_version = VersionRequirement::parse("node", wanted).unwrap();
            let all = nodes();
            let chosen = choose(&wanted_version, &all).map(|tool| tool.path.as_str());
            assert_eq!(chosen, expected, "{wanted}");
        }
    }

    #[test]
    fn i17_the_line_before_the_newest_is_found() {
        let go = |path: &str, version: &str| {
            tool(path, path, &format!("go version go{version} linux/amd64"))
        };
        let all = [
            go("/a/go", "1.22.1"),
            go("/b/go", "1.21.5"),
            go("/c/go", "1.22.4"),
            go("/d/go", "1.21.9"),
        ];
        let wanted = VersionRequirement::parse("go", "oldstable").unwrap();
        assert!(wanted.moves());
        let found = choose(&wanted, &all).map(|tool| tool.path.as_str());
        assert_eq!(found, Some("/d/go"));
        assert_eq!(choose(&wanted, &all[..1]), None);
    }

    #[test]
    fn i17_the_path_has_one_release_of_a_tool() {
        let all = nodes();
        let mut path = vec!["/own".to_owned()];
        for (chosen, expected) in [
            (0, "/own"),
            (1, "/opt/node20/bin /own"),
            (2, "/opt/node24/bin /own"),
            (0, "/own"),
        ] {
            select(&mut path, &[&all[chosen]], &all);
            assert_eq!(path.join(" "), expected);
        }
        select(&mut path, &[&all[1], &all[2]], &all);
        assert_eq!(path.join(" "), "/opt/node24/bin /opt/node20/bin /own");
        select(&mut path, &[&all[1], &all[0]], &all);
        assert_eq!(path.join(" "), "/usr/local/bin /opt/node20/bin /own");
        path = vec!["/own".to_owned()];
        // One that a step of the job itself put there comes after the chosen one.
        let mut all = nodes();
        all.insert(0, tool("/own/node", "/own/node", "v19.0.0"));
        select(&mut path, &[&all[1]], &all);
        assert_eq!(path.join(" "), "/usr/local/bin /own");
    }

    #[test]
    fn i17_what_is_listed_is_known_once() {
        let line = |value: &str| ("tool".to_owned(), value.to_owned());
        let listed = [
            line("/usr/bin/java\t/usr/lib/jvm/j17/bin/java\topenjdk version \"17.0.9\" 2023"),
            line(
                "/usr/lib/jvm/d/bin/java\t/usr/lib/jvm/j17/bin/java\topenjdk version \"17.0.9\" 2023",
            ),
            line("relative\tx\t1"),
            line("nonsense"),
        ];
        let found = installed(&listed);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].prefix(), "/usr/lib/jvm/j17");
        assert_eq!(found[0].version(), "17.0.9");
        assert_eq!(found[0].folder(), "/usr/bin");
    }

    #[test]
    fn i17_the_script_lists_what_is_in_the_path_and_elsewhere() {
        let words = list_command("node", "--version", true);
        assert_eq!(words[4..6], ["node", "--version"]);
        assert!(words.len() > 6);
        let mut words = list_command("sh", "--list-x", false);
        words[2] = words[2].replace("else \"$own\" \"$argument\"", "else printf 'a b\\nc\\n'");
        let output = std::process::Command::new(&words[0])
            .args(&words[1..])
            .output();
        let output = String::from_utf8(output.unwrap().stdout).unwrap();
        let lines: Vec<&str> = output.lines().collect();
        assert_eq!(lines.len(), 2, "{output}");
        assert!(lines[0].starts_with("::set-output name=tool::/") && lines[0].ends_with("\ta b"));
    }

    const SPEAKING: &str = r#"
        tool() { mkdir -p "${1%/*}"; printf '#!/bin/sh\n%s\n' "$2" > "$1"; chmod +x "$1"; }
        tool bin/go '[ "$PWD $GOTOOLCHAIN" = "/ local" ] || exec echo "go: downloading go1.25.0" >&2
            echo "go version go1.24.4 linux/amd64"'
        tool bin/node 'echo "(node:1) Warning: v99.0.0"; echo v22.1.0'
        tool bin/rustup '[ "${0##*/}" = rustup ] || exec echo "info: syncing 1.90.0" >&2
            [ "$PWD $* ${RUSTUP_TOOLCHAIN-none}" = "/ which rustc none" ] || exit 1
            echo "${0%/bin/rustup}/chains/a/bin/rustc"'
        ln -s rustup bin/rustc
        tool chains/a/bin/rustc 'echo "rustc 1.85.1 (4eb161250 2025-03-15)"; echo rustc >> ${0%/*}/asked'
        tool jvm/21/bin/java 'echo "Picked up JAVA_TOOL_OPTIONS: -Dx=99" >&2
            echo "openjdk version \"21.0.9\" 2025-10-21" >&2; own=$(readlink -f "$0"); echo java >> "${own%/*}/asked"'
        ln -s 21 jvm/default; ln -s ../jvm/21/bin/java bin/java
    "#;

    /// What `go` fetched for the workspace was read as its version, `rustup` alike, and one JDK was
    /// started by each of its names.
    #[test]
    fn i17_a_tool_is_asked_for_itself_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let sh = |words: &[String]| {
            let output = std::process::Command::new(&words[0])
                .args(&words[1..])
                .current_dir(&root)
                .env("PATH", format!("{}/bin:/usr/bin:/bin", root.display()))
                .envs([("GOTOOLCHAIN", "auto"), ("RUSTUP_TOOLCHAIN", "1.90.0")])
                .output();
            String::from_utf8(output.unwrap().stdout).unwrap()
        };
        sh(&["sh", "-c", SPEAKING].map(str::to_owned));
        for (command, argument, elsewhere, expected) in [
            ("go", "version", "", "go version go1.24.4 linux/amd64"),
            ("node", "--version", "", "v22.1.0"),
            (
                "rustc",
                "--version",
                "chains/*/bin/rustc",
                "rustc 1.85.1 (4eb161250 2025-03-15)",
            ),
            (
                "java",
                "-version",
                "jvm/*/bin/java",
                "openjdk version \"21.0.9\" 2025-10-21",
            ),
        ] {
            let mut words = list_command(command, argument, false);
            words.push(format!("{}/{elsewhere}", root.display()));
            let said = sh(&words);
            let lines: Vec<_> = said
                .lines()
                .filter(|line| line.contains(&*root.to_string_lossy()))
                .collect();
            assert_eq!(lines.len(), 1, "{command}: {said}");
            assert!(lines[0].ends_with(expected), "{command}: {said}");
        }
        for asked in ["chains/a/bin/asked", "jvm/21/bin/asked"] {
            let times = std::fs::read_to_string(root.join(asked)).unwrap();
            assert_eq!(times.lines().count(), 1, "{asked}");
        }
    }
}
