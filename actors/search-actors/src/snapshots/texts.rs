//! The texts that go with a snapshot: packs that grow with the documents, and are made anew when
//! there are many of them.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::sync::Arc;

use search_core::snapshots::{DescribedFile, FileKind};
use search_engine::files::SourceFiles;
use search_engine::index::{FileState, IndexSnapshot};
use search_engine::packs::{ContentForm, ContentId, PackWriter, TextPack};
use search_engine::texts::TextStore;
use search_formats_engine::DocumentFormat;

use super::cache::SnapshotCache;
use super::error::SnapshotError;
use super::unit::Unit;

/// A pack is ended at this length.
const PACK_BYTES: u64 = 16 << 20;
/// More packs than this are made fewer.
const MAX_PACKS: usize = 24;
/// Packs from this length on stay as they are.
const LARGE_PACK: u64 = PACK_BYTES / 2;

/// The packs of a source, as they were published.
#[derive(Debug, Default)]
pub(super) struct PublishedTexts {
    packs: Vec<(DescribedFile, Arc<TextPack>)>,
    known: HashSet<ContentId>,
}

/// A document whose text is not published yet.
struct MissingText {
    key: String,
    hash: [u8; 16],
    /// Bytes of the file.
    size: u64,
    id: ContentId,
}

/// What a document's content is called.
fn content_id(key: &str, hash: &[u8; 16]) -> ContentId {
    let form = match DocumentFormat::from_name(key) {
        Some(_) => ContentForm::Text,
        None => ContentForm::File,
    };
    ContentId::new(form, hash)
}

