//! The server's settings: precedence, defaults by system, wrong values by name, documentation.

use std::path::Path;

use config_core::{Colours, Environment, SettingOrigin};
use expect_test::expect;
use search_core::role::{LogLevel, Os, ServerFlags, ServerSettings, keys, parse_environment};

fn settings(variables: &[(&str, &str)], flags: &ServerFlags) -> Result<ServerSettings, String> {
    let home = [("HOME", "/home/me"), ("APPDATA", "/appdata")];
    let environment = home.iter().chain(variables).copied().collect();
    parse_environment(flags, &environment, Os::Linux).map_err(|wrong| wrong.render(Colours::Off))
}

fn with(variables: &[(&str, &str)]) -> ServerSettings {
    settings(variables, &ServerFlags::default()).unwrap_or_else(|wrong| panic!("{wrong}"))
}

#[test]
fn defaults_are_those_of_the_contract() {
    let settings = with(&[]);
    assert_eq!(
        settings.settings_path.value,
        Path::new("/home/me/.config/service/config.json")
    );
    assert_eq!(
        settings.data_path.value,
        Path::new("/home/me/.local/share/service")
    );
    assert_eq!(settings.listen.value.to_string(), "127.0.0.1:8000");
    assert_eq!(settings.listen.origin, SettingOrigin::Default);
    assert_eq!(settings.log_level.value, LogLevel::Info);
    assert_eq!(settings.cache_size.value.bytes(), 16_000_000);
    assert_eq!(settings.max_concurrent_searches.value.get(), 64);
    let limits = [
        settings.max_watched_folders,
        settings.max_learnt_documents,
        settings.max_graph_documents,
    ];
    let limits = limits.map(|limit| limit.value.get());
    assert_eq!(limits, [100_000, 4_000_000, 1_000_000]);
    assert!(settings.api_endpoint.is_none() && settings.api_token.is_none());
    assert!(settings.object_store.is_none() && settings.warnings.is_empty());
}

#[test]
fn contract_sizes_of_the_cache_are_read_as_others_write_them() {
    for (text, bytes) in [
        ("64M", 64 << 20),
        ("1G", 1 << 30),
        ("2k", 2048),
        ("1 T", 1 << 40),
        ("100", 100),
        ("1048576", 1_048_576),
        ("0", 0),
        ("64MB", 64_000_000),
        ("64MiB", 64 << 20),
    ] {
        let settings = with(&[("SERVICE_CACHE_SIZE", text)]);
        assert_eq!(settings.cache_size.value.bytes(), bytes, "{text}");
    }
    for wrong in ["M", "-1", "1.5G", "64X", "99999999999T"] {
        let told = settings(&[("SERVICE_CACHE_SIZE", wrong)], &ServerFlags::default());
        assert!(told.unwrap_err().contains("SERVICE_CACHE_SIZE"), "{wrong}");
    }
}

#[test]
fn contract_the_address_of_the_api_may_end_in_api() {
    for (text, address) in [
        ("http://127.0.0.1:18000/api", "http://127.0.0.1:18000/"),
        ("http://127.0.0.1:18000/api/", "http://127.0.0.1:18000/"),
        ("http://127.0.0.1:18000", "http://127.0.0.1:18000/"),
        ("https://x.example/search/api", "https://x.example/search/"),
        ("https://x.example/myapi", "https://x.example/myapi/"),
    ] {
        let settings = with(&[("SERVICE_SERVER_API_ENDPOINT", text)]);
        let found = settings.api_endpoint.unwrap().value;
        assert_eq!(found.as_str(), address, "{text}");
    }
}

#[test]
fn contract_further_names_of_the_server_are_listed() {
    let hosts = |text| with(&[("SERVICE_HOSTS", text)]).hosts.unwrap_or_default();
    assert_eq!(
        hosts("search.example.org, search"),
        ["search.example.org", "search"]
    );
    assert!(with(&[]).hosts.is_none());
    for wrong in ["http://a", "a b", "a/b", "*.example.org"] {
        let told = settings(&[("SERVICE_HOSTS", wrong)], &ServerFlags::default());
        assert!(told.unwrap_err().contains("is not a host name"), "{wrong}");
    }
}

#[test]
fn each_system_has_its_places() {
    let environment = Environment::from_iter([("HOME", "/home/me"), ("APPDATA", "/appdata")]);
    for (os, settings_path, data_path) in [
        (
            Os::Linux,
            "/home/me/.config/service/config.json",
            "/home/me/.local/share/service",
        ),
        (
            Os::MacOs,
            "/home/me/Library/Application Support/Service/config.json",
            "/home/me/Library/Application Support/Service/data",
        ),
        (
            Os::Windows,
            "/appdata/Service/config.json",
            "/appdata/Service/data",
        ),
    ] {
        let settings = parse_environment(&ServerFlags::default(), &environment, os).unwrap();
        assert_eq!(settings.settings_path.value, Path::new(settings_path));
        assert_eq!(settings.data_path.value, Path::new(data_path));
    }
}

