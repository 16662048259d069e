//! Wrong configurations give exactly the message beside them; the base they are changes of is
//! right.
//!
//! Each folder of `config-samples/invalid-orchestrator` holds only the files that differ from
//! `base`. `UPDATE_EXPECT=1` writes the messages anew; read the difference before committing it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use config_core::{Colours, Environment, UnknownKeys};
use jiff::tz::TimeZone;
use orchestrator_core::config::{
    CheckedConfig, ConfigFile, ConfigFiles, ConfigHost, FileProblem, Folder, check, locate, routes,
    table,
};

/// A host where folders say by their name what they are.
struct NamedHost;

impl ConfigHost for NamedHost {
    fn has_program(&self, program: &str) -> bool {
        program != "no-such-program"
    }

    fn folder(&self, path: &Path) -> Folder {
        match path.file_name().and_then(|name| name.to_str()) {
            Some("missing") => Folder::Missing,
            Some("plain") => Folder::Plain,
            _ => Folder::Git,
        }
    }

    fn time_zone(&self, name: &str) -> Option<TimeZone> {
        TimeZone::get(name).ok()
    }
}

fn samples() -> PathBuf {
    std::path::absolute("../../config-samples/invalid-orchestrator").expect("a folder to work in")
}

fn environment() -> Environment {
    Environment::from_iter([
        ("ORCH_WEBHOOK_SECRET", "not-for-eyes-webhook-secret"),
        ("FORGE_TOKEN", "not-for-eyes-forge-token"),
    ])
}

/// Every file below a folder, by relative name.
fn read_folder(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("the folder of samples exists") {
            let path = entry.expect("an entry can be read").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).expect("it lies within");
            let name = name.to_str().expect("samples have plain names").to_owned();
            files.insert(name, fs::read(&path).expect("a sample can be read"));
        }
    }
    files
}

/// The base with a sample's files put over it.
fn files(sample: &Path) -> ConfigFiles {
    let mut all = read_folder(&samples().join("base"));
    all.extend(read_folder(sample));
    put_together(all)
}

fn put_together(all: BTreeMap<String, Vec<u8>>) -> ConfigFiles {
    let mut files = ConfigFiles {
        folder: PathBuf::from("/etc/orchestrator"),
        ..ConfigFiles::default()
    };
    for (name, bytes) in all {
        let file = ConfigFile::new(name.clone(), bytes);
        match name.split('/').next().unwrap_or_default() {
            "orchestrator.toml" => files.main = file,
            "conf.d" => files.fragments.push(file),
            "personas" => files.personas.push(file),
            "skills" => files.skills.push(file),
            "routing" => files.routing.push(file),
            "agent_tokens.json" => files.agent_tokens = Some(file),
            "persona_roles_config.json" => files.persona_roles = Some(file),
            "problems.txt" => files.problems = problems(&file),
            "message.txt" | "scenarios" => {}
            other => panic!("{other} is no file of a configuration"),
        }
    }
    files
}

/// What the reader of the files would have noticed.
fn problems(file: &ConfigFile) -> Vec<FileProblem> {
    let text = std::str::from_utf8(&file.bytes).expect("text");
    let problem = |line: &str| {
        let parts: Vec<&str> = line.split('|').collect();
        FileProblem {
            warning: parts[0] == "warning",
            name: parts[1].to_owned(),
            message: parts[2].to_owned(),
            help: parts[3].to_owned(),
            of_secrets: false,
        }
    };
    text.lines().map(problem).collect()
}

/// The files that a page shows: blocks that are named behind the language.
fn files_of_page(page: &str) -> BTreeMap<String, Vec<u8>> {
    let (mut files, mut open) = (BTreeMap::new(), None::<(String, String)>);
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (Some((name, text)), Some("")) => {
                files.insert(name.clone(), text.clone().into_bytes());
                open = None;
            }
            (Some((_, text)), _) => *text += &format!("{line}\n"),
            (None, Some(info)) => {
                let name = info.split_once(' ').map(|(_, name)| name.to_owned());
                open = name.map(|name| (name, String::new()));
            }
            (None, None) => {}
        }
    }
    files
}

#[test]
fn the_page_about_agents_shows_a_configuration_that_is_right() {
    let page = std::path::absolute("../../docs/AGENTS.md").expect("a folder to work in");
    let page = fs::read_to_string(page).expect("the page is there");
    let files = files_of_page(&page);
    assert_eq!(files.len(), 7, "{:?}", files.keys());
    let variables = [
        ("ORCH_WEBHOOK_SECRET", "not-for-eyes-webhook-secret"),
        ("SITE_DIR", "/srv/site"),
    ];
    let environment = Environment::from_iter(variables);
    let checked = check(
        &put_together(files),
        &environment,
        &NamedHost,
        UnknownKeys::Refuse,
    );
    let checked = checked.unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(checked.config.agents.len(), 4);
    assert_eq!(checked.config.search_roles["reviewer"], "Rust Engineer");
    assert_eq!(checked.config.skills.len(), 1);
    let route = checked.config.routing.route("an audit of it", |_| true);
    assert_eq!(route.expect("a route").1.model, "opus");
}

fn wrong_samples() -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(samples()).expect("the folder of samples exists");
    let paths = entries.map(|entry| entry.expect("an entry can be read").path());
    paths.filter(|path| !path.ends_with("base")).collect()
}

