//! A small file format of its own, read the way products read theirs.

use config_core::{
    Colours, ConfigFormat, ConfigInput, ConfigItem, DecodeResult, Diagnostics, Environment,
    ObjectFields, Secret, Severity, UnknownKeys,
};
use expect_test::{Expect, expect};

#[derive(Debug, PartialEq)]
struct Agent {
    name: String,
    kind: u8,
    seconds: i64,
    token: Option<Secret<String>>,
}

fn agent(item: &ConfigItem<'_>) -> Option<Agent> {
    item.fields(
        "an agent",
        &["name", "kind", "seconds", "token", "home"],
        |fields| {
            let name = fields.required("name", ConfigItem::string);
            let kind = fields.required("kind", |item| {
                item.choice("kind", &[("shell", 1), ("model", 2), ("old-shell", 1)])
            });
            let seconds = fields.optional("seconds", |item| item.integer(1..=7200));
            let token = fields.optional("token", ConfigItem::secret);
            fields.optional("home", ConfigItem::http_url);
            Some(Agent {
                name: name?,
                kind: kind?,
                seconds: seconds.unwrap_or(600),
                token,
            })
        },
    )
}

fn agents(item: &ConfigItem<'_>) -> Option<Vec<Agent>> {
    item.fields("the file", &["agents"], |fields: &ObjectFields<'_>| {
        fields.required("agents", |item| {
            item.non_empty_list("at least one agent is needed", agent)
        })
    })
}

fn decode(text: &str, format: ConfigFormat) -> Result<DecodeResult<Vec<Agent>>, Diagnostics> {
    let environment = Environment::from_iter([
        ("TOKEN", "sk-123\"${X}"),
        ("KIND", "sk-secret"),
        ("EMPTY", ""),
    ]);
    ConfigInput::new("agents", text, format, &environment).decode(agents)
}

#[track_caller]
fn check(text: &str, format: ConfigFormat, expected: &Expect) {
    let wrong = decode(text, format).expect_err("the text is wrong");
    expected.assert_eq(&wrong.render(Colours::Off));
}

#[test]
fn both_languages_give_the_same_value() {
    let json = r#"{"agents": [{"name": "a", "kind": "old-shell", "token": "${TOKEN}$$"}]}"#;
    let toml = "[[agents]]\nname = 'a'\nkind = \"shell\"\ntoken = '''${TOKEN}$$'''\n";
    let text = json;
    let json = decode(json, ConfigFormat::Json).unwrap();
    let toml = decode(toml, ConfigFormat::Toml).unwrap();
    assert_eq!((&json.value, &json.warnings), (&toml.value, &toml.warnings));
    let secret = &json.secrets[0];
    assert_eq!(secret.key_path, "agents[0].token");
    assert_eq!(&text[secret.range.clone()], "${TOKEN}$$");
    let token = json.value[0].token.as_ref().unwrap();
    assert_eq!(token.expose(), "sk-123\"${X}$");
    assert_eq!((json.value[0].kind, json.value[0].seconds), (1, 600));
}

