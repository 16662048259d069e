//! The builds of Python that `actions/setup-python` knows: CPython, CPython without the global lock
//! (`3.13t`), and PyPy (`pypy3.10`, `pypy3.10-v7.3.17`).

/// How an interpreter is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum PythonBuild {
    /// Python's own.
    #[default]
    CPython,
    /// The same without the global lock (PEP 703).
    FreeThreaded,
    /// <https://pypy.org>
    PyPy,
}

/// A version as it is written: the build, Python's version, and PyPy's where it is named.
pub(super) fn spelled(text: &str) -> (PythonBuild, String, Option<&str>) {
    if let Some(rest) = text.strip_prefix("pypy") {
        let rest = rest.strip_prefix('-').unwrap_or(rest);
        let (python, pypy) = match rest.split_once('-') {
            Some((python, pypy)) => (python, Some(pypy)),
            None => (rest, None),
        };
        return (PythonBuild::PyPy, python.to_owned(), pypy);
    }
    let number = text.strip_suffix("-dev").unwrap_or(text);
    let free = number.strip_suffix('t');
    let free = free.filter(|number| number.contains('.') && number.ends_with(char::is_numeric));
    match free {
        Some(number) => (PythonBuild::FreeThreaded, number.to_owned(), None),
        None => (PythonBuild::CPython, text.to_owned(), None),
    }
}
