//! What `docker buildx bake` answers without a build.

use super::tests::python;

const FILES: &str = r#"=== docker-bake.hcl
variable "TAG" {
  default = "latest"
  description = "what it is called"
}
variable "NONE" {}
variable "COUNT" { default = 3 }
group "default" {
  description = "all"
  targets = ["lib", "app"]
}
target "_common" { args = { GO = "1.22" } }
target "app" {
  inherits = ["_common"]
  description = "the program"
  target = "out"
}
target "lib" { dockerfile-inline = "FROM scratch\n" }
=== Dockerfile
ARG BASE=alpine
# build makes it
FROM ${BASE} AS build
# GO is the release
ARG GO=1.0
RUN --mount=type=secret,id=npm,required=true make
FROM scratch AS out
COPY --from=build /x /x
=== odd.hcl
target "default" { dockerfile = "Odd" }
=== Odd
FROM alpine as Base
WORKDIR app
ENV A b
ARG API_TOKEN
MAINTAINER me
run true
CMD one
CMD two
=== quiet.hcl
target "default" { dockerfile = "Quiet" }
=== Quiet
# check=skip=JSONArgsRecommended,SecretsUsedInArgOrEnv
FROM scratch
ARG PASSWORD
CMD run
"#;

/// What a call prints on both streams, and its exit code.
fn answered(words: &str, env: &str) -> String {
    const CALL: &str = "import contextlib, io, os, sys, tempfile, bake
text, words, env = sys.argv[1:4]
os.environ.update(dict(pair.split('=', 1) for pair in env.split(';') if pair))
with tempfile.TemporaryDirectory() as folder, io.StringIO() as shown:
    os.chdir(folder)
    for other in text.split('=== ')[1:]:
        path, inner = other.split('\\n', 1)
        open(path, 'w').write(inner)
    code = 0
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        try:
            bake.bake(words.split())
        except SystemExit as ended:
            code = ended.code
    print(shown.getvalue() + f'code {code}')";
    python(CALL, &[FILES, words, env])
}

#[test]
fn i17_bake_lists_targets_and_variables_as_buildx_does() {
    let targets = "TARGET\tDESCRIPTION\napp\tthe program\ndefault\tall (app, lib)\nlib\t\ncode 0";
    for words in ["--list=targets", "--list type=targets", "--list-targets"] {
        assert_eq!(answered(words, ""), targets, "{words}");
    }
    let variables = answered("--list=variables", "TAG=7");
    let expected = "VARIABLE\tTYPE\tVALUE\tDESCRIPTION\nCOUNT\t\tnumber\t3\t\nNONE\t\t\t<null>\t\nTAG\t\tstring\t7\twhat it is called\ncode 0";
    assert_eq!(variables, expected);
    let json = answered("--list=type=variables,format=json", "");
    let json: serde_json::Value = serde_json::from_str(json.trim_end_matches("code 0")).unwrap();
    assert_eq!(json[2]["value"], "latest");
    let json = answered("--list=type=targets,format=json", "");
    let json: serde_json::Value = serde_json::from_str(json.trim_end_matches("code 0")).unwrap();
    assert_eq!(
        (&json[1]["name"], &json[1]["group"]),
        (&"default".into(), &true.into())
    );
    let wrong = answered("--list=all", "");
    assert!(
        wrong.contains("invalid type \"all\"") && wrong.ends_with("code 1"),
        "{wrong}"
    );
}

#[test]
fn i17_bake_answers_calls_by_the_dockerfiles() {
    let outline = answered("--call=outline app", "");
    for part in [
        "app\nthe program\n\nTARGET:      out\n",
        "BASE\t\talpine\t\n",
        "GO\t\t1.22\tis the release\n",
        "npm\ttrue",
        "code 0",
    ] {
        assert!(outline.contains(part), "{part:?}: {outline}");
    }
    let targets = answered("--call=targets", "");
    for part in [
        "build\t\tmakes it\nout (default)\t",
        "lib\n\nTARGET\t\tDESCRIPTION\n(default)\t",
    ] {
        assert!(targets.contains(part), "{part:?}: {targets}");
    }
    let json = answered("--call=outline,format=json app", "");
    let json: serde_json::Value = serde_json::from_str(json.trim_end_matches("code 0")).unwrap();
    let app = &json["target"]["app"];
    assert_eq!(app["build"]["target"], "out");
    assert_eq!(app["outline"]["args"][1]["value"], "1.22");
    let wrong = answered("--call=lints app", "");
    assert!(
        wrong.contains("invalid method") && wrong.ends_with("code 1"),
        "{wrong}"
    );
    let absent = answered("--check --set app.target=none app", "");
    assert!(
        absent.ends_with("code 0"),
        "a check needs no target: {absent}"
    );
    let absent = answered("--call=outline --set app.target=none app", "");
    assert!(absent.contains("'none' could not be found"), "{absent}");
}

#[test]
fn i17_bake_checks_dockerfiles_and_says_what_it_does_not_look_at() {
    let fine = answered("--check", "");
    assert!(
        fine.contains("no warnings found.\n") && fine.ends_with("code 0"),
        "{fine}"
    );
    assert!(fine.contains("not looked at are UndefinedVar"), "{fine}");
    let odd = answered("-f odd.hcl --call=check", "");
    for (rule, line) in [
        ("FromAsCasing", 1),
        ("StageNameCasing", 1),
        ("WorkdirRelativePath", 2),
        ("LegacyKeyValueFormat", 3),
        ("SecretsUsedInArgOrEnv", 4),
        ("MaintainerDeprecated", 5),
        ("ConsistentInstructionCasing", 6),
        ("MultipleInstructionsDisallowed", 7),
        ("JSONArgsRecommended", 8),
    ] {
        let warning = odd.split("WARNING: ").find(|part| part.starts_with(rule));
        let warning = warning.unwrap_or_else(|| panic!("{rule}: {odd}"));
        let mut all = odd.split("WARNING: ").filter(|part| part.starts_with(rule));
        let place = format!("\nOdd:{line}\n");
        assert!(
            all.any(|part| part.contains(&place)),
            "{rule} {line}: {warning}"
        );
    }
    assert!(odd.ends_with("code 1"), "{odd}");
    let quiet = answered("-f quiet.hcl --check", "");
    assert!(quiet.contains("no warnings found."), "{quiet}");
}
