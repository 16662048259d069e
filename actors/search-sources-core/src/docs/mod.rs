//! Language documentation by its list of names: Sphinx' inventory, rustdoc's list of items,
//! DevDocs' index with its pages.

mod devdocs;
mod rustdoc;
mod sphinx;

pub use devdocs::{devdocs_names, devdocs_pages};
pub use rustdoc::rustdoc_names;
pub use sphinx::{MAX_INVENTORY, sphinx_names};

/// Names kept of one documentation.
const MAX_NAMES: usize = 200_000;

/// An address below another one. A name leads nowhere else: it has no scheme and does not climb.
fn join_below(base: &str, path: &str) -> Option<String> {
    let stays = !path.starts_with('/')
        && !path.contains("://")
        && !path.contains('\\')
        && !path.split(['/', '#']).any(|part| part == "..");
    stays.then(|| format!("{}/{path}", base.trim_end_matches('/')))
}
