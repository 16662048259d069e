//! Documentation on the web by its list of names: fetched whole, kept, and looked through here. The
//! words of a query stay on this machine.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use http_clients::http::{HttpClient, Request, Response};
use search_core::role::{CommunitySite, FolderOrUrl};
use search_sources_core::docs::{devdocs_names, rustdoc_names, sphinx_names};
use search_sources_core::{ParsedItems, SourceDataError, SourceItem};
use url::Url;

use crate::remote::error::RemoteError;

/// A list is fetched again after so long.
const NAMES_TTL: Duration = Duration::from_secs(3600);

/// Where DevDocs keeps its files, and where people read them.
const DEVDOCS: (&str, &str) = ("documents.devdocs.io", "https://devdocs.io");

/// Which list it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamesKind {
    Sphinx,
    Rustdoc,
    DevDocs,
}

/// The kind and address of documentation on the web.
pub(crate) fn documentation(community: &CommunitySite) -> Option<(NamesKind, &Url)> {
    match community {
        CommunitySite::Sphinx(FolderOrUrl::Url(url)) => Some((NamesKind::Sphinx, url)),
        CommunitySite::Rustdoc(FolderOrUrl::Url(url)) => Some((NamesKind::Rustdoc, url)),
        CommunitySite::DevDocs(FolderOrUrl::Url(url)) => Some((NamesKind::DevDocs, url)),
        _ => None,
    }
}

/// The list of names of one documentation.
pub(crate) struct NameList {
    kind: NamesKind,
    base: String,
    http: HttpClient,
    kept: RefCell<Option<(Instant, Rc<ParsedItems>)>>,
}

impl NameList {
    pub(crate) fn new(kind: NamesKind, base: &str, http: HttpClient) -> Self {
        Self {
            kind,
            base: base.trim_end_matches('/').to_owned(),
            http,
            kept: RefCell::default(),
        }
    }

    /// The names that hold most of the words, at most `limit`.
    pub(crate) async fn search(
        &self,
        words: &str,
        limit: usize,
        deadline: Duration,
    ) -> Result<ParsedItems, RemoteError> {
        let names = self.names(deadline).await?;
        Ok(ParsedItems {
            items: best_matches(&names.items, words, limit),
            skipped: names.skipped.clone(),
        })
    }

    async fn names(&self, deadline: Duration) -> Result<Rc<ParsedItems>, RemoteError> {
        let kept = self.kept.borrow().clone();
        if let Some((_, names)) = kept.filter(|(at, _)| at.elapsed() < NAMES_TTL) {
            return Ok(names);
        }
        let file = match self.kind {
            NamesKind::Sphinx => "objects.inv",
            NamesKind::Rustdoc => "all.html",
            NamesKind::DevDocs => "index.json",
        };
        let address = format!("{}/{file}", self.base);
        let url = Url::parse(&address)
            .map_err(|error| RemoteError::Settings(format!("{address}: {error}")))?;
        let response = self
            .http
            .call(Request::get(url).with_deadline(deadline))
            .await?
            .ok()?;
        let names = Rc::new(self.read(&response)?);
        *self.kept.borrow_mut() = Some((Instant::now(), Rc::clone(&names)));
        Ok(names)
    }

    fn read(&self, response: &Response) -> Result<ParsedItems, SourceDataError> {
        match self.kind {
            NamesKind::Sphinx => sphinx_names(&self.base, &response.body),
            NamesKind::Rustdoc => rustdoc_names(&self.base, &response.text()),
            NamesKind::DevDocs => devdocs_names(Some(&readable(&self.base)), &response.text()),
        }
    }
}

/// Where people read what programs read at `base`.
fn readable(base: &str) -> String {
    match base.split_once(DEVDOCS.0) {
        Some((_, path)) => format!("{}{path}", DEVDOCS.1),
        None => base.to_owned(),
    }
}

/// Those that hold most words, shorter names first; none that holds no word.
fn best_matches(items: &[SourceItem], words: &str, limit: usize) -> Vec<SourceItem> {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let mut found: Vec<(usize, usize, &SourceItem)> = items
        .iter()
        .filter_map(|item| {
            let name = item.title.to_lowercase();
            let held = words.iter().filter(|word| name.contains(*word)).count();
            (held > 0).then_some((held, name.len(), item))
        })
        .collect();
    found.sort_by(|one, other| {
        other
            .0
            .cmp(&one.0)
            .then(one.1.cmp(&other.1))
            .then_with(|| one.2.key.cmp(&other.2.key))
    });
    found
        .into_iter()
        .take(limit)
        .map(|(_, _, item)| item.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_names_come_first() {
        let item = |title: &str| SourceItem {
            key: title.to_owned(),
            title: title.to_owned(),
            ..SourceItem::default()
        };
        let items = ["os.path.join", "str.join", "os", "thread.join", "x"].map(item);
        let titles = |words: &str, limit| {
            let found = best_matches(&items, words, limit);
            found.into_iter().map(|item| item.title).collect::<Vec<_>>()
        };
        assert_eq!(titles("os JOIN", 2), ["os.path.join", "os"]);
        assert_eq!(titles("nothing", 9).len(), 0);
        assert_eq!(
            readable("https://documents.devdocs.io/ruby"),
            "https://devdocs.io/ruby"
        );
    }
}
