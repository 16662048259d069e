//! What stands before a command in its place: variables, options, `sudo` and their like.

/// Words that may.
const BEFORE: [&str; 15] = [
    "!", "command", "do", "elif", "else", "env", "eval", "exec", "if", "nohup", "sudo", "then",
    "time", "until", "while",
];

pub(super) fn is_before(word: &str) -> bool {
    let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
        let mut letters = name.chars();
        !name.is_empty() && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    is_assignment || word.starts_with('-') || BEFORE.contains(&word)
}
