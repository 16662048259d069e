//! The files of embeddings in a source's folder of concepts: each is written once, under a name of
//! its own, with what was made since the last one. Few stay, as they are put together.

use std::fs;
use std::path::Path;

use rustc_hash::FxHashMap;
use search_graph_engine::embedding::{EmbeddedContent, EmbeddingFile};

use super::files::ConceptFiles;
use super::known_documents::ContentHash;

/// What the names of the files begin with.
const PREFIX: &str = "embeddings-";
/// With more files than this the small ones are put together.
const MAX_FILES: usize = 16;

/// A file that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeptFile {
    pub(super) name: String,
    /// Contents in it, whether they are still wanted or not.
    pub(super) contents: usize,
}

/// Whether a file of this name holds embeddings, and is never changed.
pub(crate) fn is_embeddings(name: &str) -> bool {
    name.starts_with(PREFIX) && !name.contains('.')
}

/// The names of the files in a folder, whatever they hold, in their order.
pub(crate) fn embedding_files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_embeddings(name)).collect();
    names.sort_unstable();
    names
}

/// A name that no file has.
pub(super) fn new_name() -> String {
    format!("{PREFIX}{}", uuid::Uuid::new_v4().simple())
}

/// Removes what is none of these: of another model, damaged, put together, left behind.
pub(super) fn remove_others(saved: &ConceptFiles, files: &[KeptFile]) {
    let entries = fs::read_dir(saved.path("")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    for name in names.filter(|name| name.starts_with(PREFIX)) {
        if !files.iter().any(|file| file.name == name) {
            saved.remove(&name);
        }
    }
}

/// Which of the files are written anew together with what is new, by their places; `wanted` counts
/// what of each is still wanted.
pub(super) fn to_rewrite(files: &[KeptFile], wanted: &[usize]) -> Vec<usize> {
    let is_old = |place: &usize| wanted[*place] * 2 < files[*place].contents;
    let (mut chosen, mut others): (Vec<usize>, Vec<usize>) =
        (0..files.len()).partition(|place| is_old(place));
    if others.len() >= MAX_FILES {
        others.sort_by_key(|place| files[*place].contents);
        chosen.extend(&others[..others.len() - MAX_FILES / 2]);
    }
    chosen
}

/// What the files of a folder hold of one model.
#[derive(Default)]
pub(super) struct ReadFiles {
    pub(super) width: usize,
    /// With the place of its file.
    pub(super) by_hash: FxHashMap<ContentHash, (usize, EmbeddedContent)>,
    pub(super) files: Vec<KeptFile>,
    /// Whether there is one of another model.
    pub(super) has_others: bool,
}

/// Reads them. What is damaged, or of a width that fewer have, is left: it is made again.
pub(super) fn read(saved: &ConceptFiles, model: &[u8; 32]) -> ReadFiles {
    let mut read = ReadFiles::default();
    let mut opened = Vec::new();
    for name in embedding_files(&saved.path("")) {
        match EmbeddingFile::open(&saved.path(&name)) {
            Ok(file) if file.model() == *model => opened.push((name, file)),
            Ok(_) => read.has_others = true,
            Err(error) => tracing::warn!(event = "concepts.embeddings_unreadable", name, %error),
        }
    }
    let mut widths: FxHashMap<usize, usize> = FxHashMap::default();
    for (_, file) in &opened {
        *widths.entry(file.width()).or_default() += file.len();
    }
    let most = widths
        .into_iter()
        .max_by_key(|(width, count)| (*count, *width));
    read.width = most.map_or(0, |(width, _)| width);
    for (name, file) in opened {
        if file.width() == read.width {
            let place = read.files.len();
            let contents = file.contents();
            read.by_hash
                .extend(contents.map(|one| (one.hash, (place, one))));
            let contents = file.len();
            read.files.push(KeptFile { name, contents });
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_small_and_old_files_are_put_together_and_large_ones_stay() {
        let file = |contents| KeptFile {
            name: new_name(),
            contents,
        };
        let few: Vec<KeptFile> = [1_000, 10, 10].map(file).into();
        assert_eq!(to_rewrite(&few, &[1_000, 10, 10]), Vec::<usize>::new());
        assert_eq!(to_rewrite(&few, &[1_000, 4, 0]), [1, 2], "mostly unwanted");
        let many: Vec<KeptFile> = (0..16).map(|number| file(1_000 - number)).collect();
        let wanted: Vec<usize> = many.iter().map(|file| file.contents).collect();
        let chosen = to_rewrite(&many, &wanted);
        assert_eq!(chosen, [15, 14, 13, 12, 11, 10, 9, 8], "the smallest");
    }
}
