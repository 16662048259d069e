//! Artifacts of one machine.

use super::*;
use crate::tar_guard::tar_of;

#[test]
fn i17_an_artifact_has_a_name_that_a_folder_can_have() {
    for name in ["site", "a b", "tests (7)", "x.y-z_1", "\u{dc}ber"] {
        assert_eq!(check_artifact_name(name), Ok(()), "{name}");
    }
    let long = "x".repeat(MAX_NAME + 1);
    let mut wrong = vec![
        "../evil", "a/b", "..", ".", "a:b", "a\"b", "a\\b", "", &long,
    ];
    wrong.extend(["a*", "a?", "a|b", "<a>", "a\nb", "a\tb"]);
    for name in wrong {
        assert!(check_artifact_name(name).is_err(), "{name:?}");
    }
}

fn maker(job: &str, attempt: &str) -> ArtifactMaker {
    ArtifactMaker {
        job: job.to_owned(),
        attempt: attempt.to_owned(),
    }
}

fn expiring(expires_at: Option<u64>) -> NewArtifact {
    NewArtifact {
        expires_at,
        ..NewArtifact::default()
    }
}

fn origin(run: &str, untrusted: bool) -> ArtifactOrigin {
    ArtifactOrigin {
        run: run.to_owned(),
        repository: "acme/rocket".to_owned(),
        untrusted,
    }
}

/// Stores one of so many bytes and the least that a tar has beside them.
fn put(
    artifacts: &ArtifactStore,
    of: &ArtifactOrigin,
    name: &str,
    bytes: usize,
) -> std::io::Result<Artifact> {
    let mut pending = artifacts.create(&of.run, name)?;
    pending.write(&tar_of("x", bytes))?;
    let new = NewArtifact {
        origin: Some(of.clone()),
        ..NewArtifact::default()
    };
    artifacts.keep(&of.run, pending, &maker("a#0", "1"), new)
}

/// Artifacts of every run stayed as long as 10,000 runs did, however many there were.
#[test]
fn i17_artifacts_of_a_repository_have_a_quota_and_their_days() {
    let directory = tempfile::TempDir::new().unwrap();
    let limits = ArtifactLimits {
        one: 50_000,
        of_repository: 100_000,
        days: 2,
    };
    let artifacts = ArtifactStore::new(directory.path(), None).with_limits(limits);
    let (one, two, fork) = (
        origin("one", false),
        origin("two", false),
        origin("f", true),
    );
    let kept = put(&artifacts, &one, "a", 40_000).unwrap();
    let days = (kept.expires_at.unwrap() - kept.at) / (24 * 60 * 60 * 1000);
    assert_eq!(days, 2);
    put(&artifacts, &two, "b", 40_000).unwrap();
    let refused = put(&artifacts, &two, "c", 40_000).unwrap_err();
    assert!(crate::artifact_room::is_bound(&refused));
    let said = refused.to_string();
    assert!(said.contains("acme/rocket has no room"), "{said}");
    assert!(said.contains("`artifact_quota`"), "{said}");
    // What an attempt adopts takes no room, nor does what replaces another of its size.
    artifacts.adopt("three", "one").unwrap();
    put(&artifacts, &two, "b", 40_000).unwrap();
    put(&artifacts, &two, "small", 10_000).unwrap();
    // Forks have a quarter of it of their own.
    put(&artifacts, &fork, "a", 20_000).unwrap();
    let said = put(&artifacts, &fork, "b", 20_000).unwrap_err().to_string();
    assert!(
        said.contains("forks (a quarter of `artifact_quota`)"),
        "{said}"
    );
    // One is no larger than it may be, and what has gone is room again.
    let said = put(&artifacts, &one, "large", 60_000)
        .unwrap_err()
        .to_string();
    assert!(said.contains("larger than 50000 bytes"), "{said}");
    artifacts.remove_run("two").unwrap();
    put(&artifacts, &one, "c", 40_000).unwrap();
}

