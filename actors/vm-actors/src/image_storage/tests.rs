//! Two hosts over one storage: a folder, and a real S3-compatible server.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use config_core::{ObjectKeys, ObjectPlace, ObjectSettings, Secret};
use scripted_peers::s3::{ACCESS_KEY, BUCKET, S3Server, SECRET_KEY};
use tempfile::TempDir;
use vm_core::image_manifest::CHUNK_BYTES;

use super::*;

const MIB: usize = 1 << 20;
const NEW: PushOptions = PushOptions { again: false };

/// A host: its folder of images, and the storage as it sees it.
pub(super) struct Host {
    folder: TempDir,
    pub(super) storage: ImageStorage,
}

impl Host {
    pub(super) fn new(place: ObjectPlace) -> Self {
        Self::with_free(place, 0)
    }

    fn with_free(place: ObjectPlace, keep_free: u64) -> Self {
        let folder = TempDir::new().unwrap();
        let store = ImageStore::open(&folder.path().join("images")).unwrap();
        let objects = ObjectSettings {
            place,
            local_bytes: 0,
            grace: Duration::ZERO,
            sweep_every: Duration::from_secs(3600),
        };
        let settings = ImageStorageSettings {
            objects,
            keep_free,
            memory: Some(folder.path().join("places")),
        };
        let storage = ImageStorage::open(settings, store).unwrap();
        Self { folder, storage }
    }

    /// An image of some chunks of a disk: `None` is a hole. Its digest.
    pub(super) fn make(&self, name: &str, chunks: &[Option<u8>]) -> String {
        let path = self.folder.path().join("made");
        let mut bytes = Vec::new();
        for chunk in chunks {
            let mut content = vec![0; CHUNK_BYTES as usize];
            if let Some(seed) = chunk {
                // Nothing that gets smaller, so that damage of any byte is damage.
                let mut hasher = blake3::Hasher::new();
                hasher.update(&[*seed]).finalize_xof().fill(&mut content);
            }
            bytes.extend(content);
        }
        // What makes it an ext4 file system, and an end within a chunk.
        bytes[1080..1082].copy_from_slice(&[0x53, 0xef]);
        bytes.truncate(bytes.len() - MIB);
        fs::write(&path, bytes).unwrap();
        let image = self.storage.store.import_disk(&path, &by(name), &|_| {});
        image.unwrap().digest.clone()
    }

    pub(super) fn push(&self, name: &str) -> PushedImage {
        self.storage.push(&by(name), NEW, &|_| {}).unwrap()
    }

    pub(super) fn pull(
        &self,
        name: &str,
    ) -> Result<Arc<vm_engine::image::Image>, ImageStorageError> {
        self.storage.pull(&by(name), &|_| {})
    }

    /// What lies in the folder of images, but for what is empty.
    fn files(&self) -> Vec<PathBuf> {
        files_below(&self.folder.path().join("images"))
    }
}

pub(super) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found
}

pub(super) fn by(name: &str) -> ImageRef {
    name.parse().unwrap()
}

pub(super) fn folder_place(folder: &Path) -> ObjectPlace {
    let url = format!("file://{}", folder.display());
    ObjectPlace::new(&url, None, None, false, None).unwrap()
}

pub(super) fn bucket_place(endpoint: &str) -> ObjectPlace {
    let keys = ObjectKeys {
        access: Secret::new(ACCESS_KEY.to_owned()),
        secret: Secret::new(SECRET_KEY.to_owned()),
        session: None,
    };
    let url = format!("s3://{BUCKET}/vms");
    ObjectPlace::new(&url, Some(endpoint), None, false, Some(keys)).unwrap()
}

