//! Bake files: expressions of HCL, what targets become, and the builds that are asked for.

use super::tests::python;

/// A call: a text with files (`=== NAME` begins one), words, `NAME=value;…` of the environment.
type Call<'t> = (&'t str, &'t str, &'t str);

/// What `docker buildx bake --print` shows of each call, as JSON in one line; else what is wrong.
fn shown(calls: &[Call<'_>]) -> Vec<String> {
    const PRINT: &str = "import contextlib, io, json, os, sys, tempfile, bake
before, made = dict(os.environ), []
for text, words, env in json.loads(sys.argv[1]):
    os.environ.clear()
    os.environ.update(before | dict(pair.split('=', 1) for pair in env.split(';') if pair))
    with tempfile.TemporaryDirectory() as folder, io.StringIO() as shown:
        os.chdir(folder)
        for other in text.split('=== ')[1:]:
            path, inner = other.split('\\n', 1)
            open(path, 'w').write(inner)
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
            with contextlib.suppress(SystemExit):
                bake.bake([*words.split(), '--print'])
        made.append(shown.getvalue())
print(json.dumps(made))";
    let calls = serde_json::to_string(calls).unwrap();
    serde_json::from_str(&python(PRINT, &[&calls])).unwrap()
}

/// The value at a pointer of JSON, or the whole text where it is none.
fn at(shown: &str, pointer: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(shown) {
        Ok(value) => value.pointer(pointer).map_or_else(
            || format!("nothing at {pointer}: {shown}"),
            ToString::to_string,
        ),
        Err(_) => shown.to_owned(),
    }
}

/// Expressions, and what they are as a text; of wrong ones what is said.
const EXPRESSIONS: &[(&str, &str)] = &[
    ("1 + 2 * 3", "7"),
    ("(1 + 2) * 3 % 4", "1"),
    ("-V + 0.2", "-1"),
    ("7 / 2", "3.5"),
    ("1 < 2 && !(2 <= 1) || false", "true"),
    ("\"1\" == 1", "false"),
    ("true == true ? \"yes\" : \"no\"", "yes"),
    ("\"a-${V}-$${V}\"", "a-1.2-${V}"),
    ("\"${L[1]}${O.k}${O[\"n\"]}\"", "bv2"),
    (
        "join(\",\", [for i, one in L : \"${i}${one}\" if one != \"a\"])",
        "1b",
    ),
    (
        "join(\",\", [for key, one in O : \"${key}=${one}\"])",
        "k=v,n=2",
    ),
    ("{for one in L : upper(one) => one}.B", "b"),
    (
        "{for one in [\"a1\", \"a2\"] : substr(one, 0, 1) => one...}.a[1]",
        "a2",
    ),
    ("join(\"\", [{ a = 1 }, { a = 2 }][*].a)", "12"),
    ("\"%{ if V == \"1.2\" }new%{ else }old%{ endif }\"", "new"),
    ("\"%{ for one in L ~}  ${one},%{ endfor }\"", "a,b,"),
    (
        "<<-END\n    two ${V}\n      lines\n    END\n",
        "two 1.2\n  lines\n",
    ),
    ("try(O.missing, \"other\")", "other"),
    ("can(O.missing)", "false"),
    ("coalesce(null, \"\", \"x\")", ""),
    (
        "format(\"%s-%03d-%v-%q\", \"a\", 7, true, \"q\")",
        "a-007-true-\\\"q\\\"",
    ),
    ("regex_replace(\"v1.2.3\", \"^v([0-9]+).*\", \"$1\")", "1"),
    ("regex(\"([0-9]+)[.]([0-9]+)\", \"v1.22\")[1]", "22"),
    ("replace(V, \".\", \"-\")", "1-2"),
    (
        "join(\"|\", concat(L, split(\"/\", \"x/y\"), tolist))",
        "there is no variable",
    ),
    ("element(L, 3)", "b"),
    ("length(O) + strlen(\"äb\")", "4"),
    ("lookup(O, \"z\", \"none\")", "none"),
    ("merge(O, { k = \"w\" }).k", "w"),
    ("semvercmp(\"1.10.0\", \"1.9.2\")", "1"),
    (
        "sha256(\"\")",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ),
    ("jsondecode(\"{\\\"a\\\":[1,2]}\").a[1]", "2"),
    ("join(\"\", flatten([[\"a\"], [[\"b\"]]]))", "ab"),
    ("contains(L, \"b\") && notequal(1, 2)", "true"),
    ("sanitize(\"a/b.c\")", "a_b_c"),
    ("BAKE_LOCAL_PLATFORM", "linux/amd64"),
    ("nothing(1)", "there is no function 'nothing'"),
    ("O.missing", "there is no 'missing' in it"),
    ("L[7]", "the list has no element 7"),
    ("L + 1", "a number is needed, not a list"),
    ("\"open", "a text is not closed"),
    ("[1, 2", "`]` is missing"),
];

#[test]
fn i17_expressions_of_bake_files_mean_what_hcl_says() {
    let cases = EXPRESSIONS;
    let file = |expression: &str| {
        format!(
            "=== docker-bake.hcl\nV = \"1.2\"\nL = [\"a\", \"b\"]\nO = {{ k = \"v\", n = 2 }}\ntarget \"default\" {{ args = {{ x = {expression} }} }}\n"
        )
    };
    let files: Vec<String> = cases
        .iter()
        .map(|(expression, _)| file(expression))
        .collect();
    let calls: Vec<Call<'_>> = files.iter().map(|file| (file.as_str(), "", "")).collect();
    for ((expression, expected), shown) in cases.iter().zip(shown(&calls)) {
        let value = at(&shown, "/target/default/args/x").replace("\\n", "\n");
        let fits = value == format!("\"{expected}\"")
            || (value.contains(expected) && value.contains("ERROR"));
        assert!(fits, "{expression}: {value}, expected {expected}");
        if value.contains("ERROR") {
            assert!(value.contains("docker-bake.hcl:"), "{value} names no place");
        }
    }
}

const FILE: &str = r#"=== a.hcl
variable "TAG" { default = "latest" }
variable "DEBUG" { default = false }
variable "COUNT" { default = 3 }
variable "NONE" {}
variable "REPO" {
  default = "ghcr.io/acme"
  validation {
    condition = REPO != ""
    error_message = "name one"
  }
}
function "names" {
  params = [name]
  variadic_params = more
  result = concat(["${REPO}/${name}:${TAG}"], [for one in more : "${REPO}/${name}:${one}"])
}
group "default" { targets = ["app", "all"] }
group "all" { targets = ["worker"] }
target "docker-metadata-action" {}
target "_common" {
  args = { GO = "1.22", EMPTY = null, D = DEBUG, N = COUNT + 1 }
  platforms = ["linux/amd64", "linux/arm64"]
  cache-from = ["type=gha"]
}
target "app" {
  inherits = ["_common", "docker-metadata-action"]
  dockerfile = "app.Dockerfile"
  contexts = { base = "target:base" }
  tags = names("app", "v1")
  cache-from = [{ type = "registry", ref = "x/y" }]
  output = [{ type = "image" }]
}
target "base" {
  dockerfile-inline = <<EOT
FROM scratch
EOT
}
target "worker" {
  name = "worker-${tgt}-${replace(version, ".", "-")}"
  matrix = { tgt = ["foo"], version = ["1.0", "2.0"] }
  target = tgt
  args = { VERSION = version, INLINE = target.base.dockerfile-inline }
}
=== override.json
{"target": {"docker-metadata-action": {"tags": ["x:${TAG}"], "labels": {"a": "b"}, "args": {"V": "1"}}}}
=== compose.yaml
services:
  web.app:
    image: acme/web:${TAG:-none}
    build: {context: ./web, args: {A: 1}, x-bake: {platforms: [linux/arm64]}}
  db: {image: postgres}
=== other.hcl
target "app" { tags = ["only:this"] }
"#;

/// Words of a call with those files, its environment, a pointer into what is printed, and what is
/// there; without a pointer, what is said.
const CALLS: &[(&str, &str, &str, &str)] = &[
    ("-f a.hcl", "", "/group/default/targets", r#"["app","all"]"#),
    (
        "-f a.hcl",
        "",
        "/group/worker/targets",
        r#"["worker-foo-1-0","worker-foo-2-0"]"#,
    ),
    (
        "-f a.hcl",
        "",
        "/target/app/tags",
        r#"["ghcr.io/acme/app:latest","ghcr.io/acme/app:v1"]"#,
    ),
    (
        "-f a.hcl",
        "",
        "/target/app/args",
        r#"{"D":"false","GO":"1.22","N":"4"}"#,
    ),
    (
        "-f a.hcl",
        "",
        "/target/app/platforms/1",
        r#""linux/arm64""#,
    ),
    (
        "-f a.hcl",
        "",
        "/target/app/cache-from",
        r#"["type=gha","type=registry,ref=x/y"]"#,
    ),
    (
        "-f a.hcl",
        "",
        "/target/base/output",
        r#"["type=cacheonly"]"#,
    ),
    (
        "-f a.hcl",
        "",
        "/target/worker-foo-2-0/args/INLINE",
        r#""FROM scratch\n""#,
    ),
    ("-f a.hcl", "", "/target/worker-foo-2-0/context", r#"".""#),
    (
        "-f a.hcl",
        "TAG=1;DEBUG=1;COUNT=9",
        "/target/app/args",
        r#"{"D":"true","GO":"1.22","N":"10"}"#,
    ),
    (
        "-f a.hcl",
        "TAG=1",
        "/target/app/tags/0",
        r#""ghcr.io/acme/app:1""#,
    ),
    (
        "-f a.hcl",
        "DEBUG=maybe",
        "",
        "the variable DEBUG is a boolean",
    ),
    (
        "-f a.hcl",
        "REPO=",
        "",
        "the value of the variable REPO is not right: name one",
    ),
    (
        "-f a.hcl -f override.json app",
        "TAG=2",
        "/target/app/labels/a",
        r#""b""#,
    ),
    (
        "-f a.hcl -f cwd://override.json app",
        "",
        "/target/app/args/V",
        r#""1""#,
    ),
    (
        "-f a.hcl -f other.hcl app",
        "",
        "/target/app/tags",
        r#"["only:this"]"#,
    ),
    (
        "-f a.hcl worker",
        "",
        "/group/default/targets",
        r#"["worker"]"#,
    ),
    ("", "", "/target/web_app/tags", r#"["acme/web:none"]"#),
    ("", "TAG=7", "/target/web_app/tags", r#"["acme/web:7"]"#),
    ("", "", "/target/web_app/platforms", r#"["linux/arm64"]"#),
    ("", "", "/group/default/targets", r#"["web_app"]"#),
    (
        "-f a.hcl app --set app.args.GO=2 --set *.platform=linux/s390x",
        "",
        "/target/app/args/GO",
        r#""2""#,
    ),
    (
        "-f a.hcl app --set *.platform=linux/s390x",
        "",
        "/target/app/platforms",
        r#"["linux/s390x"]"#,
    ),
    (
        "-f a.hcl app --set app.tags+=more:1",
        "",
        "/target/app/tags/2",
        r#""more:1""#,
    ),
    (
        "-f a.hcl app --push",
        "",
        "/target/app/output",
        r#"["type=image,push=true"]"#,
    ),
    (
        "-f a.hcl worker --push",
        "",
        "/target/worker-foo-1-0/output",
        r#"["type=image,push=true"]"#,
    ),
    (
        "-f a.hcl worker --load",
        "",
        "/target/worker-foo-1-0/output",
        r#"["type=docker"]"#,
    ),
    (
        "-f a.hcl app --set x.y",
        "",
        "",
        "it takes target.key=value",
    ),
    (
        "-f a.hcl app --set none.tags=1",
        "",
        "",
        "could not find any target matching 'none'",
    ),
    ("-f a.hcl nobody", "", "", "failed to find target nobody"),
    ("-f missing.hcl", "", "", "missing.hcl: No such file"),
];

#[test]
fn i17_targets_of_bake_files_are_merged_and_inherited() {
    let cases = CALLS;
    let calls: Vec<Call<'_>> = cases
        .iter()
        .map(|(words, env, ..)| (FILE, *words, *env))
        .collect();
    for ((words, env, pointer, expected), shown) in cases.iter().zip(shown(&calls)) {
        let value = at(&shown, pointer);
        let fits = value == *expected || (pointer.is_empty() && value.contains(expected));
        assert!(fits, "{words} {env}: {value}, expected {expected}");
    }
}

#[test]
fn i17_what_bake_builds_is_asked_for_in_words_of_a_build() {
    const WORDS: &str = "import bake, sys, json
targets = json.loads(sys.argv[1])
for name in bake.in_order(targets):
    print(*bake.words_of(targets[name], 'src'))";
    let targets = serde_json::json!({
        "app": {
            "context": "web", "dockerfile": "deploy/Dockerfile", "args": {"A": "b c", "N": null},
            "contexts": {"base": "target:base", "data": "files", "alpine": "docker-image://alpine:3"},
            "tags": ["r/a:1"], "platforms": ["linux/amd64", "linux/arm64"],
            "output": ["type=image,push=true"], "no-cache": true, "network": "default",
        },
        "base": {"dockerfile-inline": "FROM scratch", "output": ["type=cacheonly"]},
        "local": {"context": "cwd://x", "dockerfile": "/abs/D"},
    });
    let shown = python(WORDS, &[&targets.to_string()]);
    let expected = "--output=type=cacheonly src
--build-arg=A=b c --build-context=alpine=docker-image://alpine:3 --build-context=base=container-image://localhost/orrery-bake/base:latest --build-context=data=src/files --tag=r/a:1 --output=type=image,push=true --no-cache --platform=linux/amd64,linux/arm64 --file=src/web/deploy/Dockerfile src/web
--file=/abs/D x";
    assert_eq!(shown, expected);
    let circle = serde_json::json!({
        "a": {"contexts": {"b": "target:b"}}, "b": {"contexts": {"a": "target:a"}},
    });
    let code = WORDS.replace("for name", "import hcl\ntry: bake.in_order(targets)\nexcept hcl.Wrong as wrong: print(wrong); targets = {}\nfor name");
    assert_eq!(
        python(&code, &[&circle.to_string()]),
        "infinite loop from a to a"
    );
}