#[test]
fn i17_a_job_stores_500_artifacts_at_most() {
    let directory = tempfile::TempDir::new().unwrap();
    let artifacts = ArtifactStore::new(directory.path(), None);
    let of = origin("one", false);
    for number in 0..MAX_OF_JOB {
        put(&artifacts, &of, &number.to_string(), 1).unwrap();
    }
    let refused = put(&artifacts, &of, "more", 1).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "a job stores 500 artifacts at most, as on GitHub"
    );
    assert!(artifacts.check_room(&maker("a#0", "1"), &of).is_err());
    put(&artifacts, &of, "7", 1).unwrap();
    artifacts.check_room(&maker("b#0", "1"), &of).unwrap();
}

/// The same name in two runs in the same millisecond was one number.
#[test]
fn i17_artifacts_of_two_runs_have_two_numbers() {
    let of = |run: &str| Artifact {
        name: "site".to_owned(),
        bytes: 1,
        at: 7,
        raw: None,
        by: None,
        expires_at: None,
        shown: None,
        origin: Some(origin(run, false)),
        digest: None,
    };
    assert_ne!(of("one").id(), of("two").id());
    assert_eq!(of("one").id(), of("one").id());
}

#[test]
fn i17_an_artifact_is_replaced_by_a_later_attempt_of_its_job_only() {
    let directory = tempfile::TempDir::new().unwrap();
    let artifacts = ArtifactStore::new(directory.path(), None);
    let is_free =
        |run: &str, name: &str, by: &ArtifactMaker| artifacts.is_free(run, name, by).unwrap();
    let by = maker("build#0", "run-1-0");
    assert!(is_free("one", "a", &by));
    let mut pending = artifacts.create("one", "a").unwrap();
    pending.write(&tar_of("x", 3)).unwrap();
    artifacts
        .keep("one", pending, &by, NewArtifact::default())
        .unwrap();
    assert!(!is_free("one", "a", &by), "within one attempt");
    assert!(!is_free("one", "a", &maker("build#1", "run-1-1")));
    assert!(is_free("one", "a", &maker("build#0", "run-1-0.1")));
    artifacts.adopt("two", "one").unwrap();
    assert!(is_free("two", "a", &maker("build#0", "two-2-0")));
}

#[test]
fn i17_an_artifact_that_was_being_stored_at_a_kill_takes_no_room() {
    let directory = tempfile::TempDir::new().unwrap();
    let artifacts = ArtifactStore::new(directory.path(), None);
    let pending = artifacts.create("one", "a").unwrap();
    // As a kill does it.
    std::mem::forget(pending);
    let of = directory.path().join(KIND).join(hashed("one"));
    assert_eq!(std::fs::read_dir(&of).unwrap().count(), 1);
    let _artifacts = ArtifactStore::new(directory.path(), None);
    assert_eq!(std::fs::read_dir(&of).unwrap().count(), 0);
}

#[test]
fn i17_an_artifact_goes_when_its_days_are_over() {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = ArtifactStore::new(folder.path(), None);
    let keep = |name: &str, expires_at| {
        let mut pending = artifacts.create("one", name).unwrap();
        pending.write(&tar_of("x", 3)).unwrap();
        let by = maker("a#0", "1");
        artifacts
            .keep("one", pending, &by, expiring(expires_at))
            .unwrap();
    };
    let left = |artifacts: &ArtifactStore| {
        let all = artifacts.list("one").unwrap().into_iter();
        all.map(|artifact| artifact.name).collect::<Vec<_>>()
    };
    let (hour, now) = (3_600_000, now_ms());
    keep("always", expiry(0));
    keep("later", Some(now + hour));
    keep("over", Some(now - 1));
    assert_eq!(left(&artifacts), ["always", "later"]);
    assert_eq!(artifacts.find("one", "over").unwrap(), None);
    artifacts.adopt("two", "one").unwrap();
    assert_eq!(artifacts.list("two").unwrap().len(), 2);
    assert_eq!(artifacts.remove_expired(now).unwrap(), 1);
    assert_eq!(
        artifacts.remove_expired(now + hour).unwrap(),
        2,
        "of both runs"
    );
    assert_eq!(left(&artifacts), ["always"]);
    let in_two_days = expiry(2).unwrap();
    assert!(in_two_days.abs_diff(now + 48 * hour) < hour);
}

