//! Interpreters of Python in a machine: how they are built, and what they are called.

use super::installed::InstalledTool;
use super::python_build::PythonBuild;

/// Gives a build whose program has another name the usual ones. Arguments: the program, the folder.
pub const NAME_SCRIPT: &str = r#"
mkdir -p "$2" && ln -sf "$1" "$2/python3" && ln -sf "$1" "$2/python"
"#;
/// Where those names lie.
const NAMES: &str = "/tmp/.setup-python";

/// The folder of a name `python` for a program that has none beside it.
pub const PLAIN_NAME: &str = "/tmp/.setup-python/plain";
/// Makes that name, and says its folder, where it is needed. Arguments: the program, the folder.
pub const PLAIN_NAME_SCRIPT: &str = r#"
[ -e "${1%/*}/python" ] && exit
mkdir -p "$2" && ln -sf "$1" "$2/python" && printf '::set-output name=folder::%s\n' "$2"
"#;

impl InstalledTool {
    /// How it is built; of no Python it is the usual one.
    pub(super) fn python_build(&self) -> PythonBuild {
        let is_free = |part: &str| {
            let number = part.strip_suffix('t');
            part.ends_with("freethreaded")
                || number.is_some_and(|it| it.ends_with(char::is_numeric))
        };
        if self.says.contains("[PyPy ") {
            PythonBuild::PyPy
        } else if self.says.starts_with("Python ") && self.path.split('/').any(is_free) {
            PythonBuild::FreeThreaded
        } else {
            PythonBuild::CPython
        }
    }

    /// Whether it is PyPy.
    pub(super) fn is_pypy(&self) -> bool {
        self.python_build() == PythonBuild::PyPy
    }

    /// What it says of PyPy's own version: `7.3.17 with GCC 10.2.1]`.
    pub(super) fn pypy_says(&self) -> Option<&str> {
        self.says.split_once("[PyPy ").map(|(_, says)| says)
    }

    /// Python's version as `python-version` gives it: `3.13.0`, `3.13.0t`, `pypy3.10.14-7.3.17`.
    #[must_use]
    pub fn python_version(&self) -> String {
        let version = self.version();
        match self.python_build() {
            PythonBuild::CPython => version,
            PythonBuild::FreeThreaded => version + "t",
            PythonBuild::PyPy => {
                let own = self.pypy_says().unwrap_or_default();
                let own = own.split([' ', ']']).next().unwrap_or_default();
                format!("pypy{version}-{own}")
            }
        }
    }

    /// The same with the names `python` and `python3`, where its program has neither.
    #[must_use]
    pub fn with_python_names(&self) -> Option<Self> {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        let is_python = self.python_build() != PythonBuild::CPython;
        (is_python && !matches!(name, "python" | "python3")).then(|| Self {
            path: format!("{NAMES}/{}/bin/python3", self.python_version()),
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::VersionRequirement;
    use super::super::installed::choose;
    use super::*;

    fn pythons() -> Vec<InstalledTool> {
        let tool = |path: &str, says: &str| InstalledTool {
            path: path.to_owned(),
            real_path: path.to_owned(),
            says: says.to_owned(),
        };
        let pypy =
            "Python 3.10.14 (39dc8d3c85a7, Aug 27 2024, 14:33:33) [PyPy 7.3.17 with GCC 10.2.1]";
        vec![
            tool("/usr/bin/python3", "Python 3.13.1"),
            tool("/usr/bin/pypy3", pypy),
            tool("/usr/bin/python3.13t", "Python 3.13.2"),
            tool(
                "/opt/tools/Python/3.14.0/x64-freethreaded/bin/python3",
                "Python 3.14.0",
            ),
        ]
    }

    #[test]
    fn i17_a_build_of_python_is_chosen_by_what_is_written() {
        let all = pythons();
        for (written, expected) in [
            ("3.13", Some("3.13.1")),
            ("3.x", Some("3.13.1")),
            ("3.14", None),
            ("3.13t", Some("3.13.2t")),
            ("3.13.2t", Some("3.13.2t")),
            ("3.14t-dev", Some("3.14.0t")),
            ("pypy3.10", Some("pypy3.10.14-7.3.17")),
            ("pypy-3.10", Some("pypy3.10.14-7.3.17")),
            ("pypy3.10-v7.3.17", Some("pypy3.10.14-7.3.17")),
            ("pypy3.10-v7.3.x", Some("pypy3.10.14-7.3.17")),
            ("pypy3.10-v7.3.16", None),
            ("pypy3.9", None),
        ] {
            let wanted = VersionRequirement::parse("python3", written).unwrap();
            let found = choose(&wanted, &all).map(InstalledTool::python_version);
            assert_eq!(found.as_deref(), expected, "{written}");
        }
        let free = VersionRequirement::parse("python3", "3.13").unwrap();
        let found = choose(&free.free_threaded(), &all).unwrap();
        assert_eq!(found.python_version(), "3.13.2t");
        for wrong in ["pypy", "graalpy-24.1", "pypy3.10-nightly", "t"] {
            let error = VersionRequirement::parse("python3", wrong).unwrap_err();
            assert!(error.contains(wrong), "{error}");
        }
    }

    #[test]
    fn i17_other_builds_get_the_usual_names() {
        let all = pythons();
        let names = all.iter().map(InstalledTool::with_python_names);
        let names: Vec<_> = names.map(|named| named.map(|named| named.path)).collect();
        let expected = [
            None,
            Some("/tmp/.setup-python/pypy3.10.14-7.3.17/bin/python3"),
            Some("/tmp/.setup-python/3.13.2t/bin/python3"),
            None,
        ];
        assert_eq!(names, expected.map(|path| path.map(str::to_owned)));
    }
}
