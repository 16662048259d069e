//! Small vaults with the features of the real ones.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use search_sources_core::notes::{NotesApp, Vault, logseq_hidden};
use search_sources_core::{ItemLink, SourceItem};

fn vault(dialect: NotesApp, files: &[(&str, &str)]) -> Vault {
    let mut vault = Vault::default();
    for (path, text) in files {
        vault.insert(dialect.page(path, text));
    }
    vault
}

fn links(item: &SourceItem) -> Vec<(&str, bool)> {
    item.links
        .iter()
        .map(|ItemLink { target, resolved }| (target.as_str(), *resolved))
        .collect()
}

const BLOCK: &str = "66436d4d-1111-2222-3333-444455556666";

#[test]
fn logseq_pages_blocks_properties_and_journals() {
    let feature = "type:: [[Feature]]\nalias:: rocket engine, RE\ntags:: space, [[deep, cold]]\n\n- TODO [#A] build it\n  id:: 66436d4d-1111-2222-3333-444455556666\n  collapsed:: true\n\t- child with #tag and [[Missing Page]]\n\t  :LOGBOOK:\n\t  CLOCK: [2026-11-21]\n\t  :END:\n- ```\n  code [[not a link]]\n  ```\n";
    let day = format!(
        "- met about [[rocket ENGINE]]: (({BLOCK}))\n- {{{{embed (({BLOCK}))}}}}\n- {{{{query (task TODO)}}}}\n"
    );
    let vault = vault(
        NotesApp::Logseq,
        &[
            ("pages/Project___Engine.md", feature),
            ("journals/2026_11_21.md", &day),
            ("pages/feature.md", "- a kind\n"),
        ],
    );
    let engine = vault.item("pages/Project___Engine.md").unwrap();
    assert_eq!(engine.title, "Project/Engine");
    assert_eq!(engine.aliases, ["rocket engine", "RE"]);
    assert_eq!(engine.tags, ["space", "deep, cold", "tag"]);
    assert_eq!(
        links(&engine),
        [
            ("pages/feature.md", true),
            ("space", false),
            ("deep, cold", false),
            ("Missing Page", false)
        ]
    );
    assert!(
        engine.body.contains("type: Feature") && engine.body.contains("- TODO [#A] build it"),
        "{}",
        engine.body
    );
    assert!(
        engine.body.contains("\t- child with tag and Missing Page"),
        "{}",
        engine.body
    );
    assert!(
        engine.body.contains("code [[not a link]]"),
        "{}",
        engine.body
    );
    for hidden in ["collapsed", "CLOCK", "66436d4d"] {
        assert!(!engine.body.contains(hidden), "{hidden}: {}", engine.body);
    }
    let journal = vault.item("journals/2026_11_21.md").unwrap();
    assert_eq!(
        (journal.title.as_str(), journal.tags.as_slice()),
        ("2026-11-21", ["journal".to_owned()].as_slice())
    );
    assert_eq!(links(&journal), [("pages/Project___Engine.md", true)]);
    assert_eq!(
        journal.body.matches("TODO [#A] build it").count(),
        2,
        "{}",
        journal.body
    );
    assert!(!journal.body.contains("task TODO"), "{}", journal.body);
}

#[test]
fn logseq_titles_org_pages_and_hidden_folders() {
    let org = "#+TITLE: Old Page\n#+FILETAGS: :a:b:\n* TODO Top [[Other][the other]]\n:PROPERTIES:\n:ID: 66436d4d-1111-2222-3333-444455556666\n:END:\n** Below https://x.org\n";
    let vault = vault(
        NotesApp::Logseq,
        &[
            ("pages/old.org", org),
            ("pages/a%2Fb.md", "title:: Real Title\n\n- x\n"),
            ("pages/Other.md", "- y\n"),
        ],
    );
    let old = vault.item("pages/old.org").unwrap();
    assert_eq!((old.title.as_str(), old.tags.len()), ("Old Page", 2));
    assert_eq!(old.body, "- TODO Top the other\n\t- Below https://x.org\n");
    assert_eq!(links(&old), [("pages/Other.md", true)]);
    assert_eq!(vault.item("pages/a%2Fb.md").unwrap().title, "Real Title");
    let config =
        "{:meta/version 1\n ;; :hidden [\"/commented\"]\n :hidden [\"/archive\" \"/draft.md\"]\n}";
    assert_eq!(logseq_hidden(config), ["archive", "draft.md"]);
    assert!(NotesApp::Logseq.is_note("journals/2026_11_21.md"));
    assert!(
        !NotesApp::Logseq.is_note("logseq/bak/x.md") && !NotesApp::Logseq.is_note("assets/x.png")
    );
}