/// What one host stores another one has, whatever the storage.
fn contract(place: &ObjectPlace) {
    let (a, b) = (Host::new(place.clone()), Host::new(place.clone()));
    let chunks = [Some(1), None, Some(2), Some(1), Some(3)];
    let digest = a.make("one", &chunks);
    assert!(
        b.pull("one")
            .unwrap_err()
            .to_string()
            .contains("no image one")
    );
    let pushed = a.push("one");
    // The first chunk has the mark of a file system, and so is another than the fourth one.
    assert_eq!((pushed.sent_chunks, pushed.known_chunks), (4, 0));
    let again = a.push("one");
    assert_eq!((again.sent_chunks, again.sent_bytes), (0, 0), "nothing new");
    // A name more is a pointer.
    a.storage
        .store
        .point("ubuntu-latest", &digest, false)
        .unwrap();
    assert_eq!(a.push("ubuntu-latest").sent_bytes, 0);
    // Another image sends what it does not share.
    a.make("two", &[Some(1), Some(4), Some(2), None, Some(3)]);
    let two = a.push("two");
    assert_eq!((two.sent_chunks, two.known_chunks), (1, 3));

    let fetched = b.pull("ubuntu-latest").unwrap();
    assert_eq!(fetched.digest, digest);
    let made = a.storage.store.resolve(&by("one")).unwrap();
    assert_eq!(
        fs::read(&fetched.disk).unwrap(),
        fs::read(made.disk.clone()).unwrap()
    );
    let stored = b.storage.store.list().unwrap();
    assert_eq!(stored[0].names, ["one", "ubuntu-latest"]);
    assert!(
        stored[0].stored_bytes <= fetched.virtual_bytes - CHUNK_BYTES,
        "the hole is one here, too"
    );
    let files = b.files();
    assert_eq!(
        files.len(),
        5,
        "a disk, its description, its mark and two names: {files:?}"
    );
    let by_digest = b.pull(&format!("blake3:{digest}")).unwrap();
    assert_eq!(by_digest, fetched);

    // Names move, and images go.
    assert_eq!(a.storage.remove(&by("one")).unwrap(), None);
    assert_eq!(a.storage.sweep(Duration::ZERO).unwrap(), 0, "all is in use");
    let gone = a.storage.remove(&by("ubuntu-latest")).unwrap();
    assert_eq!(gone, Some(digest));
    assert_eq!(
        a.storage.sweep(Duration::from_secs(3600)).unwrap(),
        0,
        "the grace"
    );
    // Its manifest, and the chunk that the other image does not share.
    assert_eq!(b.storage.sweep(Duration::ZERO).unwrap(), 2);
    assert!(b.storage.index().unwrap().condemned.is_empty());
    b.pull("two").unwrap();
    assert_eq!(a.storage.sweep(Duration::ZERO).unwrap(), 0);
}

#[test]
fn i18_images_in_a_folder_keep_the_contract() {
    let folder = TempDir::new().unwrap();
    contract(&folder_place(&folder.path().join("made")));
}

#[test]
fn i18_images_in_a_bucket_keep_the_contract() {
    let server = S3Server::start();
    contract(&bucket_place(&server.endpoint()));
}

/// A storage that is a folder with one image of four chunks, and a host that has none.
fn stored() -> (TempDir, Host, Host, String) {
    let folder = TempDir::new().unwrap();
    let place = folder_place(folder.path());
    let (a, b) = (Host::new(place.clone()), Host::new(place));
    let digest = a.make("one", &[Some(1), Some(2), None, Some(3), Some(4)]);
    a.push("one");
    (folder, a, b, digest)
}

#[test]
fn i18_what_is_damaged_is_refused_by_name_and_no_image_is_seen() {
    let (folder, a, b, digest) = stored();
    let place = folder_place(folder.path());
    for part in ["chunks", "manifests"] {
        for path in files_below(&folder.path().join("images").join(part)) {
            let whole = fs::read(&path).unwrap();
            let mut damaged = whole.clone();
            let middle = damaged.len() / 2;
            damaged[middle] ^= 1;
            for wrong in [&damaged[..], &whole[..middle], b""] {
                fs::write(&path, wrong).unwrap();
                let b = Host::new(place.clone());
                let refused = b.pull("one").unwrap_err().to_string();
                let name = path.file_name().unwrap().to_str().unwrap();
                assert!(
                    refused.contains(name) && refused.contains("damaged"),
                    "{refused}"
                );
                assert_eq!(b.storage.store.list().unwrap(), []);
                assert!(!b.storage.store.contains(&digest));
                assert!(b.storage.store.resolve(&by("one")).is_err());
            }
            fs::write(&path, whole).unwrap();
        }
    }
    // What does not come at all is missed by name as well.
    let chunk = files_below(&folder.path().join("images/chunks")).remove(0);
    fs::remove_file(&chunk).unwrap();
    let refused = b.pull("one").unwrap_err().to_string();
    assert!(
        refused.contains(chunk.file_name().unwrap().to_str().unwrap()),
        "{refused}"
    );
    // It is said how that is mended.
    let nothing = a.push("one");
    assert_eq!(nothing.sent_chunks, 0);
    let mended = a
        .storage
        .push(&by("one"), PushOptions { again: true }, &|_| {});
    assert_eq!(mended.unwrap().sent_chunks, 4);
    b.pull("one").unwrap();
    // And an index that is none.
    fs::write(folder.path().join("images/index.json"), "{").unwrap();
    let refused = b.pull("one").unwrap_err().to_string();
    assert!(
        refused.contains("images/index.json is damaged"),
        "{refused}"
    );
}