#[test]
fn a_run_adopts_artifacts_and_replaces_its_own_only() {
    let directory = tempfile::TempDir::new().unwrap();
    let artifacts = ArtifactStore::new(directory.path(), None);
    let by = maker("a#0", "1");
    let put = |run: &str, name: &str, size: usize| {
        let mut pending = artifacts.create(run, name).unwrap();
        pending.write(&tar_of("x", size)).unwrap();
        artifacts
            .keep(run, pending, &by, NewArtifact::default())
            .unwrap();
        std::fs::read(artifacts.find(run, name).unwrap().unwrap()).unwrap()
    };
    let old = put("one", "a", 3);
    put("one", "b", 3);
    let own = put("two", "b", 9000);
    artifacts.adopt("two", "one").unwrap();
    artifacts.adopt("two", "one").unwrap();
    artifacts.adopt("two", "unknown").unwrap();
    let read = |run: &str, name: &str| std::fs::read(artifacts.find(run, name).unwrap().unwrap());
    assert_eq!(read("two", "a").unwrap(), old);
    assert_eq!(read("two", "b").unwrap(), own, "what it has stays");
    let new = put("two", "a", 5000);
    assert_ne!(new, old);
    assert_eq!(
        read("one", "a").unwrap(),
        old,
        "the other's stay as they were"
    );
    assert_eq!(artifacts.list("one").unwrap()[0].bytes, old.len() as u64);
    artifacts.remove_run("one").unwrap();
    assert_eq!(artifacts.list("two").unwrap().len(), 2);
}

#[test]
fn i17_people_see_and_find_an_artifact_without_the_secret_in_its_name() {
    let directory = tempfile::TempDir::new().unwrap();
    let artifacts = ArtifactStore::new(directory.path(), None);
    for (name, shown) in [("art-hunter2", Some("art-***")), ("plain", None)] {
        let mut pending = artifacts.create("run-1", name).unwrap();
        pending.write(&tar_of(name, 3)).unwrap();
        let new = NewArtifact {
            shown: shown.map(str::to_owned),
            ..NewArtifact::default()
        };
        let kept = artifacts.keep("run-1", pending, &maker("a#0", "1"), new);
        assert_eq!(kept.unwrap().name, name);
    }
    let names = |all: Vec<Artifact>| all.into_iter().map(|one| one.name).collect::<Vec<_>>();
    let shown = artifacts.list_shown("run-1").unwrap();
    assert!(!serde_json::to_string(&shown).unwrap().contains("hunter2"));
    assert_eq!(names(shown), ["art-***", "plain"]);
    // Jobs know it by its name.
    let known = artifacts.list("run-1").unwrap();
    assert_eq!(names(known), ["art-hunter2", "plain"]);
    let by_jobs = artifacts.find("run-1", "art-hunter2").unwrap();
    assert!(by_jobs.is_some());
    for (name, expected) in [
        ("art-***", &by_jobs),
        ("art-hunter2", &by_jobs),
        ("x", &None),
    ] {
        assert_eq!(
            &artifacts.find_shown("run-1", name).unwrap(),
            expected,
            "{name}"
        );
    }
    assert!(artifacts.find_shown("run-1", "plain").unwrap().is_some());
}

#[test]
fn r15_names_never_become_paths_and_runs_see_their_own_only() {
    let directory = tempfile::TempDir::new().unwrap();
    let artifacts = ArtifactStore::new(directory.path(), None);
    let mut pending = artifacts.create("run-1", "../../x").unwrap();
    pending.write(&tar_of("x", 3)).unwrap();
    artifacts
        .keep("run-1", pending, &maker("a#0", "1"), NewArtifact::default())
        .unwrap();
    assert!(
        artifacts
            .find("run-1", "../../x")
            .unwrap()
            .unwrap()
            .starts_with(directory.path())
    );
    assert_eq!(artifacts.find("run-2", "../../x").unwrap(), None);
    assert_eq!(artifacts.list("run-1").unwrap()[0].name, "../../x");
    drop(artifacts.create("run-1", "half").unwrap());
    assert_eq!(
        artifacts.list("run-1").unwrap().len(),
        1,
        "what was not kept does not count"
    );
}