#[test]
fn obsidian_notes_links_and_blocks() {
    let home = "---\naliases: [Start, \"Begin here\"]\ntags: [project, deep/space]\nowner: \"[[Ada Lovelace]]\"\n---\n# Home\nSee [[engine|the engine]] and [[Plans/engine#Fuel]] ^intro\n> [!warning]- Careful now\n> hot\n%% hidden [[Secret]] %%\n![[diagram.png]] #todo\n```\n#not-a-tag\n```\n";
    let vault = vault(
        NotesApp::Obsidian,
        &[
            ("Home.md", home),
            ("Engine.md", "short\n"),
            ("Plans/Engine.md", "long\n"),
            ("People/Ada Lovelace.md", "countess\n"),
            ("daily/2026-11-21.md", "went to [[BEGIN HERE]]\n"),
        ],
    );
    let home = vault.item("Home.md").unwrap();
    assert_eq!(home.aliases, ["Start", "Begin here"]);
    assert_eq!(home.tags, ["project", "deep/space", "todo"]);
    assert_eq!(
        links(&home),
        [
            ("People/Ada Lovelace.md", true),
            ("Engine.md", true),
            ("Plans/Engine.md", true)
        ]
    );
    assert!(
        home.body
            .contains("See the engine and Plans/engine > Fuel\n"),
        "{}",
        home.body
    );
    assert!(
        home.body.contains("Careful now") && home.body.contains("#not-a-tag"),
        "{}",
        home.body
    );
    for hidden in ["Secret", "^intro", "[!warning]", "hidden"] {
        assert!(!home.body.contains(hidden), "{hidden}: {}", home.body);
    }
    let day = vault.item("daily/2026-11-21.md").unwrap();
    assert_eq!(links(&day), [("Home.md", true)]);
    assert_eq!(day.tags, ["journal"]);
    assert!(
        !NotesApp::Obsidian.is_note(".obsidian/plugins/x.md")
            && !NotesApp::Obsidian.is_note(".trash/x.md")
    );
}

#[test]
fn a_page_that_changes_or_goes_takes_its_names_along() {
    let mut vault = vault(
        NotesApp::Obsidian,
        &[("a.md", "---\naliases: [x]\n---\n"), ("b.md", "[[x]]")],
    );
    assert_eq!(links(&vault.item("b.md").unwrap()), [("a.md", true)]);
    vault.insert(NotesApp::Obsidian.page("a.md", "no alias any more"));
    assert_eq!(links(&vault.item("b.md").unwrap()), [("x", false)]);
    vault.remove("a.md");
    assert_eq!(vault.resolve("a"), None);
    assert_eq!(vault.paths().collect::<Vec<_>>(), ["b.md"]);
}

#[test]
fn any_text_is_read_without_a_panic() {
    let pieces = [
        "[[", "]]", "((", "))", "#", "::", "- ", "\t", "```", "%%", "---\n", "a", "é", "|", "^x",
        "{{", "}}", "\n", "](", "(((", "!", "[#A]", "\"", ":",
    ];
    let mut state = 12345_u64;
    for _ in 0..3000 {
        let mut text = String::new();
        for _ in 0..20 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            text.push_str(pieces[usize::try_from(state >> 33).unwrap() % pieces.len()]);
        }
        for dialect in [NotesApp::Logseq, NotesApp::Obsidian] {
            for path in ["pages/a.md", "pages/a.org"] {
                let mut vault = Vault::default();
                vault.insert(dialect.page(path, &text));
                assert!(vault.item(path).is_some());
            }
        }
    }
}
