//! What the steps of native actions have in common: their inputs, and work that blocks.

/// What a native step is given.
#[derive(Clone, Copy)]
pub(super) struct NativeStep<'s> {
    pub(super) inputs: &'s [(String, String)],
    /// Its own variables.
    pub(super) env: &'s [(String, String)],
}

impl<'s> NativeStep<'s> {
    pub(super) fn new(inputs: &'s [(String, String)], env: &'s [(String, String)]) -> Self {
        Self { inputs, env }
    }

    pub(super) fn input(&self, name: &str) -> &'s str {
        input(self.inputs, name)
    }

    /// The first of these inputs that is given: one that has an older name.
    pub(super) fn input_of(&self, names: &[&str]) -> &'s str {
        let given = names.iter().map(|name| self.input(name));
        given
            .into_iter()
            .find(|value| !value.is_empty())
            .unwrap_or_default()
    }
}

/// An input, without blanks around it; empty where it is not given.
pub(super) fn input<'i>(inputs: &'i [(String, String)], name: &str) -> &'i str {
    let found = inputs
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map_or("", |(_, value)| value.trim())
}

/// Its lines that are not empty.
pub(super) fn lines(text: &str) -> Vec<String> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A shell script with its arguments.
pub(super) fn script(text: &str, arguments: &[&str]) -> Vec<String> {
    let words = ["sh", "-c", text, "sh"].into_iter();
    words
        .chain(arguments.iter().copied())
        .map(str::to_owned)
        .collect()
}

/// Reads or writes what is kept, on a thread that may block.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> std::io::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(std::io::Error::other).flatten()
}
