//! Managers that fetch images because they are asked for: two hosts over one storage.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use http_clients::vmm::{ExecState, ImageView, Isolation, NewVm, VmmClient, VmmError};
use scripted_peers::Program;
use scripted_peers::s3::{FaultProxy, S3Server, Weather};

use crate::machines::{Home, SETTINGS, agent, client, run};
use crate::manager::DEADLINE;
use crate::shared_images::{SharedHost, chunks_of};

/// A sandbox looks at no disk, but its image has to be there.
const SANDBOX: &str = "driver = \"namespace-sandbox\"\n[capacity]\nvcpus = 16\nvms = 16\n";

/// A manager of a host whose sandboxes can be had.
fn start(host: &SharedHost, agent: &PathBuf) -> (Program, VmmClient) {
    let mut command = host.command();
    command.arg("--agent").arg(agent).arg("serve");
    let manager = Program::start(command);
    manager.wait_for("vm.prepared");
    let client = client(host.command(), &manager);
    (manager, client)
}

fn of(image: &str) -> NewVm {
    NewVm {
        image: Some(image.parse().expect("an image")),
        isolation_min: Some(Isolation::NamespaceSandbox),
        ..NewVm::default()
    }
}

async fn images(client: &VmmClient) -> Vec<ImageView> {
    client.images().await.expect("a list")
}

/// Waits until the manager lists an image as this one.
async fn listed(client: &VmmClient, name: &str, digest: &str) -> ImageView {
    let began = Instant::now();
    loop {
        let images = images(client).await.into_iter();
        let is_meant =
            |image: &ImageView| image.digest == digest && image.names.iter().any(|it| it == name);
        if let Some(image) = images.into_iter().find(is_meant) {
            return image;
        }
        assert!(began.elapsed() < DEADLINE, "{name} is not listed");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[test]
fn i18_a_manager_without_images_fetches_what_it_is_asked_for() {
    let server = S3Server::start();
    let (maker, other) = (
        SharedHost::new(&server, ""),
        SharedHost::new(&server, SANDBOX),
    );
    let first = maker.import("tools", 12);
    maker.done(&["push", "tools"]);
    let agent = agent();
    let (mut manager, client) = start(&other, &agent);
    actix_rt::System::new().block_on(async {
        let known = listed(&client, "tools", &first).await;
        assert!(!known.here);
        // Many ask at once, by name and by digest.
        let by_digest = of(&format!("blake3:{first}"));
        let asked = (0..6).map(|number| {
            let order = if number % 2 == 0 {
                of("tools")
            } else {
                by_digest.clone()
            };
            let client = &client;
            async move {
                client
                    .create(&format!("job-{number}"), &order, DEADLINE)
                    .await
            }
        });
        let vms = join_all(asked).await.into_iter();
        let vms: Vec<String> = vms.map(|vm| vm.expect("a sandbox").id).collect();
        let told = run(&client, &vms[0], "echo in a sandbox").await;
        assert_eq!(
            told,
            ("in a sandbox\n".to_owned(), ExecState::Exited, Some(0))
        );
        let shared = client.health().await.expect("it answers").images;
        let shared = shared.expect("images are shared");
        assert_eq!(
            (shared.here, shared.fetchable, shared.trouble),
            (1, 0, None)
        );
        assert!(shared.fetching.is_empty());
        for vm in &vms {
            client.delete(vm).await.expect("released");
        }
        // The name moves: its image is another one now.
        let second = maker.import("tools", 3);
        maker.done(&["push", "tools"]);
        let moved = listed(&client, "tools", &second).await;
        assert!(!moved.here);
        client
            .create("moved", &of("tools"), DEADLINE)
            .await
            .expect("a sandbox");
        assert!(listed(&client, "tools", &second).await.here);
        let former = images(&client)
            .await
            .into_iter()
            .find(|image| image.digest == first);
        let former = former.expect("it stays");
        assert!(former.here && former.names.is_empty(), "{former:?}");
        let unknown = client.create("unknown", &of("none"), DEADLINE).await;
        let unknown = unknown.expect_err("nobody has it");
        assert!(matches!(unknown, VmmError::Refused(_)), "{unknown}");
        assert!(
            unknown.to_string().contains("there are: tools"),
            "{unknown}"
        );
    });
    let (code, log) = manager.end();
    assert_eq!(code, Some(0), "{log}");
    for event in ["image.fetch_started", "image.fetched"] {
        assert_eq!(log.matches(event).count(), 2, "one for each image: {log}");
    }
}

#[test]
fn i18_what_cannot_be_fetched_is_said_and_what_is_here_goes_on() {
    let server = S3Server::start();
    let proxy = FaultProxy::start(server.port());
    let maker = SharedHost::new(&server, "");
    let other = SharedHost::at(&proxy.endpoint(), SANDBOX);
    maker.import("good", 2);
    maker.done(&["push", "good"]);
    let before = chunks_of(&server);
    let bad = maker.import("bad", 2);
    maker.done(&["push", "bad"]);
    let chunk = chunks_of(&server)
        .into_iter()
        .find(|chunk| !before.contains(chunk));
    let chunk = chunk.expect("it has some");
    let mut bytes = std::fs::read(&chunk).expect("readable");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&chunk, bytes).expect("writable");
    let agent = agent();
    let (mut manager, client) = start(&other, &agent);
    actix_rt::System::new().block_on(async {
        client
            .create("good", &of("good"), DEADLINE)
            .await
            .expect("a sandbox");
        let damaged = client.create("bad", &of("bad"), DEADLINE).await;
        let damaged = damaged.expect_err("it is damaged");
        assert!(
            matches!(damaged, VmmError::Failed(_)) && damaged.is_temporary(),
            "{damaged}"
        );
        let name = chunk
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a name");
        assert!(damaged.to_string().contains(&name[..64]), "{damaged}");
        let listed = images(&client)
            .await
            .into_iter()
            .find(|image| image.digest == bad);
        assert!(listed.is_some_and(|image| !image.here));
        // Away: what is not known cannot be had, what is here can.
        proxy.set(Weather::Silent);
        let away = client.create("away", &of("later"), DEADLINE).await;
        let away = away.expect_err("nobody says whether there is one");
        assert!(matches!(away, VmmError::Failed(_)), "{away}");
        assert!(
            away.to_string().contains("does not answer within 5s"),
            "{away}"
        );
        client
            .create("again", &of("good"), DEADLINE)
            .await
            .expect("a sandbox");
        let shared = client.health().await.expect("it answers").images;
        let trouble = shared.expect("images are shared").trouble;
        assert!(trouble.is_some_and(|it| it.contains("does not answer")));
        proxy.set(Weather::Fair);
        maker.import("later", 1);
        maker.done(&["push", "later"]);
        client
            .create("back", &of("later"), DEADLINE)
            .await
            .expect("a sandbox");
    });
    manager.wait_for("image.fetch_failed");
    manager.wait_for("image.storage_failing");
    manager.wait_for("image.storage_recovered");
    assert_eq!(manager.end().0, Some(0));
}

#[test]
fn i18_a_vm_boots_of_an_image_that_was_pulled_by_its_hash() {
    let (maker, other) = (Home::new(), Home::without_images());
    let storage = tempfile::tempdir().expect("a folder");
    let settings = format!(
        "{SETTINGS}[objects]\nurl = \"file://{}\"\n",
        storage.path().display()
    );
    let mut first = maker.start(&settings);
    let pushed = maker.done(&["image", "push", "default"]);
    let digest = pushed.split("blake3:").nth(1).expect("its digest");
    let digest = digest[..64].to_owned();
    // Its canary boots what it has fetched; it makes no image of its own.
    let mut second = other.start(&settings);
    let client = other.client(&second);
    actix_rt::System::new().block_on(async {
        let order = NewVm {
            image: format!("blake3:{digest}").parse().ok(),
            ..NewVm::default()
        };
        let vm = client
            .create("job", &order, DEADLINE)
            .await
            .expect("a VM")
            .id;
        let told = run(&client, &vm, "git --version").await;
        assert!(told.0.starts_with("git version"), "{told:?}");
        assert_eq!((told.1, told.2), (ExecState::Exited, Some(0)));
        client.delete(&vm).await.expect("released");
        let images = images(&client).await;
        assert_eq!(images.len(), 1);
        assert!(
            images[0].here && images[0].names == ["default"],
            "{images:?}"
        );
    });
    let (code, log) = second.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("fetching the image default"), "{log}");
    assert!(!log.contains("packages and what they need"), "{log}");
    assert_eq!(first.end().0, Some(0));
}

