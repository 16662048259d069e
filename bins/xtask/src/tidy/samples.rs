//! Wrong configuration samples: each has its exact message beside it, and each message its sample.

use std::collections::BTreeSet;

use super::finding::Finding;

const FOLDER: &str = "config-samples/invalid/";

/// The file types a sample may have.
const TYPES: [&str; 5] = ["json", "jsonc", "toml", "yaml", "yml"];

/// Checks that samples and messages come in pairs of one stem.
pub(super) fn check<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<Finding> {
    let paths: Vec<&str> = paths.filter(|path| path.starts_with(FOLDER)).collect();
    let of_type = |wanted: fn(&str) -> bool| -> BTreeSet<&str> {
        paths
            .iter()
            .filter_map(|path| path.rsplit_once('.'))
            .filter(|(_, kind)| wanted(kind))
            .map(|(stem, _)| stem)
            .collect()
    };
    let messages = of_type(|kind| kind == "txt");
    let samples = of_type(|kind| TYPES.contains(&kind));
    let silent = samples.difference(&messages);
    let silent = silent.map(|stem| {
        Finding::error(
            *stem,
            "a wrong sample without its message: add the .txt beside it",
        )
    });
    let alone = messages.difference(&samples);
    let alone = alone
        .map(|stem| Finding::error(format!("{stem}.txt"), "a message without its wrong sample"));
    silent.chain(alone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(paths: &[&str]) -> Vec<String> {
        check(paths.iter().copied())
            .into_iter()
            .map(|finding| finding.place)
            .collect()
    }

    #[test]
    fn samples_and_messages_come_in_pairs() {
        let a = "config-samples/invalid/a.json";
        let message = "config-samples/invalid/a.txt";
        assert_eq!(places(&[a, message, "config-samples/good.json"]), [""; 0]);
        assert_eq!(places(&[a]), ["config-samples/invalid/a"]);
        assert_eq!(places(&[message]), [message]);
        assert_eq!(
            places(&["config-samples/invalid/search/b.toml", message, a]),
            ["config-samples/invalid/search/b"]
        );
    }
}
