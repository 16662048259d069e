//! What a text links to, by name: pages of notes and of wikis, and files beside it. Links to the
//! web name nothing here.

/// Links of a document that are looked at.
const MAX_LINKS: usize = 64;
/// Longest name in bytes.
const MAX_NAME: usize = 200;

/// The names, in the order of the text, each once.
#[derive(Debug, Default)]
pub(super) struct Links(Vec<String>);

impl Links {
    /// A page by its name or path: `notes/Valve#Seals` is `Valve`.
    pub(super) fn page(&mut self, target: &str) {
        let target = target.split(['#', '|']).next().unwrap_or_default();
        self.add(name_of(target.strip_suffix(".md").unwrap_or(target)));
    }

    /// A file by its relative address: `../faults/Leak%20test.md#x` is `Leak test`.
    pub(super) fn address(&mut self, target: &str) {
        let target = target.split(['#', '?']).next().unwrap_or_default();
        if target.contains(':') || target.starts_with("//") {
            return;
        }
        let is_text = |end: &&&str| {
            let at = target.len().checked_sub(end.len());
            let last = at.and_then(|at| target.get(at..));
            last.is_some_and(|last| last.eq_ignore_ascii_case(end))
        };
        let ends = [".md", ".markdown", ".html", ".htm"];
        if let Some(end) = ends.iter().find(is_text) {
            let path = target[..target.len() - end.len()].replace("%20", " ");
            self.add(name_of(&path));
        }
    }

    fn add(&mut self, name: Option<&str>) {
        let Some(name) = name else { return };
        if self.0.len() < MAX_LINKS && !self.0.iter().any(|known| known == name) {
            self.0.push(name.to_owned());
        }
    }

    pub(super) fn into_names(self) -> Vec<String> {
        self.0
    }
}

/// The name by which others link to the text with this key, if it is a text that is linked to.
#[must_use]
pub fn link_name(key: &str) -> Option<String> {
    let mut links = Links::default();
    links.address(key);
    links.into_names().pop()
}

/// The last part of a path without its extension; a file that stands for its folder has the
/// folder's name.
fn name_of(path: &str) -> Option<&str> {
    let mut parts = path.rsplit('/').map(str::trim);
    let mut name = parts.next()?;
    if ["index", "readme"]
        .iter()
        .any(|one| name.eq_ignore_ascii_case(one))
    {
        name = parts.next()?;
    }
    let is_name = !name.trim_matches('.').is_empty() && name.len() <= MAX_NAME;
    (is_name && !name.contains(['\n', '['])).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{Links, link_name};

    #[test]
    fn pages_and_files_are_named_and_other_links_are_not() {
        let mut links = Links::default();
        for page in ["Pump", "notes/Valve#Seals", "Pump", "", " ", "#here"] {
            links.page(page);
        }
        for address in [
            "../faults/Leak%20test.md#x",
            "deep/README.md",
            "index.html",
            "../index.html",
            "https://example.org/a.md",
            "//example.org/a.md",
            "mailto:a@b.md",
            "#anchor",
            "pic.png",
            "ä.MD",
        ] {
            links.address(address);
        }
        assert_eq!(
            links.into_names(),
            ["Pump", "Valve", "Leak test", "deep", "ä"]
        );
    }

    #[test]
    fn there_is_an_end_to_links() {
        let mut links = Links::default();
        for number in 0..1_000 {
            links.page(&number.to_string());
        }
        links.page(&"long".repeat(100));
        assert_eq!(links.into_names().len(), 64);
    }

    #[test]
    fn a_text_is_linked_to_by_the_name_of_its_file() {
        assert_eq!(link_name("a/leak test.md").as_deref(), Some("leak test"));
        assert_eq!(link_name("faults/README.md").as_deref(), Some("faults"));
        assert_eq!((link_name("README.md"), link_name("a.rs")), (None, None));
    }
}
