//! Lists that come page by page, bounded.

use serde::de::DeserializeOwned;

use super::client::ForgeClient;
use crate::forge::ForgeError;
use crate::http::{Method, Response};

/// Items a page; Gitea gives no more.
const PAGE: usize = 50;
/// Most pages of one list.
const PAGES: usize = 400;

/// A list, as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing<T> {
    /// The items.
    pub items: Vec<T>,
    /// There are more than were read (20,000 at most).
    pub more: bool,
}

impl<T> Listing<T> {
    pub(super) fn try_map<U, E>(
        self,
        convert: impl FnMut(T) -> Result<U, E>,
    ) -> Result<Listing<U>, E> {
        let items = self.items.into_iter().map(convert);
        Ok(Listing {
            items: items.collect::<Result<_, _>>()?,
            more: self.more,
        })
    }
}

impl ForgeClient {
    /// Reads a list to its end, or to the limit.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Listing<T>, ForgeError> {
        self.list_pages(path, query, 1, PAGES).await
    }

    /// Reads `pages` pages of a list, from page number `first` (from 1).
    pub(super) async fn list_pages<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        first: usize,
        pages: usize,
    ) -> Result<Listing<T>, ForgeError> {
        let mut items: Vec<T> = Vec::new();
        let size = PAGE.to_string();
        for page in first..first + pages {
            let number = page.to_string();
            let mut query = query.to_vec();
            query.extend([("page", &*number), ("limit", &*size), ("per_page", &*size)]);
            let response = self.fetch(self.request(Method::Get, path, &query)).await?;
            let found: Vec<T> = response.json()?;
            let count = found.len();
            items.extend(found);
            let before = (first - 1) * PAGE;
            if count == 0 || !has_more(&response, before + items.len(), count) {
                return Ok(Listing { items, more: false });
            }
        }
        Ok(Listing { items, more: true })
    }
}

/// Whether a page is followed by another: Gitea says how many there are, GitHub links the next.
fn has_more(response: &Response, read: usize, count: usize) -> bool {
    if let Some(total) = response.headers.number("x-total-count") {
        return (read as u64) < total;
    }
    match response.headers.get("link") {
        Some(link) => link.contains("rel=\"next\""),
        None => count >= PAGE,
    }
}