fn base() -> CheckedConfig {
    let files = files(&samples().join("base"));
    let checked = check(&files, &environment(), &NamedHost, UnknownKeys::Refuse);
    checked.unwrap_or_else(|wrong| panic!("{wrong}"))
}

#[test]
fn the_base_is_right_and_its_routing_table_is_shown() {
    let checked = base();
    assert!(checked.warnings.is_empty(), "{}", checked.warnings);
    let rows = routes(&checked.config);
    expect_test::expect![[r#"
        PROJECT  AGENT           LAYER   CLI     MODEL  SCHEDULE                  STATUS            LIMIT  PARALLEL
        main     build-runner    core    sh      -      -                         orch/build        1800s  1
        main     drift-detector  growth  codex   -      30 6 * * * Europe/Berlin  -                 7200s  1
        main     pr-reviewer     core    claude  -      -                         orch/pr-reviewer  600s   1
        tools    developer       core    claude  -      -                         -                 1200s  1
    "#]]
    .assert_eq(&table(&rows));
    assert!(rows.iter().any(|row| row.own_token));
}

#[test]
fn each_wrong_configuration_gives_its_message() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut different = Vec::new();
    let wrong = wrong_samples();
    assert!(wrong.len() >= 60, "{} samples", wrong.len());
    for path in wrong {
        let checked = check(
            &files(&path),
            &environment(),
            &NamedHost,
            UnknownKeys::Refuse,
        );
        let found = match checked {
            Ok(_) => panic!(
                "{}: the sample is right, but should be wrong",
                path.display()
            ),
            Err(wrong) => wrong.render(Colours::Off),
        };
        let beside = path.join("message.txt");
        if update {
            fs::write(&beside, &found).expect("the message can be written");
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        if found != expected {
            let shown = beside.display();
            different.push(format!("{shown}\nexpected:\n{expected}\nfound:\n{found}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn i18_an_agents_own_memory_is_that_of_its_vm() {
    let memory = |machine: &str, agent: &str| {
        let main = format!(
            "{}\n[vm_hosts.east]\nurl = \"http://vms.example:3100\"\n[machines.large]\nmemory = \"4GiB\"\n",
            crate::fleet::MAIN
        );
        let guard = "name = \"guard\"\nlayer";
        let wanted = format!("isolation = \"vm\"\n{machine}{agent}{guard}");
        let config = crate::fleet::config_of(&main.replace(guard, &wanted));
        let (project, name) = ("main".parse().unwrap(), "guard".parse().unwrap());
        config
            .machine(config.agent(&project, &name).unwrap())
            .vm
            .mem_mib
    };
    assert_eq!(memory("", ""), None);
    assert_eq!(memory("machine = \"large\"\n", ""), Some(4096));
    let own = "max_memory_bytes = 1073741825\n";
    assert_eq!(memory("machine = \"large\"\n", own), Some(1025));
    assert_eq!(memory("", "max_memory_bytes = 1048576\n"), Some(128));
}

#[test]
fn o08_no_message_shows_a_secret() {
    for path in wrong_samples() {
        let message = fs::read_to_string(path.join("message.txt")).expect("a message");
        assert!(!message.contains("not-for-eyes"), "{}", path.display());
    }
    let shown = format!("{:?}", base().config);
    assert!(!shown.contains("not-for-eyes"));
}

#[test]
fn the_lenient_mode_takes_unknown_keys() {
    let sample = samples().join("045-agent-unknown-key");
    let lenient = check(
        &files(&sample),
        &environment(),
        &NamedHost,
        UnknownKeys::Warn,
    );
    let checked = lenient.unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(checked.warnings.len(), 1, "{}", checked.warnings);
}

#[test]
fn without_mentions_a_warning_says_so() {
    let mut files = files(&samples().join("base"));
    let text = String::from_utf8(files.main.bytes).expect("text");
    let (before, after) = text.split_once("[mentions]").expect("a table");
    let (_, after) = after.split_once("\n\n").expect("an end");
    files.main.bytes = format!("{before}{after}").into_bytes();
    let checked = check(&files, &environment(), &NamedHost, UnknownKeys::Refuse);
    let checked = checked.unwrap_or_else(|wrong| panic!("{wrong}"));
    let warning = "orchestrator.toml: warning: there is no `[mentions]`: every webhook is dropped";
    assert!(
        checked.warnings.to_string().contains(warning),
        "{}",
        checked.warnings
    );
    assert!(checked.config.mentions.is_none());
}

#[test]
fn folders_are_found_even_in_a_file_that_is_wrong() {
    let main = ConfigFile::new(
        "orchestrator.toml",
        "persona_data_dir = \"who\"\ntick_interval_secs = \"x\"\nbogus = 1\nskills_dir = \"../x\"\n",
    );
    let found = locate(&main, Path::new("/etc/orch"), &Environment::default());
    assert_eq!(found.personas, Path::new("/etc/orch/who"));
    assert_eq!(found.skills, Path::new("/etc/orch/skills"));
    let broken = ConfigFile::new("orchestrator.toml", "= = =");
    let found = locate(&broken, Path::new("/etc/orch"), &Environment::default());
    assert_eq!(found.personas, Path::new("/etc/orch/personas"));
}