#[test]
fn every_mistake_is_reported_in_the_order_of_the_text() {
    let text = r#"{
  "agents": [
    {"name": "", "kind": "shel", "seconds": 0},
    {"nmae": "x", "kind": 5, "token": 5, "home": "localhost"},
    {"name": null, "kind": "perl", "kind": "shell", "colour": true},
    7
  ]
}"#;
    check(
        text,
        ConfigFormat::Json,
        &expect![[r#"
        agents:3:14: the string must not be empty
          |
        3 |     {"name": "", "kind": "shel", "seconds": 0},
          |              ^^

        agents:3:26: unknown kind `shel`
          |
        3 |     {"name": "", "kind": "shel", "seconds": 0},
          |                          ^^^^^^
          = help: did you mean `shell`?

        agents:3:45: the number must be from 1 to 7200
          |
        3 |     {"name": "", "kind": "shel", "seconds": 0},
          |                                             ^

        agents:4:6: unknown key `nmae` in an agent
          |
        4 |     {"nmae": "x", "kind": 5, "token": ***, "home": "localhost"},
          |      ^^^^^^
          = help: did you mean `name`?

        agents:4:27: expected a string, found integer 5
          |
        4 |     {"nmae": "x", "kind": 5, "token": ***, "home": "localhost"},
          |                           ^

        agents:4:39: expected a string
          |
        4 |     {"nmae": "x", "kind": 5, "token": ***, "home": "localhost"},
          |                                       ^^^

        agents:4:50: `localhost` is not a URL: it does not begin with `http://` or `https://`
          |
        4 |     {"nmae": "x", "kind": 5, "token": ***, "home": "localhost"},
          |                                                    ^^^^^^^^^^^
          = help: did you mean `http://localhost`?

        agents:5:14: expected a string, found null
          |
        5 |     {"name": null, "kind": "perl", "kind": "shell", "colour": true},
          |              ^^^^

        agents:5:28: unknown kind `perl`
          |
        5 |     {"name": null, "kind": "perl", "kind": "shell", "colour": true},
          |                            ^^^^^^
          = help: one of: shell, model

        agents:5:36: key `kind` is written twice
          |
        5 |     {"name": null, "kind": "perl", "kind": "shell", "colour": true},
          |                                    ^^^^^^
          = help: it is on line 5 already

        agents:5:53: unknown key `colour` in an agent
          |
        5 |     {"name": null, "kind": "perl", "kind": "shell", "colour": true},
          |                                                     ^^^^^^^^
          = help: known keys: name, kind, seconds, token, home

        agents:6:5: expected an object, found integer 7
          |
        6 |     7
          |     ^
    "#]],
    );
}

#[test]
fn toml_points_at_keys_values_and_headers() {
    let text = "agent = 1\n\n[[agents]]\nname = 5\n\t\tkind = \"${NOPE} ${TOKENS}\"\n";
    check(
        text,
        ConfigFormat::Toml,
        &expect![[r#"
        agents:1:1: unknown key `agent` in the file
          |
        1 | agent = 1
          | ^^^^^
          = help: known keys: agents

        agents:4:8: expected a string, found integer 5
          |
        4 | name = 5
          |        ^

        agents:5:11: environment variable `NOPE` is not set
          |
        5 |         kind = "${NOPE} ${TOKENS}"
          |                 ^^^^^^^
          = help: set it, or write `$$` for a plain `$`

        agents:5:19: environment variable `TOKENS` is not set
          |
        5 |         kind = "${NOPE} ${TOKENS}"
          |                         ^^^^^^^^^
          = help: did you mean `TOKEN`?
    "#]],
    );
}

#[test]
fn several_syntax_errors_and_the_mistakes_beside_them() {
    let text = r#"{
  // the agents
  "agents": [
    {"name": 'a', "kind": "shell",},
    {"name": "b" "kind": "mdel"},
  ],
}"#;
    check(
        text,
        ConfigFormat::Json,
        &expect![[r#"
        agents:2:3: comments are not allowed in JSON
          |
        2 |   // the agents
          |   ^^^^^^^^^^^^^
          = help: remove it

        agents:4:14: strings stand in double quotes
          |
        4 |     {"name": 'a', "kind": "shell",},
          |              ^^^
          = help: write `"` instead of `'`

        agents:4:34: a comma after the last element is not allowed
          |
        4 |     {"name": 'a', "kind": "shell",},
          |                                  ^
          = help: remove it

        agents:5:18: expected `,` between elements
          |
        5 |     {"name": "b" "kind": "mdel"},
          |                  ^^^^^^

        agents:5:26: unknown kind `mdel`
          |
        5 |     {"name": "b" "kind": "mdel"},
          |                          ^^^^^^
          = help: did you mean `model`?

        agents:5:33: a comma after the last element is not allowed
          |
        5 |     {"name": "b" "kind": "mdel"},
          |                                 ^
          = help: remove it

        agents:6:4: a comma after the last element is not allowed
          |
        6 |   ],
          |    ^
          = help: remove it
    "#]],
    );
}

#[test]
fn what_a_variable_holds_is_not_shown() {
    let text = r#"{"agents": [
  {"name": "${EMPTY}", "kind": "${KIND}", "home": "x${KIND}"}
]}"#;
    let wrong = decode(text, ConfigFormat::Json).unwrap_err();
    let shown = wrong.render(Colours::Off) + &serde_json::to_string(&wrong).unwrap();
    assert!(!shown.contains("sk-secret"), "{shown}");
    check(
        text,
        ConfigFormat::Json,
        &expect![[r#"
        agents:2:12: the string must not be empty
          |
        2 |   {"name": "${EMPTY}", "kind": "${KIND}", "home": "x${KIND}"}
          |            ^^^^^^^^^^

        agents:2:32: unknown kind `${KIND}`
          |
        2 |   {"name": "${EMPTY}", "kind": "${KIND}", "home": "x${KIND}"}
          |                                ^^^^^^^^^
          = help: one of: shell, model

        agents:2:51: `x${KIND}` is not a URL: it does not begin with `http://` or `https://`
          |
        2 |   {"name": "${EMPTY}", "kind": "${KIND}", "home": "x${KIND}"}
          |                                                   ^^^^^^^^^^
          = help: for example `http://127.0.0.1:8000`
    "#]],
    );
}

#[test]
fn a_secret_on_a_wrong_line_is_not_shown() {
    let text = r#"{"agents": [{"name": 5, "kind": "shell", "token": "sk-1"}], "api_key": "sk-2"}"#;
    let shown = decode(text, ConfigFormat::Json).unwrap_err().to_string();
    assert!(!shown.contains("sk-"), "{shown}");
    let broken = r#"{"agents": [{"token": "sk-1", 5"#;
    let shown = decode(broken, ConfigFormat::Json).unwrap_err().to_string();
    assert!(!shown.contains("sk-"), "{shown}");
}

#[test]
fn unknown_keys_can_be_warnings() {
    let text = "[[agents]]\nname = 'a'\nkind = 'shell'\nsecond = 5\n";
    let environment = Environment::default();
    let input = ConfigInput::toml("agents.toml", text, &environment);
    assert!(input.decode(agents).is_err());
    let decoded = input
        .unknown_keys(UnknownKeys::Warn)
        .decode(agents)
        .unwrap();
    assert_eq!(decoded.value[0].seconds, 600);
    assert!(
        decoded
            .warnings
            .iter()
            .all(|warning| warning.severity == Severity::Warning)
    );
    expect![[r#"
        agents.toml:4:1: warning: unknown key `second` in an agent
          |
        4 | second = 5
          | ^^^^^^
          = help: did you mean `seconds`?
    "#]]
    .assert_eq(&decoded.warnings.render(Colours::Off));
}

#[test]
fn key_paths_are_for_programs() {
    let text = r#"{"agents": [{"name": "a", "kind": "shell"}, {"name": 5, "kind": "x"}]}"#;
    let wrong = decode(text, ConfigFormat::Json).unwrap_err();
    let paths: Vec<&str> = wrong
        .iter()
        .map(|diagnostic| diagnostic.key_path.as_str())
        .collect();
    assert_eq!(paths, ["agents[1].name", "agents[1].kind"]);
}
