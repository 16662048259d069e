//! The store of images: what is kept, shared, noticed and mended.

use std::io::Read as _;

use http_clients::http::AddressPolicy;

use super::*;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

fn store(folder: &Path) -> ContainerImageStore {
    ContainerImageStore::new(&ImageSettings {
        folder: folder.to_owned(),
        registries: Vec::new(),
        addresses: AddressPolicy::default(),
    })
}

/// A layer with one file.
fn layer(text: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    builder
        .append_data(&mut header, "file", text.as_bytes())
        .unwrap();
    builder.into_inner().unwrap()
}

/// A layout of one image: each layer as it is, its media type, and as it is packed.
fn layout(folder: &Path, layers: &[(&[u8], &str, &[u8])]) {
    fs::create_dir_all(folder.join("blobs/sha256")).unwrap();
    let put = |bytes: &[u8]| {
        let digest = digest_of(bytes);
        fs::write(source::blob(folder, &digest), bytes).unwrap();
        (digest, bytes.len())
    };
    let ids: Vec<_> = layers.iter().map(|(tar, ..)| digest_of(tar)).collect();
    let config = serde_json::json!({"rootfs": {"type": "layers", "diff_ids": ids}});
    let (config, size) = put(config.to_string().as_bytes());
    let layers = layers.iter().map(|(_, packing, packed)| {
        let (digest, size) = put(packed);
        let media_type = format!("application/vnd.oci.image.layer.v1.{packing}");
        serde_json::json!({"mediaType": media_type, "digest": digest, "size": size})
    });
    let manifest = serde_json::json!({
        "config": {"mediaType": "c", "digest": config, "size": size},
        "layers": layers.collect::<Vec<_>>(),
    });
    let (digest, size) = put(manifest.to_string().as_bytes());
    let one = serde_json::json!({"mediaType": MANIFEST, "digest": digest, "size": size});
    let index = serde_json::json!({"manifests": [one]});
    fs::write(folder.join("index.json"), index.to_string()).unwrap();
    fs::write(
        folder.join("oci-layout"),
        r#"{"imageLayoutVersion":"1.0.0"}"#,
    )
    .unwrap();
}

fn name(text: &str) -> ImageReference {
    text.parse().unwrap()
}

fn blobs(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder.join("blobs/sha256")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn i17_layers_packed_by_zstd_in_several_frames_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let (from, at) = (folder.path().join("layout"), folder.path().join("store"));
    let tar = layer(&"many words ".repeat(1000));
    // As `zstd:chunked` does: frames one after the other, and one that readers skip.
    let (first, second) = tar.split_at(700);
    let mut packed = zstd::encode_all(first, 0).unwrap();
    packed.extend([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
    packed.extend(zstd::encode_all(second, 0).unwrap());
    layout(&from, &[(&tar, "tar+zstd", &packed)]);
    let added = store(&at).add_from(&name("x:1"), &from).unwrap();
    let stored = store(&at).stored(&added.image).unwrap();
    let file = File::open(store(&at).blob(&stored.layers[0].tar)).unwrap();
    let mut archive = tar::Archive::new(file);
    let mut text = String::new();
    let mut entry = archive.entries().unwrap().next().unwrap().unwrap();
    entry.read_to_string(&mut text).unwrap();
    assert_eq!(text, "many words ".repeat(1000));
    // What is packed otherwise is refused, with its name.
    layout(&from, &[(&tar, "tar+brotli", &packed)]);
    let error = store(&at).add_from(&name("x:1"), &from).unwrap_err();
    assert!(error.to_string().contains("tar+brotli"), "{error}");
}

#[test]
fn i17_a_plain_layer_that_is_not_what_its_digest_says_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (from, at) = (folder.path().join("layout"), folder.path().join("store"));
    let tar = layer("right");
    layout(&from, &[(&tar, "tar", &tar)]);
    fs::write(source::blob(&from, &digest_of(&tar)), layer("wrong")).unwrap();
    let error = store(&at).add_from(&name("x:1"), &from).unwrap_err();
    assert!(matches!(error, ImageStoreError::Digest { .. }), "{error}");
    assert!(store(&at).find(&name("x:1")).is_err());
}

#[test]
fn i17_an_image_under_two_names_is_kept_once_and_mended_by_adding_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let (from, at) = (folder.path().join("layout"), folder.path().join("store"));
    let tar = layer("text");
    layout(&from, &[(&tar, "tar", &tar)]);
    let (store, x, y) = (store(&at), name("x:1"), name("y:2"));
    let added = store.add_from(&x, &from).unwrap().image;
    let before = blobs(&at);
    assert_eq!(store.add_from(&y, &from).unwrap().image, added);
    assert_eq!(blobs(&at), before);
    // A layer that somebody changed is noticed, and no machine gets it.
    let stored = store.stored(&added).unwrap();
    let blob = store.blob(&stored.layers[0].tar);
    fs::write(&blob, layer("evil")).unwrap();
    let error = store
        .machine_images(std::slice::from_ref(&x))
        .err()
        .unwrap();
    assert!(error.contains(&stored.layers[0].tar), "{error}");
    assert!(store.verify().unwrap().iter().all(|(_, it)| it.is_some()));
    store.add_from(&y, &from).unwrap();
    assert!(store.machine_images(&[x]).is_ok());
    // A manifest of other layers is not what the lock names.
    fs::write(
        store.blob(&added.manifest),
        b"{\"config\":\"\",\"layers\":[]}",
    )
    .unwrap();
    assert!(store.machine_images(&[y]).is_err());
}

#[test]
fn i17_an_image_of_an_older_store_is_described_by_adding_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let (from, at) = (folder.path().join("layout"), folder.path().join("store"));
    let tar = layer("text");
    layout(&from, &[(&tar, "tar", &tar)]);
    let (store, x) = (store(&at), name("x:1"));
    let added = store.add_from(&x, &from).unwrap().image;
    let described = store.stored(&added).unwrap();
    let split = described.layers[0].split.clone().unwrap();
    assert_eq!(split.bytes, tar.len() as u64);
    // As an older version kept it.
    let mut older = described.clone();
    older.layers[0].split = None;
    let bytes = serde_json::to_vec(&older).unwrap();
    let locked = LockedImage {
        manifest: digest_of(&bytes),
        ..added
    };
    fs::write(store.blob(&locked.manifest), &bytes).unwrap();
    let mut lock = store.lock().unwrap();
    lock.set(&x, locked);
    store.write_lock(&lock).unwrap();
    assert!(store.machine_images(std::slice::from_ref(&x)).is_ok());
    assert!(store.verify().unwrap().iter().all(|(_, it)| it.is_none()));
    let again = store.add_from(&x, &from).unwrap().image;
    assert_eq!(store.stored(&again).unwrap(), described);
    // What describes a layer is checked as the layer is, and removed with it.
    fs::write(store.blob(&split.digest), b"evil").unwrap();
    assert!(store.machine_images(std::slice::from_ref(&x)).is_err());
    store.remove(&x).unwrap();
    assert_eq!(blobs(&at), BTreeSet::new());
}
