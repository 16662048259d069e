//! Which jobs a benchmark is, and what a record of one may say.

use super::*;

#[test]
fn collections_are_found_alone_and_together() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert!(
        collections(folder.path()).is_err(),
        "an empty folder holds none"
    );
    for name in ["b", "a"] {
        std::fs::create_dir(folder.path().join(name)).expect("own folder");
        std::fs::write(folder.path().join(name).join("corpus.jsonl.gz"), "").expect("own file");
    }
    let names = |jobs: Vec<Job>| jobs.into_iter().map(|job| job.name).collect::<Vec<_>>();
    let all = jobs(&BenchmarkChoice::Relevance {
        folder: folder.path().to_owned(),
        minilm: false,
    })
    .expect("two");
    assert_eq!(names(all), ["relevance-a", "relevance-b"]);
    let one = jobs(&BenchmarkChoice::Relevance {
        folder: folder.path().join("b"),
        minilm: true,
    })
    .expect("one");
    assert_eq!(names(one), ["relevance-b"]);
}

#[test]
fn all_runs_what_it_can() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let without = jobs(&BenchmarkChoice::All {
        files: None,
        collections: None,
    })
    .expect("no folder needed");
    assert_eq!(without.len(), 9);
    let with = BenchmarkChoice::All {
        files: Some(folder.path().to_owned()),
        collections: None,
    };
    let with = jobs(&with).expect("the folder is there");
    let benches: Vec<_> = with.iter().map(|job| job.bench).collect();
    let expected =
        "messages appends edge vm intake matrix freshness speed orchestrator index search";
    assert_eq!(benches.join(" "), expected);
    assert_eq!(
        with[9].arguments(|_| "files".to_owned()).join(" "),
        "bench -p search-engine --bench index -- files"
    );
    let missing = BenchmarkChoice::Index {
        folder: folder.path().join("nowhere"),
    };
    assert!(jobs(&missing).is_err());
}

#[test]
fn identifiers_are_drawn_from_several_folders() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [first, second] = ["a", "b"].map(|name| folder.path().join(name));
    std::fs::create_dir(&first).expect("own folder");
    let missing = BenchmarkChoice::Identifiers {
        folders: vec![first.clone(), second.clone()],
        misses: false,
    };
    assert!(jobs(&missing).is_err(), "the second is missing");
    std::fs::create_dir(&second).expect("own folder");
    let both = BenchmarkChoice::Identifiers {
        folders: vec![first, second],
        misses: true,
    };
    let both = jobs(&both).expect("both are there");
    assert_eq!(
        both[0].arguments(label).join(" "),
        "bench -p search-actors --bench identifiers -- a b --misses"
    );
}

#[test]
fn i16_questions_are_asked_of_the_folders_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let named = BenchmarkChoice::Questions {
        folders: vec![folder.path().to_owned()],
        misses: true,
    };
    let named = jobs(&named).expect("the folder is there");
    assert_eq!(
        named[0].arguments(|_| "files".to_owned()).join(" "),
        "bench -p search-actors --bench questions -- files --misses"
    );
    let missing = BenchmarkChoice::Questions {
        folders: vec![folder.path().join("nowhere")],
        misses: false,
    };
    assert!(jobs(&missing).is_err());
}