#[test]
fn every_variable_is_read() {
    let settings = with(&[
        ("SERVICE_SETTINGS_PATH", "~/roles.json"),
        ("SERVICE_DATA_PATH", "/srv/data"),
        ("LOG_LEVEL", "WARN"),
        ("SERVICE_SERVER_HOSTNAME", "[::1]:0"),
        ("SERVICE_SERVER_API_ENDPOINT", "http://127.0.0.1:8000"),
        ("SERVICE_CACHE_SIZE", "1GiB"),
        ("SERVICE_MAX_CONCURRENT_SEARCHES", "8"),
        ("SERVICE_API_TOKEN", "t0ken"),
        ("CLOUDSTORE_ACCESS_KEY_ID", "id"),
        ("CLOUDSTORE_SECRET_ACCESS_KEY", "k3y"),
        ("SERVICE_PROFILE_OBJSTORE_REGION", "eu-1"),
        (
            "SERVICE_PROFILE_OBJSTORE_ENDPOINT",
            "https://s3.example.org",
        ),
    ]);
    assert_eq!(
        settings.settings_path.value,
        Path::new("/home/me/roles.json")
    );
    assert_eq!(settings.data_path.value, Path::new("/srv/data"));
    assert_eq!(settings.log_level.value, LogLevel::Warn);
    assert_eq!(settings.listen.value.to_string(), "[::1]:0");
    assert_eq!(
        settings.api_endpoint.as_ref().unwrap().value.as_str(),
        "http://127.0.0.1:8000/"
    );
    assert_eq!(settings.cache_size.value.bytes(), 1 << 30);
    assert_eq!(settings.max_concurrent_searches.value.get(), 8);
    assert_eq!(settings.api_token.as_ref().unwrap().expose(), "t0ken");
    let store = settings.object_store.as_ref().unwrap();
    assert_eq!(
        (
            store.access_key_id.expose().as_str(),
            store.region.as_deref()
        ),
        ("id", Some("eu-1"))
    );
    let shown = format!("{settings:?}");
    assert!(
        !shown.contains("t0ken") && !shown.contains("k3y"),
        "{shown}"
    );
}

#[test]
fn flags_win_over_variables_and_variables_over_defaults() {
    let flags = ServerFlags {
        config: Some("a.json".into()),
        listen: Some("localhost:9".into()),
        ..ServerFlags::default()
    };
    let variables = [
        ("SERVICE_SETTINGS_PATH", "b.json"),
        ("SERVICE_SERVER_HOSTNAME", "nonsense"),
        ("LOG_LEVEL", "debug"),
        ("SERVICE_DATA_PATH", ""),
    ];
    let settings = settings(&variables, &flags).unwrap();
    assert_eq!(settings.settings_path.value, Path::new("a.json"));
    assert_eq!(
        settings.settings_path.origin,
        SettingOrigin::Flag("--config")
    );
    assert_eq!(settings.listen.value.to_string(), "localhost:9");
    assert_eq!(
        settings.log_level.origin,
        SettingOrigin::Variable("LOG_LEVEL")
    );
    assert_eq!(settings.data_path.origin, SettingOrigin::Default);
}

