//! All documents one after the other: in the order of their keys, and as files to compare.

use std::collections::BTreeMap;

use search_engine::index::IndexedFiles;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// However the documents came, whatever was deleted, in whatever order they are asked for.
    #[test]
    fn i16_documents_are_told_in_the_order_of_their_keys_and_taken_once(
        commits in prop::collection::vec(
            (prop::collection::btree_map("[a-c]/[a-d]{1,2}", 0u8..9, 0..6), prop::collection::btree_set("[a-c]/[a-d]{1,2}", 0..3)),
            1..6,
        ),
        asked in prop::collection::btree_set("[a-c]/[a-d]{1,2}", 0..12),
        backwards: bool,
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut index, _) = open(folder.path());
        let mut expected: BTreeMap<String, String> = BTreeMap::new();
        for (puts, deletes) in &commits {
            for (key, number) in puts {
                let body = format!("body {number}");
                put(&mut index, key, &format!("Title {number}"), &body);
                expected.insert(key.clone(), body);
            }
            for key in deletes {
                index.delete(key).expect("deleted");
                expected.remove(key);
            }
            commit(&mut index);
        }
        let snapshot = index.snapshot();
        let told: Vec<(String, [u8; 16])> = snapshot
            .documents_in_order()
            .map(|record| record.map(|record| (record.key, record.file.hash)).expect("readable"))
            .collect();
        let hash = |body: &String| FileState::hash_of(body.as_bytes());
        let all: Vec<(String, [u8; 16])> = expected.iter().map(|(key, body)| (key.clone(), hash(body))).collect();
        prop_assert_eq!(told, all);

        let mut files = IndexedFiles::new(&snapshot);
        let mut asked: Vec<&String> = asked.iter().collect();
        if backwards {
            asked.reverse();
        }
        for key in &asked {
            let found = files.take(key).expect("readable").map(|file| file.hash);
            prop_assert_eq!(found, expected.get(*key).map(hash));
        }
        let rest = files.remaining(|key| !key.starts_with("b/")).expect("readable");
        let left: Vec<&String> = expected.keys().filter(|key| !asked.contains(key) && !key.starts_with("b/")).collect();
        prop_assert_eq!(rest.iter().collect::<Vec<_>>(), left);
        let below = expected.keys().any(|key| key.starts_with("c/"));
        prop_assert_eq!(files.any_below("c").expect("readable"), below);
        prop_assert_eq!(files.any_below("").expect("readable"), !expected.is_empty());
        for number in 0..9 {
            let is_there = expected.values().any(|body| *body == format!("body {number}"));
            let title = format!("TITLE {number}");
            prop_assert_eq!(snapshot.has_title(&title).expect("readable"), is_there);
        }
    }
}
