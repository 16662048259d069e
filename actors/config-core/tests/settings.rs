//! Settings as rows: reading, layers, schema, and what is in force.

use std::path::{Path, PathBuf};

use config_core::{
    BOOLEAN, Choices, ConfigInput, Diagnostics, Environment, FILE_PATH, SECRET, Secret, Setting,
    SettingOrigin, TextKind, ValueError, choice, integer, list, map, opt, record, render_effective,
    set, table,
};
use serde_json::json;

#[derive(Debug)]
struct Server {
    listen: Setting<String>,
    data: Option<PathBuf>,
    mode: u8,
    pool: Pool,
    token: Option<Secret<String>>,
    jobs: Vec<Job>,
    vars: Vec<(String, String)>,
    key: Option<Secret<String>>,
}

#[derive(Debug, Default)]
struct Pool {
    clones: usize,
    warm: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Job {
    name: String,
    secret: Option<Secret<String>>,
}

const MODES: &Choices<u8> = &[("fast", 0), ("safe", 1)];

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: Setting {
                value: "127.0.0.1:1".to_owned(),
                origin: SettingOrigin::Default,
            },
            data: None,
            mode: 1,
            pool: Pool {
                clones: 2,
                warm: false,
            },
            token: None,
            jobs: Vec::new(),
            vars: Vec::new(),
            key: None,
        }
    }
}

table! {
    /// A server.
    static SERVER: Server = "the server's configuration" {
        /// listen address
        "listen" (variable "LISTEN", flag "--listen") = set(TextKind::STRING) => listen;
        /// where state is kept
        "data_dir" (documented_default "beside the program") = opt(FILE_PATH) => data;
        /// how it runs
        "mode" = choice("mode", MODES) => mode;
        /// what waits
        "pool" { POOL } => pool;
        /// what requests carry
        "token" = opt(SECRET) => token;
        /// what is done
        "jobs" = list(record(&JOB, Job::default)) => jobs;
        /// further values
        "vars" = map(TextKind::STRING) => vars;
        /// a key that no file has
        "KEY" (variable "KEY", no_key) = opt(SECRET) => key;
        /// read by code
        "other" = BOOLEAN;
    } then |fields, server| {
        if server.pool.clones > 2 && server.mode == 0 {
            fields.error_at("mode", "`fast` keeps two clones at most");
        }
    };

    static POOL: Pool = "[pool]" {
        /// clones
        "clones" = integer(0..=9) => clones;
        /// whether they are warm
        "warm" = BOOLEAN => warm;
    }

    static JOB: Job = "a job" {
        /// its name
        "name" (required) = TextKind::STRING => name;
        /// its secret
        "secret" = opt(SECRET) => secret;
    }
}

const FILE: &str = "data_dir = \"state\"\ntoken = \"t0ken\"\n[pool]\nclones = 3\n\
    [[jobs]]\nname = \"a\"\nsecret = \"s3cret\"\n[vars]\nx = \"${HOME}\"\n";

fn environment() -> Environment {
    Environment::from_iter([
        ("LISTEN", "0.0.0.0:2"),
        ("KEY", "k3y"),
        ("HOME", "/home/me"),
    ])
}

fn read(text: &str) -> Result<Server, Diagnostics> {
    let environment = environment();
    let input = ConfigInput::toml("server.toml", text, &environment).base(Path::new("/etc"));
    input
        .decode(|item| SERVER.read_new(item))
        .map(|decoded| decoded.value)
}

#[test]
fn rows_read_into_the_struct_and_defaults_are_its_own() {
    let mut server = read(FILE).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(server.data.as_deref(), Some(Path::new("/etc/state")));
    assert_eq!((server.pool.clones, server.pool.warm), (3, false));
    assert_eq!(server.mode, 1, "the default");
    assert_eq!(server.jobs.len(), 1);
    assert_eq!(server.vars, [("x".to_owned(), "/home/me".to_owned())]);
    assert_eq!(server.listen.origin, SettingOrigin::Default);
    let mut wrong = Diagnostics::default();
    SERVER.override_with(
        &mut server,
        &[("--listen", None)],
        &environment(),
        &mut wrong,
    );
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(server.listen.origin, SettingOrigin::Variable("LISTEN"));
    assert!(server.key.is_some() && server.token.is_some());
    let flags = [("--listen", Some("here"))];
    SERVER.override_with(&mut server, &flags, &environment(), &mut wrong);
    assert_eq!(server.listen.origin, SettingOrigin::Flag("--listen"));
}

#[test]
fn mistakes_are_told_with_their_places_and_all_at_once() {
    let wrong = read(
        "mode = \"fast\"\nKEY = \"x\"\npol = 1\n[pool]\nclones = 10\n[[jobs]]\nsecret = \"s3cret\"\n",
    );
    let wrong = wrong.expect_err("five mistakes").to_string();
    for part in [
        "server.toml:2:1: unknown key `KEY`",
        "server.toml:3:1: unknown key `pol`",
        "server.toml:5:10: the number must be from 0 to 9",
        "missing key `name` in a job",
    ] {
        assert!(wrong.contains(part), "{part}: {wrong}");
    }
    assert!(!wrong.contains("s3cret"), "{wrong}");
    let together = read("mode = \"fast\"\n[pool]\nclones = 3\n").expect_err("too many");
    assert!(
        together.to_string().contains("server.toml:1:8"),
        "{together}"
    );
}

