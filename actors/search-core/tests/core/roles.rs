//! Role files as programs use them: both forms, defaults, older spellings, variables, names.

use std::path::{Path, PathBuf};

use config_core::{ByteSize, Environment};
use proptest::prelude::*;
use search_core::role::{
    self, LanguageModel, LocalFiles, RelevanceFunction, RoleFile, RoleOptions, Service, Source,
};
use serde_json::json;

fn environment() -> Environment {
    Environment::from_iter([
        ("HOME", "/home/me"),
        ("API_KEY", "sk-123"),
        ("DOCS", "/srv/docs"),
    ])
}

#[track_caller]
fn parse(text: &str) -> RoleFile {
    role::parse("config.json", text, &environment()).unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// One role with one haystack, which is given.
fn with_haystack(haystack: &serde_json::Value) -> String {
    json!({ "name": "Reader", "haystacks": [haystack] }).to_string()
}

fn local(location: &str) -> LocalFiles {
    let haystack = json!({ "name": "Docs", "service": "LocalFiles", "location": location });
    let roles = parse(&with_haystack(&haystack));
    roles.default_role().haystacks[0]
        .local_files()
        .expect("it is LocalFiles")
        .clone()
}

const THREE: &str = r#"{
  "roles": [
    { "name": "Reader", "haystacks": [{ "name": "a", "service": "LocalFiles", "location": "a" }] },
    { "name": "Engineer", "haystacks": [{ "name": "a", "service": "LocalFiles", "location": "a" }] },
    { "name": "日本語", "haystacks": [{ "name": "a", "service": "LocalFiles", "location": "a" }] }
  ],
  "default_role": "Engineer"
}"#;

/// What a program or a form writes of a setting that nobody made.
#[test]
fn contract_null_and_empty_optional_settings_are_absent() {
    let written = json!({
        "name": "R", "relevance_function": null, "theme": null,
        "haystacks": [{
            "name": "h", "service": "LocalFiles", "location": "d",
            "extra_parameters": {"glob": "", "max_file_size": null},
        }, {
            "name": "a", "service": "AtomicData", "location": "https://example.org",
            "extra_parameters": null,
        }],
        "extra": {
            "llm_provider": null, "localllm_base_url": "", "localllm_model": null,
            "cloudllm_api_key": "", "cloudllm_model": "", "rerank_model": "",
        },
    });
    let roles = parse(&written.to_string());
    let role = roles.default_role();
    assert_eq!(role.relevance_function, RelevanceFunction::ServiceGraph);
    assert_eq!(role.extra, RoleOptions::default());
    assert_eq!(
        role.haystacks[0].local_files().unwrap(),
        &LocalFiles::new("d")
    );
    let local = json!({
        "name": "R", "haystacks": written["haystacks"],
        "extra": {
            "llm_provider": "localllm", "localllm_base_url": "http://127.0.0.1:11434",
            "localllm_model": "m", "cloudllm_api_key": "", "cloudllm_model": "",
        },
    });
    let roles = parse(&local.to_string());
    assert!(roles.default_role().extra.cloudllm_api_key.is_none());
    // What is needed is missed all the same.
    let mut cloud = local;
    cloud["extra"]["llm_provider"] = "cloudllm".into();
    let wrong = role::parse("config.json", &cloud.to_string(), &environment()).unwrap_err();
    let wrong = wrong.to_string();
    assert!(
        wrong.contains("needs the key `cloudllm_api_key`"),
        "{wrong}"
    );
}

#[test]
fn a_file_of_one_role_has_the_contracts_defaults() {
    let roles = parse(
        r#"{"name": "R", "haystacks": [{"name": "h", "service": "LocalFiles", "location": "d"}]}"#,
    );
    let role = roles.default_role();
    assert_eq!(roles.roles().len(), 1);
    assert_eq!(role.relevance_function, RelevanceFunction::ServiceGraph);
    assert_eq!(role.theme.as_str(), "spacelab");
    assert_eq!(role.extra, RoleOptions::default());
    let files = role.haystacks[0].local_files().unwrap();
    assert_eq!(files, &LocalFiles::new("d"));
    assert!(files.respect_gitignore);
}

#[test]
fn roles_are_found_by_name() {
    let roles = parse(THREE);
    assert_eq!(roles.role(None).unwrap().name, "Engineer");
    assert_eq!(roles.role(Some("日本語")).unwrap().name, "日本語");
    let unknown = roles.role(Some("reder")).unwrap_err();
    assert_eq!(unknown.known, ["Reader", "Engineer", "日本語"]);
    assert_eq!(unknown.suggestion.as_deref(), Some("Reader"));
    assert_eq!(
        unknown.to_string(),
        "unknown role `reder`, did you mean `Reader`?; the roles are: Reader, Engineer, 日本語"
    );
    assert_eq!(roles.role(Some("")).unwrap_err().suggestion, None);
}

