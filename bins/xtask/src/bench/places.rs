//! Folders as a published record names them: without this machine's paths.

use std::path::Path;

use crate::project::ProjectCheckout;

/// The folder's own name: what a published record says instead of its path.
pub(super) fn label(folder: &Path) -> String {
    folder
        .file_name()
        .unwrap_or(folder.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// The output without the paths of this machine.
pub(super) fn without_places<'f>(
    output: &str,
    project: &ProjectCheckout,
    folders: impl Iterator<Item = &'f Path>,
) -> String {
    let mut text = output.to_owned();
    for folder in folders {
        text = text.replace(&*folder.to_string_lossy(), &label(folder));
    }
    let home = std::env::var("HOME").unwrap_or_default();
    for (place, name) in [(&*project.root.to_string_lossy(), "."), (&*home, "~")] {
        if place.len() > 1 {
            text = text.replace(place, name);
        }
    }
    text
}
