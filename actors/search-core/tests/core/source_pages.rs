//! The role files of `docs/sources` are valid as they are.

use config_core::Environment;

#[test]
fn every_page_has_a_role_file_that_is_valid() {
    let folder = std::path::absolute("../../docs/sources").expect("a folder to work in");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).expect("the pages") {
        let path = entry.expect("a page").path();
        if path.ends_with("README.md") {
            continue;
        }
        let page = std::fs::read_to_string(&path).expect("a page");
        let fences: Vec<&str> = page.split("```json\n").skip(1).collect();
        assert!(!fences.is_empty(), "{} has no role file", path.display());
        for fence in fences {
            let (sample, _) = fence.split_once("```").expect("a fence ends");
            let parsed =
                search_core::role::parse("page", sample.as_bytes(), &Environment::default());
            let roles = parsed.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(!roles.default_role().haystacks.is_empty());
            checked += 1;
        }
    }
    assert!(checked >= 5, "{checked} role files");
}
