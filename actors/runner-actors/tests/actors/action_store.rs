//! The store of actions with real git: what is added, moved, refused, and found to be changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use runner_actors::{ActionFault, ActionStore, RunnerSettings};
use runner_core::actions::{ActionReference, ActionSource as _, LockChange};
use runner_core::checkout::RepositoryPattern;
use scripted_peers::{GitForge, git};
use tempfile::TempDir;

use crate::harness::Site;

fn commit(folder: &Path, text: &str) -> String {
    std::fs::write(folder.join("main.js"), text).unwrap();
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "-m", text]);
    git(folder, &["tag", "--force", "v1"]);
    git(folder, &["rev-parse", "HEAD"])
}

/// A repository with an action, tagged `v1`.
fn upstream() -> (TempDir, String) {
    let folder = TempDir::new().unwrap();
    git(
        folder.path(),
        &["init", "--quiet", "--initial-branch=main", "."],
    );
    std::fs::write(folder.path().join("action.yml"), "name: tool\n").unwrap();
    // A link that leads out of the repository.
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("out")).unwrap();
    let first = commit(folder.path(), "first");
    (folder, first)
}

struct Stored {
    settings: RunnerSettings,
    store: ActionStore,
    upstream: TempDir,
    first: String,
    _site: Site,
}

impl Stored {
    fn new(change: impl FnOnce(&mut RunnerSettings)) -> Self {
        let site = Site::new();
        let mut settings = site.settings();
        change(&mut settings);
        let (upstream, first) = upstream();
        Self {
            store: ActionStore::new(&Arc::new(settings.clone())),
            settings,
            upstream,
            first,
            _site: site,
        }
    }

    fn add(&self, name: &str) -> Result<LockChange, String> {
        let from = self.upstream.path().to_str().unwrap();
        let added = self.store.add(&reference(name), Some(from));
        added
            .map(|(_, change)| change)
            .map_err(|error| error.to_string())
    }

    fn tree(&self, commit: &str) -> PathBuf {
        self.settings.actions.folder.join("trees").join(commit)
    }

    fn faults(&self) -> Vec<Option<ActionFault>> {
        let verified = self.store.verify().unwrap();
        verified.into_iter().map(|one| one.fault).collect()
    }
}

fn reference(text: &str) -> ActionReference {
    text.parse().unwrap()
}