impl PublishedTexts {
    /// Takes up packs that are in the cache.
    pub(super) fn load<'f>(
        files: impl Iterator<Item = &'f DescribedFile>,
        cache: &SnapshotCache,
    ) -> Result<Self, SnapshotError> {
        let mut texts = Self::default();
        for file in files {
            let path = cache.path(&file.digest);
            let pack = TextPack::open(&path).map_err(SnapshotError::file(&path))?;
            texts.insert(file.clone(), pack);
        }
        Ok(texts)
    }

    fn insert(&mut self, file: DescribedFile, pack: TextPack) {
        self.known.extend(pack.ids());
        self.packs.push((file, Arc::new(pack)));
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &DescribedFile> {
        self.packs.iter().map(|(file, _)| file)
    }

    /// Stores packs again whose objects are `lost`. `false` when one of them is not whole here: the
    /// documents whose texts it had have none any more.
    pub(super) fn store_again(
        &mut self,
        lost: &BTreeSet<String>,
        (unit, cache): (&Unit, &SnapshotCache),
    ) -> Result<bool, SnapshotError> {
        let mut is_whole = true;
        let mut at = 0;
        while let Some((file, _)) = self.packs.get_mut(at) {
            if lost.contains(&file.object) {
                match unit.put_again(file, &cache.path(&file.digest)) {
                    Ok(stored) => *file = stored,
                    Err(SnapshotError::Refused(_) | SnapshotError::File { .. }) => {
                        self.packs.remove(at);
                        is_whole = false;
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            at += 1;
        }
        if !is_whole {
            let packs = self.packs.iter();
            self.known = packs.flat_map(|(_, pack)| pack.ids()).collect();
        }
        Ok(is_whole)
    }

    /// Publishes the texts of documents that `former` did not have.
    pub(super) fn follow(
        &mut self,
        (snapshot, former): (&IndexSnapshot, Option<&IndexSnapshot>),
        root: &dyn SourceFiles,
        texts: Option<&TextStore>,
        (unit, cache): (&Unit, &SnapshotCache),
    ) -> Result<(), SnapshotError> {
        let mut missing = Vec::new();
        let mut named = HashSet::new();
        snapshot.for_each_new_document(former, |record| {
            let id = content_id(&record.key, &record.file.hash);
            if !self.known.contains(&id) && named.insert(id) {
                missing.push(MissingText {
                    hash: record.file.hash,
                    size: record.file.size,
                    key: record.key,
                    id,
                });
            }
        })?;
        let mut missing = missing.into_iter().peekable();
        while missing.peek().is_some() {
            let path = cache.folder().join("pack.new");
            let local = || SnapshotError::file(&path);
            let mut pack = PackWriter::create(&path).map_err(local())?;
            while pack.bytes() < PACK_BYTES
                && let Some(one) = missing.next()
            {
                if let Some(content) = content(&one, root, texts) {
                    pack.add(one.id, &content).map_err(local())?;
                }
            }
            self.publish(pack, (unit, cache))?;
        }
        if self.packs.len() > MAX_PACKS {
            self.compact(snapshot, (unit, cache))?;
        }
        Ok(())
    }

    /// Publishes the pack that was written.
    fn publish(
        &mut self,
        pack: PackWriter,
        (unit, cache): (&Unit, &SnapshotCache),
    ) -> Result<(), SnapshotError> {
        let path = cache.folder().join("pack.new");
        let is_empty = pack.is_empty();
        pack.finish().map_err(SnapshotError::file(&path))?;
        if is_empty {
            let _ = fs::remove_file(&path);
            return Ok(());
        }
        let name = uuid::Uuid::new_v4().simple().to_string();
        let file = unit.store(FileKind::Texts, &name, &path)?;
        cache.insert(&path, &file.digest)?;
        let kept = cache.path(&file.digest);
        let pack = TextPack::open(&kept).map_err(SnapshotError::file(&kept))?;
        self.insert(file, pack);
        Ok(())
    }

    /// Makes one of all small packs, without what no document needs. Where that fails all of them
    /// stay as they are: documents that were published are not looked at again.
    fn compact(
        &mut self,
        snapshot: &IndexSnapshot,
        place: (&Unit, &SnapshotCache),
    ) -> Result<(), SnapshotError> {
        let mut wanted = BTreeSet::new();
        snapshot.for_each_document(|record| {
            wanted.insert(content_id(&record.key, &record.file.hash));
        })?;
        let (small, large): (Vec<_>, Vec<_>) = self
            .packs
            .iter()
            .partition(|(_, pack)| pack.bytes() < LARGE_PACK || is_mostly_unused(pack, &wanted));
        let mut anew = Self::default();
        for (file, pack) in large {
            for id in pack.ids() {
                wanted.remove(&id);
                anew.known.insert(id);
            }
            anew.packs.push((file.clone(), Arc::clone(pack)));
        }
        let path = place.1.folder().join("pack.new");
        let mut small = small.into_iter().peekable();
        while small.peek().is_some() {
            let mut into = PackWriter::create(&path).map_err(SnapshotError::file(&path))?;
            while into.bytes() < PACK_BYTES
                && let Some((_, pack)) = small.next()
            {
                pack.copy_wanted(&mut wanted, &mut into)
                    .map_err(SnapshotError::file(&path))?;
            }
            anew.publish(into, place)?;
        }
        *self = anew;
        Ok(())
    }
}

/// Whether less than half of a pack's contents are needed.
fn is_mostly_unused(pack: &TextPack, wanted: &BTreeSet<ContentId>) -> bool {
    let (mut needed, mut all) = (0, 0);
    for id in pack.ids() {
        all += 1;
        needed += usize::from(wanted.contains(&id));
    }
    needed * 2 < all
}

/// The content that was indexed; none where the file has changed since: the index follows.
fn content(
    missing: &MissingText,
    root: &dyn SourceFiles,
    texts: Option<&TextStore>,
) -> Option<Vec<u8>> {
    if DocumentFormat::from_name(&missing.key).is_some() {
        return texts?.get(&missing.hash).map(String::into_bytes);
    }
    // What is indexed is to be shown, however long its source lets it be.
    let content = root.read(&missing.key, missing.size, &|_| false).ok()?;
    let hash = content
        .hash
        .unwrap_or_else(|| FileState::hash_of(&content.bytes));
    (hash == missing.hash).then_some(content.bytes)
}

#[cfg(test)]
mod tests {
    use config_core::ObjectPlace;
    use http_clients::objects::ObjectStorage;
    use search_core::snapshots::SourcePart;
    use search_engine::index::{IndexOptions, SourceIndex};

    use super::*;

    fn place(home: &tempfile::TempDir) -> (Unit, SnapshotCache) {
        let url = format!("file://{}", home.path().join("storage").display());
        let place = ObjectPlace::new(&url, None, None, false, None).expect("a place");
        let storage = ObjectStorage::open(&place).expect("it opens");
        let cache = SnapshotCache::open(home.path().join("files")).expect("a folder");
        (Unit::new(&storage, "0a1b2c3d", SourcePart::WHOLE), cache)
    }

    /// Packs of one content each, published.
    fn publish_packs(count: u8, place: (&Unit, &SnapshotCache)) -> PublishedTexts {
        let mut texts = PublishedTexts::default();
        for number in 0..count {
            let path = place.1.folder().join("pack.new");
            let mut pack = PackWriter::create(&path).expect("room");
            let id = ContentId::new(ContentForm::File, &[number; 16]);
            pack.add(id, &[number]).expect("room");
            texts.publish(pack, place).expect("stored");
        }
        texts
    }

    #[test]
    fn i16_long_files_are_published_as_a_whole() {
        let home = tempfile::tempdir().expect("a folder");
        let text = "a line of a log\n".repeat(1 << 20);
        fs::write(home.path().join("long.log"), &text).expect("room");
        let root = search_engine::walk::RootDirectory::open(home.path()).expect("a folder");
        let hash = FileState::hash_of(text.as_bytes());
        let missing = |size| MissingText {
            key: "long.log".to_owned(),
            hash,
            size,
            id: content_id("long.log", &hash),
        };
        let size = text.len() as u64;
        let found = content(&missing(size), &root, None).expect("it is there");
        assert_eq!(found.len(), text.len());
        assert_eq!(
            content(&missing(size - 1), &root, None),
            None,
            "it has grown"
        );
        let path = home.path().join("pack");
        let mut pack = PackWriter::create(&path).expect("room");
        pack.add(missing(size).id, &found).expect("room");
        pack.finish().expect("room");
        let pack = TextPack::open(&path).expect("a pack");
        let kept = pack.content(&missing(size).id, size);
        assert!(kept.is_some_and(|kept| kept == text.as_bytes()));
    }

    /// A compaction ends at the first failure; the documents are not looked at again.
    #[test]
    fn i18_packs_that_cannot_be_made_fewer_stay() {
        let home = tempfile::tempdir().expect("a folder");
        let (unit, cache) = place(&home);
        let mut texts = publish_packs(3, (&unit, &cache));
        let opened = SourceIndex::open(&home.path().join("index"), IndexOptions::default());
        let (index, _) = opened.expect("the index opens");
        fs::remove_dir_all(cache.folder()).expect("it was there");
        let refused = texts.compact(&index.snapshot(), (&unit, &cache));
        assert!(
            matches!(refused, Err(SnapshotError::File { .. })),
            "{refused:?}"
        );
        assert_eq!((texts.files().count(), texts.known.len()), (3, 3));
    }
}