#[test]
fn all_wrong_values_are_named_at_once() {
    let wrong = settings(
        &[
            ("SERVICE_SETTINGS_PATH", "~bob/x"),
            ("LOG_LEVEL", "verbose"),
            ("SERVICE_SERVER_HOSTNAME", "8000"),
            ("SERVICE_SERVER_API_ENDPOINT", "localhost:8000"),
            ("SERVICE_CACHE_SIZE", "64XB"),
            ("SERVICE_MAX_CONCURRENT_SEARCHES", "0"),
            ("SERVICE_API_TOKEN", "two words"),
            ("CLOUDSTORE_ACCESS_KEY_ID", "id"),
            ("SERVICE_PROFILE_OBJSTORE_REGION", " "),
            ("SERVICE_PROFILE_OBJSTORE_ENDPOINT", "s3"),
        ],
        &ServerFlags {
            data: Some(String::new()),
            ..ServerFlags::default()
        },
    );
    expect![[r#"
        SERVICE_SETTINGS_PATH: another user's home folder is not supported
         = help: write the whole path; `./~name` is a folder of that name

        --data: the value is empty

        LOG_LEVEL: unknown level `verbose`
         = help: one of: debug, info, warn, error

        SERVICE_SERVER_HOSTNAME: `8000` is not an address: the host is missing
         = help: write `<host>:<port>`, for example `127.0.0.1:8000`

        SERVICE_SERVER_API_ENDPOINT: `localhost:8000` is not an http or https URL
         = help: did you mean `http://localhost:8000`?

        SERVICE_CACHE_SIZE: `64XB` is not a size
         = help: units: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB

        SERVICE_MAX_CONCURRENT_SEARCHES: `0` is not a number from 1 to 100000

        SERVICE_API_TOKEN: the value holds a blank or a control character

        SERVICE_PROFILE_OBJSTORE_REGION: the value is empty

        SERVICE_PROFILE_OBJSTORE_ENDPOINT: `s3` is not a URL: it does not begin with `http://` or `https://`
         = help: for example `http://127.0.0.1:8000`

        CLOUDSTORE_ACCESS_KEY_ID: it is set without CLOUDSTORE_SECRET_ACCESS_KEY
    "#]]
    .assert_eq(&wrong.unwrap_err());
}

#[test]
fn without_a_home_folder_the_variables_are_named() {
    let environment = Environment::default();
    let wrong = parse_environment(&ServerFlags::default(), &environment, Os::Linux).unwrap_err();
    expect![[r#"
        SERVICE_SETTINGS_PATH: the home folder is unknown: HOME is not set
         = help: set SERVICE_SETTINGS_PATH

        SERVICE_DATA_PATH: the home folder is unknown: HOME is not set
         = help: set SERVICE_DATA_PATH
    "#]]
    .assert_eq(&wrong.to_string());
    let variables = [("SERVICE_SETTINGS_PATH", "/a"), ("SERVICE_DATA_PATH", "/b")];
    let environment = Environment::from_iter(variables);
    assert!(parse_environment(&ServerFlags::default(), &environment, Os::Linux).is_ok());
}

#[test]
fn misspelt_variables_are_warned_of() {
    let settings = with(&[
        ("SERVICE_CACHESIZE", "1MB"),
        ("SERVICE_NAME", "x"),
        ("LOGLEVEL", "x"),
    ]);
    expect![[r#"
        SERVICE_CACHESIZE: warning: unknown environment variable
         = help: did you mean `SERVICE_CACHE_SIZE`?
    "#]]
    .assert_eq(&settings.warnings.to_string());
}

#[test]
fn s15_an_open_address_needs_a_token_or_an_explicit_wish() {
    let open = ("SERVICE_SERVER_HOSTNAME", "0.0.0.0:8000");
    let exposed = with(&[open]);
    expect![[r#"
        SERVICE_SERVER_HOSTNAME: other machines can reach `0.0.0.0:8000` without a token
         = help: set SERVICE_API_TOKEN, or listen on 127.0.0.1
    "#]]
    .assert_eq(
        &exposed
            .check_exposure(false)
            .unwrap_err()
            .render(Colours::Off),
    );
    expect![
        "SERVICE_SERVER_HOSTNAME: warning: other machines can reach `0.0.0.0:8000` without a token"
    ]
    .assert_eq(&exposed.check_exposure(true).unwrap().unwrap().headline());
    let protected = with(&[open, ("SERVICE_API_TOKEN", "t0ken")]);
    assert_eq!(protected.check_exposure(false), Ok(None));
    assert_eq!(with(&[]).check_exposure(false), Ok(None));
}

/// docs/CONFIG.md holds the table of variables as the program knows it.
#[test]
fn the_reference_lists_every_variable() {
    let path = std::path::absolute("../../docs/CONFIG.md").expect("a folder to work in");
    let reference = std::fs::read_to_string(path).expect("docs/CONFIG.md exists");
    let variables = keys().rows;
    for variable in &variables {
        let flag = variable
            .flag
            .map_or("–".to_owned(), |flag| format!("`{flag}`"));
        let default = variable.default.as_ref();
        let text = default.and_then(|default| default.as_str().map(str::to_owned));
        let truth = default.and_then(|default| default.as_bool().map(|truth| truth.to_string()));
        let literal = text
            .or(truth)
            .map_or("none".to_owned(), |text| format!("`{text}`"));
        let default = variable.shown.map_or(literal, str::to_owned);
        let row = format!(
            "| `{}` | {flag} | {} | {default} |",
            variable.key, variable.about
        );
        assert!(
            reference.contains(&row),
            "docs/CONFIG.md lacks the row\n{row}"
        );
    }
    let rows = reference
        .lines()
        .filter(|line| line.starts_with("| `SERVICE_") || line.starts_with("| `CLOUDSTORE_"));
    // `LOG_LEVEL` is the other programs' too: each has a row of its own.
    let own = variables.iter().filter(|one| one.key != "LOG_LEVEL");
    assert_eq!(
        rows.count(),
        own.count(),
        "a row of docs/CONFIG.md names no variable"
    );
}
