//! What the programs of the engine make of words and files, asked by Python without a machine.

use std::process::Command;

use super::ENGINE;

/// What a line of Python says that sees the programs of the engine; its words are `words`.
pub(super) fn python(line: &str, words: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in ENGINE {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut command = Command::new("python3");
    command.args(["-B", "-c", line]).args(words);
    let output = command.env("PYTHONPATH", folder.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// What the engine's script would run in its namespace; with a socket, or without.
fn engine(words: &[&str], with_socket: bool) -> String {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().to_str().unwrap();
    let socket = folder.path().join("docker.sock");
    let _socket = with_socket.then(|| std::os::unix::net::UnixListener::bind(socket).unwrap());
    let (_, script) = ENGINE
        .iter()
        .find(|(name, _)| *name == "engine.sh")
        .unwrap();
    let enter = "nsenter --target \"$(cat $here/pid)\" --user --mount --net --preserve-credentials -- \"$@\"";
    assert!(script.contains(enter), "the test takes the place of that");
    let script = script.replace(enter, "echo \"$@\"");
    let script = script.replace("here=/tmp/.runner/containers", &format!("here={here}"));
    let mut command = Command::new("sh");
    let output = command.args(["-c", &script, "sh"]).args(words).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    said.trim().replace(here, "HERE")
}

#[test]
fn i17_a_docker_action_has_the_socket_where_the_job_has_it() {
    let words = ["step", "podman", "run", "--rm", "image", "argument"];
    assert_eq!(
        engine(&words, true),
        "podman run --volume=HERE/docker.sock:/var/run/docker.sock --rm image argument"
    );
    assert_eq!(engine(&words, false), "podman run --rm image argument");
}

#[test]
fn i17_podman_of_a_script_works_where_containers_may() {
    let said = engine(&["podman", "push", "forge.example/acme/a b"], false);
    assert!(
        said.ends_with("podman push forge.example/acme/a b"),
        "{said}"
    );
}

const PLAN: &str = "import sys, platforms
platforms.os.path.exists = lambda path: True
import build
try:
    made = build.plan(sys.argv[1:])
    print(*made.words, '|', made.context, '|', *made.tags, '|', made.push, *made.archives,
          *made.trees, *made.platforms, *made.by_digest, *made.notes)
except build.Unable as wrong:
    print(wrong)";

#[test]
fn i17_what_a_build_is_asked_for_is_podmans() {
    for (words, expected) in [
        (
            "--load -t a:1 --platform=linux/amd64 --target last .",
            "--target=last | . | a:1 | False linux/amd64",
        ),
        (
            "--push --tag=r/a --build-arg A=b --progress plain -f x/D ctx",
            "--build-arg=A=b --file=x/D --layers=false | ctx | r/a | True",
        ),
        (
            "--output type=docker,dest=/t.tar --pull --provenance=false .",
            "--pull=newer | . | | False ('docker', '/t.tar')",
        ),
        (
            "--output=type=image,name=r/a,push=true --cache-to type=inline .",
            "| . | r/a | True --cache-to has no effect: no cache is kept beyond the job",
        ),
        (
            "--output=type=image,\"name=r/a,r/b\",push=true -o out .",
            "| . | r/a r/b | True ('local', 'out')",
        ),
        ("--push .", "--push needs a --tag"),
        ("--what .", "docker build --what is not given here"),
        (
            "--platform linux/arm64/v8,aarch64,linux/x86_64,arm/v7 --push -t a .",
            "| . | a | True linux/arm64 linux/amd64 linux/arm/v7",
        ),
        (
            "-t ghcr.io/a/b --output=type=image,push-by-digest=true,name-canonical=true,push=true .",
            "| . | | False ghcr.io/a/b",
        ),
        (
            "--platform linux/arm64,linux/amd64 --load .",
            "--load takes an image of one platform; push one of several, or write it to a file (`type=oci,dest=…`)",
        ),
        (
            "--platform linux/mips64le .",
            "--platform linux/mips64le: machines here run linux/amd64, linux/386, linux/arm64, linux/arm, linux/ppc64le, linux/riscv64, linux/s390x",
        ),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let shown = python(PLAN, &words);
        let shown: Vec<&str> = shown.split_whitespace().collect();
        assert_eq!(shown.join(" "), expected, "{words:?}");
    }
}

#[test]
fn i17_a_platform_without_its_emulator_says_which_image_has_it() {
    const ASK: &str = "import platforms
platforms.EMULATOR = '/nowhere/{}'
print(platforms.supported())
try: platforms.chosen('linux/arm64')
except platforms.Unable as wrong: print(wrong)";
    let shown = python(ASK, &[]);
    assert!(shown.starts_with("['linux/amd64', 'linux/386']"), "{shown}");
    assert!(shown.contains("`vm-manager image build full`"), "{shown}");
}

#[test]
fn i17_images_that_set_up_emulators_are_answered_without_them() {
    const ASK: &str = "import sys, platforms
platforms.os.path.exists = lambda path: 'aarch64' in path
import emulators
emulators.emulators(sys.argv[1:])";
    let run = |line: &str| python(ASK, &line.split(' ').collect::<Vec<_>>());
    let all = run("run --rm --privileged docker.io/tonistiigi/binfmt:latest");
    let told: serde_json::Value = serde_json::from_str(&all).unwrap();
    assert_eq!(told["emulators"], serde_json::json!(["qemu-aarch64"]));
    let platforms = serde_json::json!(["linux/amd64", "linux/386", "linux/arm64"]);
    assert_eq!(told["supported"], platforms);
    assert_eq!(
        run("run --privileged tonistiigi/binfmt:qemu-v8 --install all"),
        all
    );
    assert_eq!(
        run("pull tonistiigi/binfmt:latest"),
        "tonistiigi/binfmt:latest"
    );
    assert!(run("image inspect tonistiigi/binfmt:latest").starts_with("[{\"RepoTags\""));
    assert_eq!(run("run multiarch/qemu-user-static --reset -p yes"), "");
}

const REWRITE: &str = "import sys, dockerfile, os, tempfile
with tempfile.TemporaryDirectory() as folder:
    try:
        print(dockerfile.rewritten(sys.argv[1], {'V': '9'}, folder, lambda platform, image: f'{image}-of-{platform}'))
    except dockerfile.Wrong as wrong:
        print(wrong)
    for name in sorted(os.listdir(folder)):
        print(name, oct(os.stat(f'{folder}/{name}').st_mode)[-3:], repr(open(f'{folder}/{name}').read()))";

fn rewrites(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(python(REWRITE, &[text]), *expected, "{text}");
    }
}

#[test]
fn i17_here_documents_are_rewritten_for_podman() {
    rewrites(&[
        (
            "FROM a\nRUN <<EOF\necho \"$HOME\" \\\n more\nEOF\nRUN true",
            r#"FROM a
RUN ["/bin/sh", "-c", "echo \"$HOME\" \\\n more\n"]
RUN true"#,
        ),
        (
            "FROM a\nSHELL [\"/bin/bash\", \"-ec\"]\nRUN --network=none <<-'EOF'\n\tx\n\tEOF",
            r#"FROM a
SHELL ["/bin/bash", "-ec"]
RUN --network=none ["/bin/bash", "-ec", "x\n"]"#,
        ),
        (
            "FROM a\nRUN <<P\n#!/usr/bin/python3\nprint(1)\nP",
            r#"FROM a
RUN --mount=type=bind,from=orrery-here-documents,source=/1-P,target=/run/1-P ["/run/1-P"]
1-P 755 '#!/usr/bin/python3\nprint(1)\n'"#,
        ),
        (
            "FROM a\nRUN cat <<-A > /a && \\\n  cat <<B > /b\n\tone\n\tA\ntwo\nB",
            r#"FROM a
RUN ["/bin/sh", "-c", "cat <<A > /a &&   cat <<B > /b\none\nA\ntwo\nB\n"]"#,
        ),
        (
            "FROM a\nADD <<one <<\"two\" f /d/\n1\none\n$2\ntwo",
            "FROM a
ADD f /d/
COPY --from=orrery-here-documents 1-one /d/one
COPY --from=orrery-here-documents 2-two /d/two
1-one 644 '1\\n'
2-two 644 '$2\\n'",
        ),
        ("FROM a\nRUN echo $((1<<x)) \"a <<b\" && cat <<<c", "None"),
        ("FROM a\nRUN <<E\nx", "the here-document E has no end"),
        (
            "FROM a\nSHELL /bin/bash\nRUN <<E\nx\nE",
            "SHELL /bin/bash: it takes a JSON list of words",
        ),
    ]);
}

#[test]
fn i17_variables_of_here_documents_are_known_or_said() {
    rewrites(&[
        (
            "ARG G=before\nFROM a\nARG V=1 G\nENV N=\"a b\" M=${V}x\nCOPY --chmod=600 <<E /c\n$V $G $N $M \\$V ${Q:-q} ${V:+yes}\nE",
            r#"ARG G=before
FROM a
ARG V=1 G
ENV N="a b" M=${V}x
COPY --from=orrery-here-documents --chmod=600 1-E /c
1-E 644 '9 before a b 9x $V q yes\n'"#,
        ),
        (
            "FROM a\nCOPY <<E /c\n$PATH\nE",
            "a here-document has the variable PATH, which no ARG or ENV of its stage sets; those of its image are not known here: quote the document's name",
        ),
        (
            "FROM a\nENV PATH=/x:$PATH OTHER=1\nRUN <<E\nx\nE",
            r#"FROM a
ENV PATH=/x:$PATH OTHER=1
RUN ["/bin/sh", "-c", "x\n"]"#,
        ),
        (
            "FROM a\nENV PATH=/x:$PATH\nCOPY <<E /c\n$PATH\nE",
            "a here-document has the variable PATH, which no ARG or ENV of its stage sets; those of its image are not known here: quote the document's name",
        ),
        (
            "FROM a AS One\nENV N=1 V=2\nARG V\nFROM --platform=linux/amd64 one\nCOPY\t<<E /c\n$N$V\nE",
            "FROM a AS One
ENV N=1 V=2
ARG V
FROM --platform=linux/amd64 one
COPY --from=orrery-here-documents 1-E /c
1-E 644 '12\\n'",
        ),
    ]);
}

#[test]
fn i17_compose_gets_the_words_that_podman_compose_knows() {
    const SHOW: &str = "import sys, compose
found = compose.translate(sys.argv[1:])
print(found if isinstance(found, str) else ' '.join(found))";
    let cases: [(&[&str], &str); 6] = [
        (&["up", "--wait"], "up -d --wait"),
        (
            &[
                "--progress",
                "plain",
                "-f",
                "a.yml",
                "-p",
                "x",
                "up",
                "-d",
                "--quiet-pull",
            ],
            "-f a.yml -p x up -d",
        ),
        (&["exec", "web", "id", "-u"], "exec -T web id -u"),
        (&["run", "--rm", "-T", "web"], "run --rm -T web"),
        (&["convert"], "config"),
        (&["watch"], "docker compose watch is not given here"),
    ];
    for (words, expected) in cases {
        assert_eq!(python(SHOW, words), expected, "{words:?}");
    }
}

#[test]
fn i17_templates_of_docker_are_filled_and_a_commit_of_the_job_is_known() {
    let form = "import common, json
data = {'A': {'B': True}, 'C': [1]}
print(common.fill('{{.A.B}} {{json .C}} {{ .A }}', data))";
    assert_eq!(python(form, &[]), "true [1] {\"B\": true}");
    let commit = "import build, sys
env = {'GITHUB_SERVER_URL': 'https://f', 'GITHUB_REPOSITORY': 'o/r', 'GITHUB_REF': 'refs/heads/m', 'GITHUB_SHA': 'abc'}
print(build.commit_of(sys.argv[1], env))";
    let cases = [
        ("https://f/o/r.git#refs/heads/m", "('abc', '')"),
        ("https://f/o/r.git#123:web", "('123', 'web')"),
        ("https://f/o/other.git#123", "None"),
    ];
    for (context, expected) in cases {
        assert_eq!(python(commit, &[context]), expected, "{context}");
    }
}

#[test]
fn i17_images_of_a_named_platform_are_rewritten_for_podman() {
    rewrites(&[
        (
            "ARG B=debian:12\nFROM --platform=$BUILDPLATFORM ${B} AS build\nRUN x\nFROM ${B}\nCOPY --from=build /x /x",
            "ARG B=debian:12
FROM debian:12-of-linux/amd64 AS build
RUN x
FROM ${B}
COPY --from=build /x /x",
        ),
        (
            "ARG V=1\nFROM --platform=linux/arm64 a:$V\nRUN y",
            "ARG V=1\nFROM a:9-of-linux/arm64\nRUN y",
        ),
        // The target's platform is the build's own, stages are what they were made of.
        (
            "FROM --platform=$TARGETPLATFORM a AS b\nFROM --platform=$BUILDPLATFORM b",
            "FROM --platform=$TARGETPLATFORM a AS b\nFROM --platform=$BUILDPLATFORM b",
        ),
        (
            "FROM --platform=$BUILDPLATFORM scratch",
            "FROM --platform=$BUILDPLATFORM scratch",
        ),
        ("FROM a\nRUN echo --platform", "None"),
    ]);
}
