//! The rows about files that every process reads, and what a data folder is called in them.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::Path;

use serde::{Deserialize, Serialize};
use store::{JsonRow, ReadRows, StoreError, Table};

/// By what it is, whose, and which.
pub type FileKey = (String, String, String);

/// Where a product has its rows about files.
#[derive(Debug, Clone, Copy)]
pub struct FileTables {
    pub(crate) files: Table<FileKey, JsonRow<SharedFile>>,
    /// The object of a digest.
    pub(crate) contents: Table<String, JsonRow<String>>,
    /// What the storage's place is called by, so that no other installation takes it.
    pub(crate) installation: Table<u8, JsonRow<String>>,
}

impl FileTables {
    /// The tables of these names: of files, of the objects of digests, of the installation.
    #[must_use]
    pub const fn new(
        files: &'static str,
        contents: &'static str,
        installation: &'static str,
    ) -> Self {
        Self {
            files: Table::new(files),
            contents: Table::new(contents),
            installation: Table::new(installation),
        }
    }
}

/// A file that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedFile {
    /// The object's name.
    pub(crate) object: String,
    /// The BLAKE3 digest of its bytes.
    pub(crate) digest: String,
    /// How many they are.
    pub bytes: u64,
    /// What its owner says of it.
    pub about: String,
}

/// The name of a data folder, made where it has none.
pub(crate) fn writer_id(data: &Path) -> std::io::Result<String> {
    let name = data.join("writer-id");
    if let Ok(writer) = std::fs::read_to_string(&name) {
        return Ok(writer);
    }
    let writer = uuid::Uuid::new_v4().to_string();
    std::fs::write(&name, &writer)?;
    Ok(writer)
}

impl SharedFile {
    /// Whether a file begins with exactly these bytes.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn is_begin_of(&self, file: &Path) -> std::io::Result<bool> {
        let mut hasher = blake3::Hasher::new();
        let read = File::open(file)?.take(self.bytes);
        hasher.update_reader(read)?;
        Ok(hasher.finalize().to_hex().as_str() == self.digest)
    }
}

/// The digest in an object's name.
pub(crate) fn digest_in_name(object: &str) -> Option<String> {
    let name = object.rsplit('/').next()?;
    let (digest, _) = name.split_once('-')?;
    Some(digest.to_owned())
}

/// All rows about files.
pub(crate) fn all_files(
    rows: &mut impl ReadRows,
    tables: &FileTables,
) -> Result<Vec<(FileKey, SharedFile)>, StoreError> {
    let mut all = Vec::new();
    rows.for_each(&tables.files, .., |key, row| {
        all.extend(row.value().map(|file| (key, file)));
        ControlFlow::Continue(())
    })?;
    Ok(all)
}

/// The objects that rows name, and those that a row may name again for bytes that come once more,
/// each with its digest and with the files that it is.
pub(crate) fn named_objects(
    rows: &mut impl ReadRows,
    tables: &FileTables,
) -> Result<BTreeMap<String, (String, Vec<String>)>, StoreError> {
    let mut named = BTreeMap::<_, (String, Vec<String>)>::new();
    for (key, file) in all_files(rows, tables)? {
        let shown = describe(&key, &file);
        let entry = named.entry(file.object);
        let (_, files) = entry.or_insert_with(|| (file.digest, Vec::new()));
        files.push(shown);
    }
    rows.for_each(&tables.contents, .., |digest, object| {
        if let Some(object) = object.value() {
            named.entry(object).or_insert_with(|| (digest, Vec::new()));
        }
        ControlFlow::Continue(())
    })?;
    Ok(named)
}

/// A file, as people are told: what it is, whose, and what its owner says of it.
pub(crate) fn describe((kind, owner, name): &FileKey, file: &SharedFile) -> String {
    let about = serde_json::from_str::<serde_json::Value>(&file.about).ok();
    let said = about.as_ref().and_then(|about| about["name"].as_str());
    let name = said.unwrap_or(name);
    format!("{kind} of {owner}: {name}")
}

/// Those of these objects that no row names.
pub(crate) fn without_row(
    rows: &mut impl ReadRows,
    tables: &FileTables,
    mut objects: Vec<String>,
) -> Result<Vec<String>, StoreError> {
    let mut named = HashSet::new();
    rows.for_each(&tables.files, .., |_, row| {
        named.extend(row.value().map(|file| file.object));
        ControlFlow::Continue(())
    })?;
    objects.retain(|object| !named.contains(object));
    Ok(objects)
}
