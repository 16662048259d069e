//! The release that is meant when none is named.

use super::{Stage, serve, stdout_of};

#[test]
fn y10_the_latest_release_is_found_wherever_a_release_folder_is_served() {
    let stage = Stage::new();
    let certificate = stage.folder.path().join("server.pem");
    // As some editors and servers leave it.
    std::fs::write(stage.releases().join("latest"), "v1.1.0 \r\n").unwrap();
    // Below a name that a forge's page has too.
    let root = stage.folder.path().join("site");
    std::fs::create_dir(&root).unwrap();
    std::fs::rename(stage.releases(), root.join("releases")).unwrap();
    let address = serve(root, &certificate, None);
    for place in ["/releases", "/releases/"] {
        let mut command = stage.command(&format!("{address}{place}"), &[]);
        let output = command
            .env("CURL_CA_BUNDLE", &certificate)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stdout_of(&output));
        let installed = Stage::installed(&stage.bin());
        assert_eq!(installed["search-server"], "search-server v1.1.0");
    }
}

#[test]
fn y10_the_page_of_a_forge_s_releases_is_taken_as_the_address_of_its_files() {
    let stage = Stage::new();
    let certificate = stage.folder.path().join("server.pem");
    let root = stage.folder.path().join("forge");
    let releases = root.join("me/orrery/releases");
    std::fs::create_dir_all(releases.join("tag")).unwrap();
    std::fs::rename(stage.releases(), releases.join("download")).unwrap();
    std::fs::write(releases.join("tag/v1.1.0"), "<!DOCTYPE html>\n").unwrap();
    let moved = releases.join("latest.moved");
    std::fs::write(&moved, "/me/orrery/releases/tag/v1.1.0").unwrap();
    let address = serve(root, &certificate, None);
    let mut command = stage.command(&format!("{address}/me/orrery/releases"), &[]);
    let output = command
        .env("CURL_CA_BUNDLE", &certificate)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stdout_of(&output));
    assert_eq!(
        Stage::installed(&stage.bin())["service-agent"],
        "service-agent v1.1.0"
    );
}

#[test]
fn y10_what_is_no_release_is_stdout_of_with_the_place_it_was_found_at() {
    let stage = Stage::new();
    std::fs::write(stage.releases().join("latest"), "<!DOCTYPE html>\n").unwrap();
    let output = stage.install(&[]);
    assert_eq!(output.status.code(), Some(1));
    let stdout_of = stdout_of(&output);
    assert!(
        stdout_of.contains("/latest leads to") && stdout_of.contains("--version"),
        "{stdout_of}"
    );
}