/// Says that the fetched images of this host were used an hour ago; how many they are.
fn aged(folder: &std::path::Path) -> usize {
    let mut found = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found += aged(&path);
        } else if path.ends_with("fetched") {
            let mark = std::fs::File::options().append(true).open(&path);
            let hour = Duration::from_secs(3600);
            let then = std::time::SystemTime::now() - hour;
            mark.and_then(|mark| mark.set_modified(then))
                .expect("it is ours");
            found += 1;
        }
    }
    found
}

#[test]
fn i18_fetched_images_that_nobody_uses_make_room_and_come_again() {
    let server = S3Server::start();
    let (maker, other) = (
        SharedHost::new(&server, ""),
        SharedHost::new(&server, SANDBOX),
    );
    let settings = other.home.path().join("vm-manager.toml");
    let text = std::fs::read_to_string(&settings).expect("it was written");
    std::fs::write(settings, text + "local = \"12MiB\"\n").expect("it can be written");
    let [used, idle, third] = ["used", "idle", "third"].map(|name| {
        let digest = maker.import(name, 2);
        maker.done(&["push", name]);
        digest
    });
    let (mut manager, client) = start(&other, &agent());
    let gone = async |name: &str, digest: &str| {
        let began = Instant::now();
        while listed(&client, name, digest).await.here {
            assert!(began.elapsed() < DEADLINE, "{name} stays");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    actix_rt::System::new().block_on(async {
        let create = async |key: &str, image: &str| {
            let vm = client.create(key, &of(image), DEADLINE).await;
            vm.expect("a sandbox").id
        };
        let standing = create("a", "used").await;
        let over = create("b", "idle").await;
        client.delete(&over).await.expect("released");
        let shared = client.health().await.expect("it answers").images;
        let shared = shared.expect("images are shared");
        assert_eq!(shared.most_bytes, 12 << 20);
        assert!(
            shared.fetched_bytes > 15 << 20,
            "both were used lately: {shared:?}"
        );
        assert_eq!(aged(other.home.path()), 2);
        gone("idle", &idle).await;
        assert!(listed(&client, "used", &used).await.here, "a VM is of it");
        // It is fetched like any other image of the storage.
        let again = create("c", "idle").await;
        client.delete(&again).await.expect("released");
        client.delete(&standing).await.expect("released");
        assert_eq!(aged(other.home.path()), 2);
        let last = create("d", "third").await;
        client.delete(&last).await.expect("released");
        gone("used", &used).await;
        assert!(listed(&client, "third", &third).await.here);
    });
    let (code, log) = manager.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.matches("image.removed").count() >= 2, "{log}");
}