#[test]
fn without_a_default_the_first_role_is_it() {
    let roles = parse(&THREE.replace(",\n  \"default_role\": \"Engineer\"", ""));
    assert_eq!(roles.default_role().name, "Reader");
}

#[test]
fn older_spellings_are_understood() {
    for (written, function) in [
        ("TitleScorer", RelevanceFunction::TitleScorer),
        ("title-scorer", RelevanceFunction::TitleScorer),
        ("BM25", RelevanceFunction::BM25),
        ("bm25", RelevanceFunction::BM25),
        ("BM25F", RelevanceFunction::BM25F),
        ("bm25f", RelevanceFunction::BM25F),
        ("ServiceGraph", RelevanceFunction::ServiceGraph),
        ("service-graph", RelevanceFunction::ServiceGraph),
    ] {
        let text = json!({
            "name": "R", "relevance_function": written,
            "haystacks": [{ "name": "h", "service": "local-files", "location": "d" }],
        });
        assert_eq!(
            parse(&text.to_string()).default_role().relevance_function,
            function
        );
    }
}

#[test]
fn all_six_services_are_valid() {
    for (service, location, parameters) in [
        (Service::LocalFiles, "docs", json!({ "glob": "*.md" })),
        (Service::AtomicData, "https://a.org", json!({})),
        (
            Service::AtomicData,
            "https://a.org",
            json!({ "agent_secret": "${API_KEY}" }),
        ),
        (Service::CommunityDocs, "discourse:https://a.org", json!({})),
        (Service::TaskTracker, "taskwarrior", json!({})),
        (Service::NotesGraph, "notes", json!({})),
        (
            Service::Mcp,
            "stdio:notes-server",
            json!({ "api_token": "t" }),
        ),
    ] {
        let haystack = json!({
            "name": "h", "service": service.as_str(), "location": location,
            "extra_parameters": parameters,
        });
        let roles = parse(&with_haystack(&haystack));
        assert_eq!(roles.default_role().haystacks[0].service(), service);
    }
}

#[test]
fn folders_may_name_the_home_folder_and_variables() {
    assert_eq!(local("~").folder, Path::new("/home/me"));
    assert_eq!(local("~/docs").folder, Path::new("/home/me/docs"));
    assert_eq!(local("${DOCS}/a").folder, Path::new("/srv/docs/a"));
    assert_eq!(local("a$$b").folder, Path::new("a$b"));
    assert_eq!(local("./~x").folder, Path::new("./~x"));
}

/// S07: a haystack cannot climb out of the place its location names.
#[test]
fn s07_a_location_cannot_climb() {
    for location in [
        "..",
        "../x",
        "/srv/../etc",
        "a/..",
        "~/../other",
        "${DOCS}/..",
    ] {
        for service in ["LocalFiles", "NotesGraph"] {
            let haystack = json!({ "name": "h", "service": service, "location": location });
            let text = with_haystack(&haystack);
            let wrong = role::parse("config.json", &text, &environment()).unwrap_err();
            assert!(
                wrong.to_string().contains("a location must not hold `..`"),
                "{wrong}"
            );
        }
    }
    assert_eq!(local("/srv/..a").folder, Path::new("/srv/..a"));
}

#[test]
fn relative_folders_are_meant_from_the_role_files_folder() {
    let folder = |text: &str, haystack: usize| -> PathBuf {
        let roles = parse(text).relative_to(Path::new("/etc/service"));
        match &roles.roles()[0].haystacks[haystack].source {
            Source::LocalFiles(files) => files.folder.clone(),
            Source::NotesGraph { folder } => folder.clone(),
            other => panic!("no folder: {other:?}"),
        }
    };
    let text = json!({ "name": "R", "haystacks": [
        { "name": "1", "service": "LocalFiles", "location": "docs" },
        { "name": "2", "service": "LocalFiles", "location": "/docs" },
        { "name": "3", "service": "NotesGraph", "location": "notes" },
    ]})
    .to_string();
    assert_eq!(folder(&text, 0), Path::new("/etc/service/docs"));
    assert_eq!(folder(&text, 1), Path::new("/docs"));
    assert_eq!(folder(&text, 2), Path::new("/etc/service/notes"));
}

#[test]
fn a_thesaurus_needs_no_language_model_and_is_meant_from_the_role_files_folder() {
    let text = |place: &str| {
        json!({
            "name": "R",
            "haystacks": [{ "name": "h", "service": "LocalFiles", "location": "d" }],
            "extra": { "thesaurus": place },
        })
        .to_string()
    };
    let roles = parse(&text("concepts")).relative_to(Path::new("/etc/service"));
    let extra = &roles.default_role().extra;
    assert_eq!(
        extra.thesaurus.as_deref(),
        Some(Path::new("/etc/service/concepts"))
    );
    assert!(extra.language_model().is_none());
    let wrong = role::parse("config.json", &text("../up"), &environment()).unwrap_err();
    assert!(wrong.to_string().contains("must not hold `..`"), "{wrong}");
}

