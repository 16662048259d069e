//! Images that go from one storage to another.

use std::fs;
use std::time::Duration;

use scripted_peers::s3::S3Server;
use tempfile::TempDir;

use super::tests::{Host, bucket_place, by, files_below, folder_place};
use super::*;

fn migrate(from: &Host, to: &Host) -> MigratedImages {
    from.storage.migrate(&to.storage, &|_| {}).unwrap()
}

#[test]
fn i18_images_move_to_another_storage_with_their_names_and_what_is_shared() {
    let (folder, server) = (TempDir::new().unwrap(), S3Server::start());
    let (old, new) = (
        folder_place(folder.path()),
        bucket_place(&server.endpoint()),
    );
    let (from, to) = (Host::new(old.clone()), Host::new(new.clone()));
    let one = from.make("one", &[Some(1), None, Some(2), Some(1), Some(3)]);
    from.push("one");
    from.storage.store.point("alias", &one, false).unwrap();
    from.push("alias");
    let two = from.make("two", &[Some(1), Some(4), Some(2), None, Some(3)]);
    from.push("two");
    let done = migrate(&from, &to);
    assert_eq!(
        (done.images, done.sent_chunks, done.known_chunks),
        (2, 5, 3)
    );
    assert_eq!(done.faults, [] as [String; 0]);
    let fetched = Host::new(new);
    assert_eq!(fetched.pull("alias").unwrap().digest, one);
    assert_eq!(fetched.pull("two").unwrap().digest, two);
    // Once more: what was pushed meanwhile, and names that have moved.
    let third = from.make("one", &[Some(7), Some(2)]);
    from.push("one");
    let again = migrate(&from, &to);
    assert_eq!((again.images, again.sent_chunks), (3, 2));
    assert_eq!(fetched.pull("one").unwrap().digest, third);
    assert_eq!(
        to.storage.sweep(Duration::ZERO).unwrap(),
        0,
        "all is in use"
    );
    assert_eq!(
        Host::new(old).pull("two").unwrap().digest,
        two,
        "it stays here"
    );
}

#[test]
fn i18_a_damaged_image_is_named_and_the_others_are_moved() {
    let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let [from, to] = [&folders[0], &folders[1]].map(|at| Host::new(folder_place(at.path())));
    from.make("bad", &[Some(5), Some(6)]);
    from.push("bad");
    let chunk = files_below(&folders[0].path().join("images/chunks")).remove(0);
    let whole = fs::read(&chunk).unwrap();
    fs::write(&chunk, "else").unwrap();
    let good = from.make("good", &[Some(7)]);
    from.push("good");
    let done = migrate(&from, &to);
    assert_eq!((done.images, done.faults.len()), (1, 1));
    let name = chunk.file_name().unwrap().to_str().unwrap();
    assert!(
        done.faults[0].starts_with("bad ") && done.faults[0].contains(name),
        "{done:?}"
    );
    assert_eq!(to.pull("good").unwrap().digest, good);
    assert!(to.storage.index().unwrap().resolve(&by("bad")).is_none());
    // Mended, it goes on where it was; what has come to harm there is sent anew.
    fs::write(&chunk, whole).unwrap();
    let there = files_below(&folders[1].path().join("images/chunks"));
    for chunk in &there {
        fs::write(chunk, "else").unwrap();
    }
    let done = migrate(&from, &to);
    assert_eq!(
        (done.images, done.sent_chunks, done.known_chunks),
        (2, 2, 0)
    );
    to.pull("bad").unwrap();
}
