//! Layers and layouts, and what they must not do.

use std::io::Write as _;

use super::*;

fn layer(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        if let Some(target) = content.strip_prefix("-> ") {
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_size(0);
            tar.append_link(&mut header, name, target).unwrap();
        } else {
            header.set_size(content.len() as u64);
            tar.append_data(&mut header, name, content.as_bytes())
                .unwrap();
        }
    }
    tar.into_inner().unwrap()
}

fn put(root: &Path, entries: &[(&str, &str)]) -> io::Result<()> {
    apply(root, layer(entries).as_slice(), &mut 1_000_000)
}

#[test]
fn layers_hide_and_replace_what_is_below() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    put(
        root,
        &[
            ("a/one", "1"),
            ("a/two", "2"),
            ("b/three", "3"),
            ("c", "file"),
        ],
    )
    .unwrap();
    put(
        root,
        &[
            ("a/.wh.one", ""),
            ("b/.wh..wh..opq", ""),
            ("b/four", "4"),
            ("c/in", "folder now"),
        ],
    )
    .unwrap_err();
    put(
        root,
        &[
            ("a/.wh.one", ""),
            ("b/.wh..wh..opq", ""),
            ("b/four", "4"),
            (".wh.c", ""),
            ("c/in", "5"),
        ],
    )
    .unwrap();
    let read = |name: &str| fs::read_to_string(root.join(name)).ok();
    assert_eq!((read("a/one"), read("a/two").as_deref()), (None, Some("2")));
    assert_eq!(
        (read("b/three"), read("b/four").as_deref()),
        (None, Some("4"))
    );
    assert_eq!(read("c/in").as_deref(), Some("5"));
}

#[test]
fn a_layer_cannot_reach_out_of_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let outside = folder.path().join("outside");
    fs::create_dir(&root).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "kept").unwrap();
    put(&root, &[("out", "-> ../outside")]).unwrap();
    for entries in [
        [("out/new", "x")],
        [("out/.wh.kept", "")],
        [("out/.wh..wh..opq", "")],
    ] {
        assert!(put(&root, &entries).is_err(), "{entries:?}");
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert!(
        apply(
            &root,
            layer(&[("big", &"x".repeat(100))]).as_slice(),
            &mut 99
        )
        .is_err()
    );
}

#[test]
fn a_layout_leads_to_the_layers_of_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = folder.path().join("blobs/sha256");
    fs::create_dir_all(&blobs).unwrap();
    let digest = |letter: &str| format!("sha256:{}", letter.repeat(64));
    let write = |letter: &str, text: &str| fs::write(blobs.join(letter.repeat(64)), text).unwrap();
    let index = |manifest: &str| {
        let mut file = File::create(folder.path().join("index.json")).unwrap();
        write!(file, r#"{{"manifests":[{manifest}]}}"#).unwrap();
    };
    let platform = |name: &str, letter: &str| {
        format!(
            r#"{{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"{}","platform":{{"architecture":"{name}","os":"linux"}}}}"#,
            digest(letter)
        )
    };
    index(&format!(
        "{},{}",
        platform("arm64", "a"),
        platform("amd64", "b")
    ));
    write(
        "b",
        &format!(
            r#"{{"layers":[{{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"{}"}}]}}"#,
            digest("c")
        ),
    );
    let layout = Layout(folder.path());
    let layers = layout.layers().unwrap();
    assert_eq!(layers[0].digest, digest("c"));
    // However it is packed, it is read; what is not known is named.
    let tar = layer(&[("file", "text")]);
    let packed = zstd::encode_all(tar.as_slice(), 0).unwrap();
    fs::write(blobs.join("c".repeat(64)), packed).unwrap();
    let opened = |packing: &str| {
        let media_type = format!("application/vnd.oci.image.layer.v1.{packing}");
        layout.open_layer(&Descriptor {
            media_type,
            ..layers[0].clone()
        })
    };
    let mut read = Vec::new();
    let mut reader = opened("tar+zstd").unwrap();
    reader.read_to_end(&mut read).unwrap();
    assert_eq!(read, tar);
    let error = opened("tar+brotli").err().unwrap();
    assert!(error.to_string().contains("gzip, zstd"), "{error}");
    index(&platform("arm64", "a"));
    assert!(
        layout
            .layers()
            .unwrap_err()
            .to_string()
            .contains("linux on amd64")
    );
    for wrong in ["sha256:../../etc/passwd", "sha256:00", "md5:00", ""] {
        assert!(layout.blob(wrong).is_err(), "{wrong}");
    }
}