#[test]
fn i18_both_engines_are_measured_by_one_command() {
    let jobs = jobs(&BenchmarkChoice::Engines).expect("no folder needed");
    let shown: Vec<String> = jobs
        .iter()
        .map(|job| job.arguments(label).join(" "))
        .collect();
    let expected = [
        "bench -p runner-web --bench intake -- --engines",
        "bench -p orchestrator --bench orchestrator -- --engines",
        "bench -p workflow-runner --bench standby",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn i16_code_is_searched_in_one_folder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let code = |folder: PathBuf| BenchmarkChoice::Code {
        folder,
        misses: true,
        minilm: true,
    };
    let named = jobs(&code(folder.path().to_owned())).expect("the folder is there");
    assert_eq!(
        named[0].arguments(|_| "files".to_owned()).join(" "),
        "bench -p search-actors --bench code -- files --misses --minilm"
    );
    assert!(jobs(&code(folder.path().join("nowhere"))).is_err());
}

#[test]
fn the_application_is_measured_by_a_script_and_a_test() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let faces = BenchmarkChoice::Faces {
        folders: vec![folder.path().to_owned()],
    };
    let jobs = jobs(&faces).expect("the folder is there");
    let shown = |job: &Job| {
        let arguments = job.arguments(|_| "files".to_owned()).join(" ");
        format!("{} {arguments}", job.program())
    };
    assert_eq!(shown(&jobs[0]), "node web/ui/bench/faces.mjs files");
    assert_eq!(
        shown(&jobs[1]),
        "cargo test --release -p runner-web --test runner application:: -- --nocapture"
    );
}

#[test]
fn a_record_names_no_place_of_this_machine() {
    let project = ProjectCheckout {
        root: PathBuf::from("/a/checkout"),
        cache: PathBuf::from("/a/cache"),
    };
    let text = without_places(
        "/a/checkout/x of /data/linux/fs",
        &project,
        [Path::new("/data/linux"), Path::new("/a/cache")].into_iter(),
    );
    assert_eq!(text, "./x of linux/fs");
}

#[test]
fn i16_growth_is_measured_on_the_folders_and_numbers_that_are_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let texts = folder.path().join("texts");
    std::fs::create_dir(&texts).expect("own folder");
    let growth = |documents: &str| {
        jobs(&BenchmarkChoice::Growth {
            folders: vec![texts.clone()],
            documents: documents.to_owned(),
        })
    };
    let job = growth("10, 200").expect("the folder is there");
    assert_eq!(
        job[0].arguments(label).join(" "),
        "bench -p search-actors --bench growth -- texts --documents 10, 200"
    );
    for wrong in ["", "ten", "10,,20", "10,0"] {
        let error = growth(wrong).expect_err("no numbers").to_string();
        assert!(error.contains("10000,100000"), "{error}");
    }
}

#[test]
fn i18_searchers_are_compared_on_collections_and_measured_over_many_documents() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["a", "b", "texts"] {
        std::fs::create_dir(folder.path().join(name)).expect("own folder");
    }
    for name in ["a", "b"] {
        std::fs::write(folder.path().join(name).join("corpus.jsonl"), "").expect("own file");
    }
    let searchers = |folder: Option<PathBuf>, documents, texts, bucket: Option<&str>| {
        jobs(&BenchmarkChoice::Searchers {
            folder,
            documents: NonZeroUsize::new(documents),
            texts,
            parts: NonZeroU32::new(3).expect("not 0"),
            bucket: Some(bucket.map(str::to_owned)),
            endpoint: bucket.map(|_| "https://storage.example".to_owned()),
        })
    };
    let texts = vec![folder.path().join("texts")];
    let shown: Vec<String> = searchers(Some(folder.path().to_owned()), 90_000, texts, None)
        .expect("all is there")
        .iter()
        .map(|job| format!("{}: {}", job.name, job.arguments(label).join(" ")))
        .collect();
    let bench = "bench -p search-server --bench searchers --";
    let expected = [
        format!("searchers-a: {bench} a --parts 3 --bucket"),
        format!("searchers-b: {bench} b --parts 3 --bucket"),
        format!("searchers-documents: {bench} texts --documents 90000 --bucket"),
    ];
    assert_eq!(shown, expected);
    let one = searchers(
        Some(folder.path().join("a")),
        0,
        Vec::new(),
        Some("s3://ci/x"),
    );
    let shown = one.expect("all is there")[0].arguments(label).join(" ");
    let storage = "--bucket=s3://ci/x --endpoint https://storage.example";
    assert_eq!(shown, format!("{bench} a --parts 3 {storage}"));
    let nothing = searchers(None, 0, Vec::new(), None).expect_err("nothing is asked for");
    assert!(nothing.to_string().contains("--documents"), "{nothing}");
}