#[test]
fn i18_a_disk_that_was_changed_is_not_pushed() {
    let folder = TempDir::new().unwrap();
    let a = Host::new(folder_place(folder.path()));
    let digest = a.make("one", &[Some(1)]);
    let disk = a.storage.store.resolve(&by("one")).unwrap().disk.clone();
    fs::remove_file(&disk).unwrap();
    fs::write(&disk, vec![7; 4096]).unwrap();
    let refused = a.storage.push(&by("one"), NEW, &|_| {}).unwrap_err();
    assert!(refused.to_string().contains(&digest), "{refused}");
    assert_eq!(
        files_below(&folder.path().join("images")),
        [] as [PathBuf; 0]
    );
}

#[test]
fn i18_a_fetch_that_broke_off_goes_on_where_it_was() {
    let (folder, _a, b, digest) = stored();
    // One of its chunks is away: the others come.
    let chunk = files_below(&folder.path().join("images/chunks")).remove(0);
    let away = folder.path().join("away");
    fs::rename(&chunk, &away).unwrap();
    b.pull("one").unwrap_err();
    assert!(!b.storage.store.contains(&digest));
    let partial = b
        .folder
        .path()
        .join("images/partial")
        .join(&digest)
        .join("disk");
    assert!(partial.is_file());
    // Another process, which has nothing but the folder; a byte of what had come is wrong now.
    let again = ImageStore::open(&b.folder.path().join("images")).unwrap();
    let storage = ImageStorage::open(b.storage.settings, again).unwrap();
    fs::rename(&away, &chunk).unwrap();
    let seen = Mutex::new(Vec::new());
    storage
        .pull(&by("one"), &|at| seen.lock().push(at))
        .unwrap();
    let seen = seen.into_inner();
    let total = 4 * CHUNK_BYTES - MIB as u64;
    assert_eq!(seen.last(), Some(&TransferProgress { done: total, total }));
    assert!(seen[0].done > 0 && seen.len() < 5, "{seen:?}");
    assert!(!partial.exists());
}

#[test]
fn i18_a_push_that_broke_off_sends_no_chunk_twice() {
    let (folder, a, b, digest) = stored();
    // As it was when all but one chunk had come: neither manifest nor index.
    fs::remove_file(folder.path().join("images/index.json")).unwrap();
    fs::remove_dir_all(folder.path().join("images/manifests")).unwrap();
    let chunk = files_below(&folder.path().join("images/chunks")).remove(0);
    fs::remove_file(&chunk).unwrap();
    assert!(b.pull("one").is_err(), "nothing is seen of it");
    let pushed = a.push("one");
    assert_eq!((pushed.sent_chunks, pushed.known_chunks), (1, 3));
    assert_eq!(b.pull("one").unwrap().digest, digest);
}

#[test]
fn i18_a_sweep_beside_a_push_takes_nothing_of_it() {
    let (folder, a, b, _) = stored();
    a.storage.remove(&by("one")).unwrap();
    // The push knows the chunks; before it has its manifest in the index they are swept.
    let swept = Mutex::new(None);
    let pushed = a.storage.push(&by("one"), NEW, &|at| {
        if at.done == at.total {
            swept
                .lock()
                .get_or_insert_with(|| b.storage.sweep(Duration::ZERO));
        }
    });
    let swept = swept.into_inner().expect("it took place").unwrap();
    assert_eq!(swept, 5, "a manifest and four chunks");
    let pushed = pushed.unwrap();
    assert_eq!(
        (pushed.sent_chunks, pushed.known_chunks),
        (4, 0),
        "sent anew"
    );
    b.pull("one").unwrap();
    assert_eq!(files_below(&folder.path().join("images/chunks")).len(), 4);
}

#[test]
fn i18_a_sweep_that_was_killed_is_finished_and_a_damaged_manifest_stops_it() {
    let (folder, a, _b, _) = stored();
    let chunks = || files_below(&folder.path().join("images/chunks"));
    // Condemned, and not removed yet.
    a.storage.remove(&by("one")).unwrap();
    let index = a.storage.index().unwrap();
    let condemned = a.storage.unused(&index, Duration::ZERO).unwrap();
    a.storage
        .change_index(|index| {
            index.collections += 1;
            index.condemned = condemned.clone();
            Ok(Some(()))
        })
        .unwrap();
    // A push does not use them.
    assert_eq!(a.push("one").known_chunks, 0);
    assert_eq!(chunks().len(), 8);
    assert_eq!(a.storage.sweep(Duration::from_secs(3600)).unwrap(), 5);
    assert_eq!(chunks().len(), 4);
    let manifest = files_below(&folder.path().join("images/manifests")).remove(0);
    fs::write(&manifest, "{}").unwrap();
    let refused = a.storage.sweep(Duration::ZERO).unwrap_err().to_string();
    assert!(refused.contains("images/manifests/"), "{refused}");
    assert_eq!(chunks().len(), 4, "nobody knows what is in use");
}