#[actix_rt::test]
async fn i17_a_commit_is_found_by_whichever_name_it_is_stored() {
    let stored = Stored::new(|_| {});
    assert_eq!(stored.add("acme/tool@v1"), Ok(LockChange::Added));
    let second = commit(stored.upstream.path(), "second");
    let tool = reference("acme/tool/sub@v1");
    let find = |commit: &str| stored.store.stored().find_commit(&tool, commit);
    let found = find(&stored.first).map(|found| found.commit);
    assert_eq!(found.as_deref(), Ok(stored.first.as_str()));
    let refused = find(&second).unwrap_err();
    let add = format!("workflow-runner actions add acme/tool/sub@{second}");
    for part in [add.as_str(), stored.first.as_str(), "actions.lock"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    // By its own name, and still the other by its.
    assert_eq!(
        stored.add(&format!("acme/tool@{second}")),
        Ok(LockChange::Added)
    );
    for commit in [&stored.first, &second] {
        let found = find(commit).map(|found| found.commit);
        assert_eq!(found.as_ref(), Ok(commit));
    }
    let other = reference("acme/tools@v1");
    let lock = stored.store.stored();
    let absent = lock.find_commit(&other, &second).unwrap_err();
    assert!(absent.contains("is not in the runner's store"), "{absent}");
    // What was changed is not used, by whichever name.
    std::fs::write(stored.tree(&second).join("main.js"), "else").unwrap();
    let changed = find(&second).unwrap_err();
    assert!(changed.contains("not those that were locked"), "{changed}");
}

#[actix_rt::test]
async fn i17_an_action_is_found_with_and_without_the_server_that_names_mean() {
    let stored = Stored::new(|settings| {
        settings.actions.server = "https://code.example".parse().unwrap();
    });
    assert_eq!(stored.add("acme/tool@v1"), Ok(LockChange::Added));
    let second = commit(stored.upstream.path(), "second");
    let far = format!("https://code.example/acme/tool@{second}");
    assert_eq!(stored.add(&far), Ok(LockChange::Added));
    let lock = stored.store.stored();
    let find = |name: &str| lock.find(&reference(name)).map(|found| found.commit);
    for (version, found) in [("v1", &stored.first), (second.as_str(), &second)] {
        for server in ["", "https://code.example/", "https://Code.Example/"] {
            let name = format!("{server}acme/tool/sub@{version}");
            assert_eq!(find(&name).as_ref(), Ok(found), "{name}");
        }
    }
    for other in [
        "https://other.example/acme/tool@v1",
        "http://code.example/acme/tool@v1",
    ] {
        let refused = find(other).unwrap_err();
        assert!(refused.contains("not in the runner's store"), "{refused}");
    }
    let tool = reference("https://code.example/acme/tool@v1");
    let found = lock.find_commit(&tool, &second).map(|found| found.commit);
    assert_eq!(found.as_ref(), Ok(&second));
    assert_eq!(
        stored
            .store
            .lock()
            .unwrap()
            .get(&reference("acme/tool@v1"))
            .unwrap()
            .reference,
        Some("refs/tags/v1".to_owned())
    );
}

#[actix_rt::test]
async fn actions_are_locked_to_commits_and_move_only_when_told() {
    let stored = Stored::new(|_| {});
    assert!(stored.store.verify().unwrap().is_empty());
    assert!(
        !stored.settings.actions.folder.exists(),
        "asking writes nothing"
    );
    assert_eq!(stored.add("Acme/Tool@v1"), Ok(LockChange::Added));
    assert_eq!(stored.add("acme/tool/sub@v1"), Ok(LockChange::Same));
    let second = commit(stored.upstream.path(), "second");
    let lock = stored.store.stored();
    let found = lock.find(&reference("acme/tool/any@v1")).unwrap();
    assert_eq!(
        found.commit, stored.first,
        "the tag has moved, the lock has not"
    );
    assert_eq!(lock.read(&found, "main.js").as_deref(), Some(&b"first"[..]));
    assert_eq!(lock.read(&found, "out"), None, "a link that leads out");
    assert_eq!(lock.read(&found, "../../lock.json"), None);
    let missing = lock.find(&reference("acme/tool@v2")).unwrap_err();
    assert!(
        missing.contains("workflow-runner actions add acme/tool@v2"),
        "{missing}"
    );
    assert_eq!(
        stored.add("acme/tool@v1"),
        Ok(LockChange::Moved(stored.first.clone()))
    );
    let exact = format!("acme/tool@{}", stored.first);
    assert_eq!(stored.add(&exact), Ok(LockChange::Added));
    let lock = stored.store.stored();
    assert_eq!(
        lock.find(&reference("acme/tool@v1")).unwrap().commit,
        second
    );
    assert_eq!(stored.faults().len(), 2);
    assert!(stored.faults().iter().all(Option::is_none));
}

#[actix_rt::test]
async fn what_may_not_be_added_is_not_fetched() {
    let stored = Stored::new(|settings| {
        settings.actions.owners = vec!["Acme".to_owned()];
        settings.transports.file = false;
        settings.checkouts.tree.bytes = 20;
    });
    let big = stored.add("acme/tool@v1").unwrap_err();
    assert!(big.contains("20 are allowed"), "{big}");
    let owner = stored.add("other/tool@v1").unwrap_err();
    assert!(owner.contains("actions_owners"), "{owner}");
    let none = stored.add("acme/tool@v9").unwrap_err();
    assert!(none.contains("no such tag, branch or commit"), "{none}");
    let store = &stored.store;
    for (from, why) in [
        (Some("ssh://code.example/acme/tool"), "are not allowed"),
        (Some("https://127.0.0.1:1/acme/tool"), "neither public nor"),
        (Some("ext::sh -c x"), "No such file"),
        (None, "looked up"),
    ] {
        let error = store.add(&reference("acme/tool@v1"), from).unwrap_err();
        assert!(error.to_string().contains(why), "{from:?}: {error}");
    }
    assert_eq!(store.lock().unwrap().entries().count(), 0);
}

#[actix_rt::test]
async fn a_changed_tree_and_a_changed_mirror_are_found_and_not_used() {
    let stored = Stored::new(|_| {});
    stored.add("acme/tool@v1").unwrap();
    let file = stored.tree(&stored.first).join("main.js");
    std::fs::write(&file, "poison").unwrap();
    assert!(matches!(
        stored.faults()[..],
        [Some(ActionFault::Tree { .. })]
    ));
    let lock = stored.store.stored();
    let refused = lock.find(&reference("acme/tool@v1")).unwrap_err();
    assert!(refused.contains("not those that were locked"), "{refused}");
    // Adding it again lays the commit's own files out.
    assert_eq!(stored.add("acme/tool@v1"), Ok(LockChange::Same));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "first");
    assert!(stored.faults()[0].is_none());

    // A replacement of the object in the mirror: git gives other bytes for the same commit.
    let mirror = stored.settings.actions.folder.join("mirrors/acme/tool.git");
    let old = git(
        &mirror,
        &["rev-parse", &format!("{}:main.js", stored.first)],
    );
    let poison = mirror.join("poison");
    std::fs::write(&poison, "poison").unwrap();
    let new = git(&mirror, &["hash-object", "-w", "poison"]);
    git(&mirror, &["replace", &old, &new]);
    assert!(matches!(
        stored.faults()[..],
        [Some(ActionFault::Mirror { .. })]
    ));
    let again = stored.add("acme/tool@v1").unwrap_err();
    assert!(again.contains("nothing is changed"), "{again}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "first");

    std::fs::remove_dir_all(stored.tree(&stored.first)).unwrap();
    assert!(matches!(
        stored.faults()[..],
        [Some(ActionFault::Missing(_))]
    ));
}

/// A store whose names without a host are the forge's own.
fn of_own_forge(forge: &GitForge) -> Stored {
    Stored::new(|settings| {
        settings.forge_url = forge.url().parse().ok();
        settings.actions.server = forge.url().parse().unwrap();
        let listed = RepositoryPattern::parse("acme/listed");
        settings.checkout_repositories.extend(listed);
    })
}

#[actix_rt::test]
async fn i17_private_actions_of_the_own_forge_are_for_those_who_may_read_them() {
    let forge = GitForge::start();
    for (name, private) in [
        ("acme/open", false),
        ("acme/hidden", true),
        ("acme/listed", true),
    ] {
        let repository = forge.repository(name, private);
        repository.write("action.yml", "name: tool\n");
        repository.commit("first");
        repository.git(&["tag", "v1"]);
        repository.git(&["update-server-info"]);
    }
    let stored = of_own_forge(&forge);
    for name in ["acme/open@v1", "acme/hidden@v1", "acme/listed@v1"] {
        let (action, _) = stored.store.add(&reference(name), None).unwrap();
        let of_forge = action.url.starts_with(forge.url());
        assert!(of_forge, "{}", action.url);
        assert_eq!(action.private, name != "acme/open@v1", "{name}");
    }
    let may = |run: &str, untrusted: bool, name: &str| {
        let lock = stored.store.stored_for(run, untrusted);
        lock.find(&reference(name)).map(|_| ())
    };
    for (run, untrusted, name, expected) in [
        ("acme/rocket", false, "acme/open@v1", true),
        ("bob/rocket", true, "acme/open@v1", true),
        ("acme/rocket", false, "acme/listed@v1", true),
        ("acme/rocket", true, "acme/listed@v1", false),
        ("acme/rocket", false, "acme/hidden/sub@v1", false),
        ("Acme/Hidden", false, "acme/hidden@v1", true),
        ("acme/hidden", true, "acme/hidden@v1", true),
    ] {
        let found = may(run, untrusted, name);
        assert_eq!(
            found.is_ok(),
            expected,
            "{run} {untrusted} {name}: {found:?}"
        );
    }
    let refused = may("acme/rocket", false, "acme/hidden@v1").unwrap_err();
    assert!(refused.contains("`checkout_repositories`"), "{refused}");
    let stranger = may("acme/rocket", true, "acme/listed@v1").unwrap_err();
    assert!(stranger.contains("from a fork"), "{stranger}");
    // By its commit it is the same; and who has the folder reads it all.
    let commit = stored.store.lock().unwrap();
    let commit = commit.get(&reference("acme/hidden@v1")).unwrap();
    let by_commit = stored.store.stored_for("acme/rocket", false);
    let found = by_commit.find_commit(&reference("acme/hidden@v1"), &commit.commit);
    assert!(found.is_err(), "{found:?}");
    assert!(
        stored
            .store
            .stored()
            .find(&reference("acme/hidden@v1"))
            .is_ok()
    );
}

#[actix_rt::test]
async fn i17_an_action_of_the_own_forge_is_the_same_with_and_without_its_host() {
    let forge = GitForge::start();
    let repository = forge.repository("acme/open", false);
    repository.write("action.yml", "name: tool\n");
    repository.commit("first");
    repository.git(&["branch", "v1"]);
    repository.git(&["branch", "v2"]);
    repository.git(&["update-server-info"]);
    let stored = of_own_forge(&forge);
    let with_host = |name: &str| format!("{}/{name}", forge.url());
    stored.store.add(&reference("acme/open@v1"), None).unwrap();
    let second = with_host("acme/open@v2");
    stored.store.add(&reference(&second), None).unwrap();
    for name in ["acme/open@v1", "acme/open/sub@v2"] {
        for name in [name.to_owned(), with_host(name)] {
            let found = stored.store.stored().find(&reference(&name));
            assert!(found.is_ok(), "{name}: {found:?}");
        }
    }
    let elsewhere = "https://code.example/acme/open@v1";
    assert!(stored.store.stored().find(&reference(elsewhere)).is_err());
    // A name that was added when it meant another forge is not the own forge's.
    assert_eq!(stored.add("acme/tool@v1"), Ok(LockChange::Added));
    let own = with_host("acme/tool@v1");
    assert!(stored.store.stored().find(&reference(&own)).is_err());
}

/// What both meant was the one that was added last.
#[actix_rt::test]
async fn i17_an_action_and_a_called_workflow_of_one_name_are_two() {
    let forge = GitForge::start();
    let repository = forge.repository("acme/tool", false);
    repository.write(".forgejo/workflows/x.yml", "on: workflow_call\n");
    let of_forge = repository.commit("a workflow");
    repository.git(&["tag", "v1"]);
    repository.git(&["update-server-info"]);
    let stored = Stored::new(|settings| {
        settings.forge = forge_core::Forge::Forgejo;
        settings.forge_url = forge.url().parse().ok();
        settings.actions.server = "https://actions.example".parse().unwrap();
    });
    let workflow = "acme/tool/.forgejo/workflows/x.yml@v1";
    let find = |name: &str| {
        let found = stored.store.stored().find(&reference(name));
        found.map(|found| found.commit)
    };
    stored.store.add(&reference(workflow), None).unwrap();
    assert!(find("acme/tool@v1").is_err());
    assert_eq!(stored.add("acme/tool@v1"), Ok(LockChange::Added));
    assert_eq!(find("acme/tool/sub@v1").as_ref(), Ok(&stored.first));
    assert_eq!(find(workflow).as_ref(), Ok(&of_forge));
    let with_host = format!("{}/{workflow}", forge.url());
    assert_eq!(find(&with_host).as_ref(), Ok(&of_forge));
    let again = stored.store.add(&reference(workflow), None).unwrap();
    assert_eq!(again.1, LockChange::Same);
    let file = stored.upstream.path().join("one.tar");
    let count = stored.store.export(&[reference(workflow)], &file);
    assert_eq!(count.unwrap(), 1);
    // Each goes by its name, and the mirror with the last.
    assert!(stored.store.remove(&reference("acme/tool@v1")).unwrap());
    assert_eq!(find(workflow).as_ref(), Ok(&of_forge));
    assert!(stored.faults().iter().all(Option::is_none));
    assert!(stored.store.remove(&reference(workflow)).unwrap());
    assert!(find(workflow).is_err());
}

/// A lock of before has the workflow by the name that actions have.
#[actix_rt::test]
async fn i17_a_called_workflow_that_a_former_version_has_locked_is_found() {
    let forge = GitForge::start();
    let workflow = "acme/tool/.forgejo/workflows/x.yml@v1";
    let stored = Stored::new(|settings| {
        settings.forge = forge_core::Forge::Forgejo;
        settings.forge_url = forge.url().parse().ok();
        settings.actions.server = "https://actions.example".parse().unwrap();
    });
    assert_eq!(stored.add("acme/tool@v1"), Ok(LockChange::Added));
    let path = stored.settings.actions.folder.join("lock.json");
    let lock = std::fs::read_to_string(&path).unwrap();
    let folder = format!("file://{}", stored.upstream.path().display());
    let at = |server: &str| {
        let url = format!("{server}/acme/tool");
        std::fs::write(&path, lock.replace(&folder, &url)).unwrap();
        stored.store.stored().find(&reference(workflow)).is_ok()
    };
    assert!(at(forge.url()));
    assert!(!at("https://actions.example"));
    assert!(stored.store.remove(&reference(workflow)).unwrap());
}