#[test]
fn the_schema_says_what_the_rows_say() {
    let schema = SERVER.describe(&Server::default()).schema("server.toml");
    let properties = &schema["properties"];
    assert_eq!(
        properties["listen"],
        json!({"type": "string", "minLength": 1, "description": "listen address", "default": "127.0.0.1:1", "x-variable": "LISTEN", "x-flag": "--listen"})
    );
    assert_eq!(
        properties["pool"]["properties"]["clones"],
        json!({"type": "integer", "minimum": 0, "maximum": 9, "description": "clones", "default": 2})
    );
    assert_eq!(properties["mode"]["enum"], json!(["fast", "safe"]));
    assert_eq!(properties["mode"]["default"], "safe");
    assert_eq!(properties["jobs"]["items"]["required"], json!(["name"]));
    assert_eq!(properties["token"]["writeOnly"], true);
    assert_eq!(properties["KEY"], json!(null), "no file has it");
    assert_eq!(schema["x-variables"]["KEY"]["x-variable"], "KEY");
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn what_is_in_force_names_its_origin_and_shows_no_secret() {
    let environment = environment();
    let keys = SERVER.describe(&Server::default());
    let input = ConfigInput::toml("server.toml", FILE, &environment);
    let shown = render_effective(&input.effective(&keys, &[]).expect("it is right"));
    let expected = "listen = \"0.0.0.0:2\"  # LISTEN\n\
        data_dir = \"state\"  # server.toml:1\n\
        mode = \"safe\"  # default\n\
        pool.clones = 3  # server.toml:4\n\
        pool.warm = false  # default\n\
        token = ***  # server.toml:2\n\
        jobs[0].name = \"a\"  # server.toml:6\n\
        jobs[0].secret = ***  # server.toml:7\n\
        vars.x = \"${HOME}\"  # server.toml:9\n\
        KEY = ***  # KEY\n\
        # other is not set\n";
    assert_eq!(shown, expected);
    let flagged = input.effective(&keys, &[("--listen", Some("here"))]);
    let flagged = render_effective(&flagged.expect("it is right"));
    assert!(
        flagged.starts_with("listen = \"here\"  # --listen\n"),
        "{flagged}"
    );
}

struct Size {
    size: Setting<u32>,
}

const NUMBER: TextKind<u32> = TextKind::new(
    "number",
    |text| {
        let wrong = |_| ValueError::new(format!("`{text}` is not a number"));
        text.parse().map_err(wrong)
    },
    u32::to_string,
);

table! {
    static SIZE: Size = "the file" {
        /// a size
        "size" (variable "SIZE", flag "--size") = set(NUMBER) => size;
    }
}

fn layered(
    flag: Option<&str>,
    variable: Option<&str>,
    file: Option<u32>,
) -> Result<Setting<u32>, String> {
    let environment: Environment = variable.map(|value| ("SIZE", value)).into_iter().collect();
    let (value, origin) = file.map_or((4, SettingOrigin::Default), |value| {
        (value, SettingOrigin::File)
    });
    let mut size = Size {
        size: Setting { value, origin },
    };
    let mut wrong = Diagnostics::default();
    SIZE.override_with(&mut size, &[("--size", flag)], &environment, &mut wrong);
    match wrong.iter().next() {
        Some(diagnostic) => Err(diagnostic.headline()),
        None => Ok(size.size),
    }
}

#[test]
fn the_first_layer_that_speaks_wins() {
    const FLAG: SettingOrigin = SettingOrigin::Flag("--size");
    const VARIABLE: SettingOrigin = SettingOrigin::Variable("SIZE");
    for (flag, variable, file, value, origin) in [
        (None, None, None, 4, SettingOrigin::Default),
        (None, None, Some(3), 3, SettingOrigin::File),
        (None, Some("2"), None, 2, VARIABLE),
        (None, Some("2"), Some(3), 2, VARIABLE),
        (Some("1"), None, None, 1, FLAG),
        (Some("1"), None, Some(3), 1, FLAG),
        (Some("1"), Some("2"), None, 1, FLAG),
        (Some("1"), Some("2"), Some(3), 1, FLAG),
        (None, Some(""), Some(3), 3, SettingOrigin::File),
        (None, Some(""), None, 4, SettingOrigin::Default),
        (Some("1"), Some("x"), None, 1, FLAG),
    ] {
        let row = format!("{flag:?} {variable:?} {file:?}");
        let found = layered(flag, variable, file);
        assert_eq!(found, Ok(Setting { value, origin }), "{row}");
    }
}

#[test]
fn a_wrong_value_names_its_layer() {
    let wrong = |flag, variable| layered(flag, variable, Some(3)).unwrap_err();
    assert_eq!(wrong(Some("x"), Some("2")), "--size: `x` is not a number");
    assert_eq!(wrong(Some(""), Some("2")), "--size: `` is not a number");
    assert_eq!(wrong(None, Some("x")), "SIZE: `x` is not a number");
}