#[test]
fn i16_files_count_by_what_they_are_for_unless_a_role_says_otherwise() {
    let text = |extra: serde_json::Value| {
        json!({
            "name": "R",
            "haystacks": [{ "name": "h", "service": "LocalFiles", "location": "d" }],
            "extra": extra,
        })
        .to_string()
    };
    for (extra, expected) in [
        (json!({}), true),
        (json!({"file_roles": true}), true),
        (json!({"file_roles": false}), false),
    ] {
        let roles = parse(&text(extra));
        assert_eq!(roles.default_role().extra.weighs_file_roles(), expected);
    }
    let wrong = text(json!({"file_roles": "no"}));
    assert!(role::parse("config.json", &wrong, &environment()).is_err());
}

#[test]
fn the_language_model_is_complete_or_absent() {
    let text = json!({
        "name": "R",
        "haystacks": [{ "name": "h", "service": "LocalFiles", "location": "d" }],
        "extra": {
            "llm_provider": "cloudllm", "cloudllm_api_key": "${API_KEY}", "cloudllm_model": "large",
            "localllm_base_url": "http://127.0.0.1:11434", "localllm_model": "small",
        },
    });
    let roles = parse(&text.to_string());
    let extra = &roles.default_role().extra;
    match extra.language_model() {
        Some(LanguageModel::Cloud { api_key, model }) => {
            assert_eq!((api_key.expose().as_str(), model), ("sk-123", "large"));
        }
        other => panic!("{other:?}"),
    }
    assert!(!format!("{roles:?}").contains("sk-123"));
    assert_eq!(RoleOptions::default().language_model(), None);
}

#[test]
fn a_role_is_shown_in_the_shape_of_its_file_without_secrets() {
    let text = json!({
        "name": "R", "relevance_function": "BM25", "theme": "darkly",
        "haystacks": [
            { "name": "a", "service": "LocalFiles", "location": "d", "extra_parameters":
              { "glob": "*.md", "max_file_size": "1MB", "respect_gitignore": false } },
            { "name": "b", "service": "MCP", "location": "http://a/", "extra_parameters": { "api_token": "sk-1" } },
        ],
        "extra": { "llm_provider": "cloudllm", "cloudllm_api_key": "sk-2", "cloudllm_model": "m" },
    });
    let mut expected = text.clone();
    expected["haystacks"][1]["extra_parameters"]["api_token"] = "***".into();
    expected["extra"]["cloudllm_api_key"] = "***".into();
    let roles = parse(&text.to_string());
    assert_eq!(
        serde_json::to_value(roles.default_role()).unwrap(),
        expected
    );
    let files = roles.default_role().haystacks[0].local_files().unwrap();
    assert_eq!(files.max_file_size, ByteSize::new(1_000_000));
    let parameters = roles.default_role().haystacks[0].parameters_text();
    assert_eq!(
        parameters,
        r#"{"glob":"*.md","max_file_size":"1MB","respect_gitignore":false}"#
    );
}

#[test]
fn the_file_of_the_first_start_searches_its_folder() {
    for folder in ["/home/me/docs", "/srv/a \"b\" ${HOME}$$", "/", "/x/ y "] {
        let roles = parse(&role::default_role_file(Path::new(folder)));
        let role = roles.default_role();
        assert_eq!(role.relevance_function, RelevanceFunction::ServiceGraph);
        assert_eq!(role.theme.as_str(), "spacelab");
        assert_eq!(
            role.haystacks[0].local_files().unwrap().folder,
            Path::new(folder)
        );
    }
}

proptest! {
    #[test]
    fn any_text_is_decoded_or_refused(text in r#"(\{|\}|\[|\]|"name"|"roles"|"haystacks"|"extra"|:|,|"\$\{HOME\}"|1|null|"LocalFiles"| |\n){0,40}"#) {
        if let Err(wrong) = role::parse("config.json", &text, &environment()) {
            prop_assert!(wrong.has_errors());
        }
    }

    #[test]
    fn any_folder_survives_the_file_of_the_first_start(name in "/[^/\\pC]{1,20}(/[^/\\pC]{1,20}){0,3}") {
        prop_assume!(!name.split('/').any(|part| part == ".."));
        let roles = role::parse("config.json", &role::default_role_file(Path::new(&name)), &environment());
        let roles = roles.expect("a generated file is right");
        let files = roles.default_role().haystacks[0].local_files().expect("it is LocalFiles");
        prop_assert_eq!(&files.folder, Path::new(&name));
    }
}
