//! Definitions of what the query names, told from its uses.

use search_core::definitions::DefinitionKind;

use super::excerpts::lines;
use super::*;

#[test]
fn i16_lines_that_define_what_is_asked_for_are_told_from_those_that_use_it() {
    let folder = tempfile::tempdir().unwrap();
    let uses = "retry_for(1) + retry_for(2)\n".repeat(5);
    let code = format!("{uses}def retry_for(n): pass\n{uses}def retry(): retry_for(3)\n");
    write(folder.path(), "a.py", code);
    let defining = |query: &str, most: usize| -> Vec<(usize, bool)> {
        let found = lines(folder.path(), "a.py", query, most).unwrap();
        let lines = found.lines.iter();
        lines.map(|line| (line.line, line.is_definition)).collect()
    };
    assert_eq!(defining("retry_for", 2), [(1, false), (6, true)]);
    assert_eq!(defining("retryFor", 1), [(6, true)]);
    // A sentence names nothing.
    let sentence = defining("how often is it tried", 20);
    assert!(sentence.iter().all(|(_, is_definition)| !is_definition));

    let query = parse(&SearchRequest::for_text("retry_for")).unwrap();
    let root = RootDirectory::open(folder.path()).unwrap();
    let mut excerpter = Excerpter::new(&query, 120);
    let mut definition = |key: Option<&str>| {
        excerpter.prefer_definition(key);
        let excerpt = excerpter.excerpt(&root, "a.py", "");
        let found = excerpt.definition?;
        Some((found.name, found.kind, found.line == excerpt.line))
    };
    let expected = ("retry_for".to_owned(), DefinitionKind::Function, true);
    assert_eq!(definition(Some("a.py")), Some(expected));
    assert_eq!(definition(None), None);
}