#[test]
fn i18_an_image_that_leaves_too_little_room_is_not_fetched() {
    let (folder, _a, _b, digest) = stored();
    let full = Host::with_free(folder_place(folder.path()), u64::MAX >> 1);
    let refused = full.pull("one").unwrap_err();
    assert!(
        matches!(
            refused,
            ImageStorageError::Image(vm_engine::image::ImageError::NoRoom { .. })
        ),
        "{refused}"
    );
    let text = refused.to_string();
    assert!(
        text.contains("15 MiB are to be written") && text.contains("keep_free"),
        "{text}"
    );
    assert!(!full.storage.store.contains(&digest));
}

#[test]
fn i18_a_name_that_was_given_here_stays_and_one_that_was_fetched_follows() {
    let (_folder, a, b, first) = stored();
    let own = b.make("mine", &[Some(9)]);
    a.storage.store.point("mine", &first, false).unwrap();
    a.push("mine");
    b.pull("one").unwrap();
    assert_eq!(b.storage.store.local_name("mine").unwrap().digest, own);
    assert!(b.storage.store.local_name("one").unwrap().follows);
    let second = a.make("one", &[Some(8)]);
    a.push("one");
    assert_eq!(b.pull("one").unwrap().digest, second);
    assert_eq!(b.storage.store.local_name("one").unwrap().digest, second);
}

#[test]
fn i18_a_share_of_images_that_is_not_mounted_is_no_folder_to_push_into() {
    let share = TempDir::new().unwrap();
    let (mounted, elsewhere) = (share.path().join("share"), share.path().join("mounted"));
    let host = Host::new(ObjectPlace::Folder(mounted.clone()));
    host.make("full", &[Some(1), None]);
    host.push("full");
    fs::rename(&mounted, &elsewhere).unwrap();
    fs::create_dir(&mounted).unwrap();
    let refused = host.storage.push(&by("full"), NEW, &|_| {}).unwrap_err();
    let shown = refused.to_string();
    assert!(shown.contains("mount it, where it is a share"), "{shown}");
    assert!(host.storage.index().is_err(), "it is not taken for empty");
    assert_eq!(fs::read_dir(&mounted).unwrap().count(), 0);
    fs::remove_dir(&mounted).unwrap();
    fs::rename(&elsewhere, &mounted).unwrap();
    assert_eq!(host.storage.index().unwrap().images.len(), 1);
}

#[test]
fn i18_a_lost_index_removes_no_image_and_a_push_makes_it_anew() {
    let (folder, a, b, digest) = stored();
    let other = a.make("two", &[Some(7)]);
    a.push("two");
    let stored = files_below(&folder.path().join("images/chunks")).len();
    // As a rule of the bucket that removes what is old would leave it.
    fs::remove_file(folder.path().join("images/index.json")).unwrap();
    for host in [&a, &b] {
        let refused = host.storage.sweep(Duration::ZERO).unwrap_err();
        let is_lost = matches!(refused, ImageStorageError::IndexLost { .. });
        assert!(is_lost, "{refused}");
    }
    assert_eq!(
        files_below(&folder.path().join("images/chunks")).len(),
        stored
    );
    assert_eq!(a.push("two").sent_chunks, 0);
    let index = b.storage.index().unwrap();
    assert_eq!(index.names_of(&other), ["two"]);
    let swept = b.storage.sweep(Duration::ZERO).unwrap();
    assert_eq!(swept, 1, "what the image that was pushed had before");
    let by_digest = b.pull(&format!("blake3:{digest}")).unwrap();
    assert_eq!(by_digest.digest, digest);
}

#[test]
fn i18_what_an_image_had_stays_for_the_grace_after_it_was_removed() {
    const DAY: Duration = Duration::from_secs(86_400);
    let (folder, a, b, _) = stored();
    let all = || files_below(&folder.path().join("images"));
    let age = |by: Duration| {
        for path in all() {
            let file = fs::File::options().append(true).open(path).unwrap();
            let stored = file.metadata().unwrap().modified().unwrap();
            file.set_modified(stored - by).unwrap();
        }
    };
    // It was pushed long ago.
    age(DAY * 3);
    let pushed = all().len();
    a.storage.remove(&by("one")).unwrap();
    assert_eq!(b.storage.sweep(DAY).unwrap(), 0, "a host may be pulling it");
    assert_eq!(all().len(), pushed + 1);
    age(DAY);
    assert_eq!(
        b.storage.sweep(DAY).unwrap(),
        5,
        "a manifest and four chunks"
    );
    assert_eq!(all().len(), 2, "the index and its lock");
}
