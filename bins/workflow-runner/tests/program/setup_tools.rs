//! i17: native `setup-…` actions take the release that is wanted of those in the machine, and give
//! later steps what the originals give; by `workflow-runner exec` in a real namespace sandbox.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use crate::stage::{Stage, in_order, write};

/// Releases of tools as programs that say of themselves what those say.
const MAKE_TOOLS: &str = r#"
          tool() { mkdir -p "${1%/*}"; printf '#!/bin/sh\n%s\n' "$2" > "$1"; chmod +x "$1"; }
          tool /opt/node97/bin/node 'echo v97.1.2'
          tool /opt/node98/bin/node 'echo v98.0.1'
          tool /opt/tools/node/99.3.0/x64/bin/node 'echo v99.3.0'
          tool /opt/node98/bin/npm 'echo /workspace/.packages'
          tool /opt/python95/bin/python3 'echo Python 95.1.0'
          tool /opt/python95/bin/python95 'echo Python 95.1.0'
          tool /opt/python96/bin/python3 'case $1 in -m) echo "python $* by $PIP_INDEX_URL, $OF_JOB" ;; *) echo Python 96.0.2 ;; esac'
          tool /opt/go9/bin/go 'case $1 in version) echo go version go9.2.0 linux/amd64 ;; *) echo ${GOPATH:-/opt/gopath} ;; esac'
          tool /opt/java96/bin/java 'echo "openjdk version \"96.0.1\" 2040-01-01" >&2'
          tool /opt/tools/node/97.9.0/x64/bin/node 'echo v97.9.0'
          tool /opt/dotnet9/dotnet 'case $1 in workload) echo "dotnet $*" ;; *) printf "80.0.105 [/x]\n90.0.201 [/x]\n" ;; esac'
          tool /opt/deno9/bin/deno 'echo "deno 9.1.0 (stable, release)"'
          tool /opt/bun9/bin/bun 'echo 9.2.0'
"#;

fn job(steps: &str) -> String {
    format!(
        "on: push\njobs:\n  a:\n    runs-on: x\n    env: {{OF_JOB: job}}\n    steps:\n      - run: |{MAKE_TOOLS}{steps}"
    )
}

#[test]
fn i17_setup_takes_the_release_that_is_wanted_and_says_which() {
    let stage = Stage::new();
    stage.make_tree();
    let files = [
        (".nvmrc", "lts/nothing-yet\n"),
        ("package.json", r#"{"engines": {"node": ">=97 <98"}}"#),
        (
            "global.json",
            r#"{"sdk": {"version": "80.0.100", "rollForward": "latestPatch"}}"#,
        ),
    ];
    write(&stage.path("tree"), &files);
    let (code, said) = stage.exec(&job(
        r#"
      - {id: one, uses: actions/setup-node@v6, with: {node-version: 98}}
      - run: echo "one $(node) ${{ steps.one.outputs.node-version }} $(command -v node)"
      - {id: two, uses: actions/setup-node@v6, with: {node-version-file: package.json}}
      - run: echo "two $(node) ${{ steps.two.outputs.node-version }}"
      - {id: three, uses: actions/setup-node@v6, with: {node-version: latest}}
      - run: echo "three $(node); ${PATH%%:*}"
      - {uses: actions/setup-node@v6, with: {node-version: 97.1}}
      - {uses: actions/setup-node@v6, with: {node-version: 97, check-latest: true}}
      - run: echo "newest $(node)"
      - {id: lts, uses: actions/setup-node@v6, with: {node-version: lts/*}}
      - run: echo "lts $(node)"
      - {id: java, uses: actions/setup-java@v5, with: {java-version: 96, distribution: temurin, server-id: own, server-username: U}}
      - run: |
          echo "java $JAVA_HOME $JAVA_HOME_96_X64 ${{ steps.java.outputs.version }} ${{ steps.java.outputs.distribution }}"
          grep -o '<id>own</id>' ~/.m2/settings.xml; grep -o 'env.U' ~/.m2/settings.xml; stat -c %a ~/.m2/settings.xml
      - {id: go, uses: actions/setup-go@v6, with: {go-version: 9.x, cache: false}}
      - run: echo "go ${{ steps.go.outputs.go-version }} ${PATH%%/opt/tools*}"
      - {uses: actions/setup-go@v6, with: {go-version: 9.x, cache: false}, env: {GOPATH: /opt/other}}
      - run: echo "go ${PATH%%:*} $GOTOOLCHAIN"
      - {id: dotnet, uses: actions/setup-dotnet@v5, with: {workloads: "one, two"}}
      - run: echo "dotnet ${{ steps.dotnet.outputs.dotnet-version }} $DOTNET_ROOT"
      - {id: several, uses: actions/setup-dotnet@v5, with: {dotnet-version: "90.x\n80.x"}}
      - {id: filed, uses: actions/setup-dotnet@v5, with: {dotnet-version: 90.x, global-json-file: global.json}}
      - run: echo "several ${{ steps.several.outputs.dotnet-version }} ${{ steps.filed.outputs.dotnet-version }}"
      - run: echo '{"msbuild-sdks":{}}' > global.json
      - {id: bare, uses: actions/setup-dotnet@v5}
      - run: echo "bare ${{ steps.bare.outcome }} ${{ steps.bare.outputs.dotnet-version }}"
      - {id: python, uses: actions/setup-python@v6}
      - run: echo "python ${{ steps.python.outputs.python-version == '' }} $pythonLocation $PIP_BREAK_SYSTEM_PACKAGES"
      - {id: still, uses: actions/setup-python@v6, with: {update-environment: false}}
      - {id: both, uses: actions/setup-python@v6, with: {python-version: "95.x\n96.0"}}
      - run: echo "both ${{ steps.both.outputs.python-version }} $(python3) $(python95) $pythonLocation $LD_LIBRARY_PATH"
      - run: echo "plain $(python) $(readlink "$(command -v python)")"
      - {uses: actions/setup-python@v6, with: {python-version: 95}}
      - run: echo "other $(python)"
      - uses: actions/setup-python@v6
        with: {python-version: 96, pip-version: "95", pip-install: "a -r b.txt"}
        env: {PIP_INDEX_URL: "https://pip.example"}
      - {id: deno, uses: denoland/setup-deno@v2, with: {deno-version: v9.x, deno-binary-name: other}}
      - run: echo "$(other) ${{ steps.deno.outputs.release-channel }}"
      - {id: bun, uses: oven-sh/setup-bun@v2, with: {registries: "https://bun.example"}}
      - run: echo "bun ${{ steps.bun.outputs.bun-version }}"; cat bunfig.toml
      - {id: absent, continue-on-error: true, uses: actions/setup-node@v6, with: {node-version: 5}}
      - run: echo "absent ${{ steps.absent.outcome }}"; echo ARCH=mips >> "$GITHUB_ENV"
      - {id: wrong, continue-on-error: true, uses: actions/setup-node@v6, with: {node-version: 98, architecture: "${{ env.ARCH }}"}}
      - {id: file, continue-on-error: true, uses: actions/setup-node@v6, with: {node-version-file: .nvmrc}}
"#,
    ));
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "one v98.0.1 v98.0.1 /opt/node98/bin/node",
            "two v97.9.0 v97.9.0",
            "the newest that the image has",
            "three v99.3.0; /opt/tools/node/99.3.0/x64/bin",
            "newest v97.9.0",
            "lts v98.0.1",
            "it stands for the distribution temurin",
            "java /opt/java96 /opt/java96 96.0.1 Temurin-Hotspot",
            "<id>own</id>",
            "env.U",
            "600",
            "go 9.2.0 /opt/gopath/bin:/opt/go9/bin:",
            "go /opt/other/bin local",
            "dotnet workload install one two",
            "dotnet 80.0.105 /opt/dotnet9",
            "several 90.0.201 80.0.105",
            "bare success 80.0.105",
            "python false /usr",
            "both 96.0.2 Python 96.0.2 Python 95.1.0 /opt/python96 /opt/python96/lib",
            "plain Python 96.0.2 /opt/python96/bin/python3",
            "other Python 95.1.0",
            "python -m pip install pip==95 by https://pip.example, job",
            "python -m pip install a -r b.txt by https://pip.example, job",
            "deno 9.1.0 (stable, release) stable",
            "bun 9.2.0",
            "[install.registry]",
            "url = \"https://bun.example\"",
            "the image has no node 5; it has",
            "v98.0.1",
            "absent failure",
            "its input `architecture` is `mips`, and only",
            "node-version-file: `lts/nothing-yet` is no version",
        ],
    );
}

/// Steps with inputs of the newest releases of the actions.
const NEWEST: &str = r#"
          pypy='printf "Python 95.10.1 (1f)\n[PyPy 7.9.1 with GCC 9]\n"'
          tool /opt/pypy95/bin/pypy3 "$pypy"
          tool /opt/tools/Python/96.1.0/x64-freethreaded/bin/python3 'echo Python 96.1.0'
          tool /opt/go9.1/bin/go 'echo go version go9.1.7 linux/amd64'
          tool /tmp/pack/jdk-96/bin/java 'echo "openjdk version \"96.7.0\" 2040-01-01" >&2'
          tar -czf own-jdk.tar.gz -C /tmp/pack jdk-96
          mkdir /tmp/bun-linux; printf '#!/bin/sh\necho 9.9.0+abc\n' > /tmp/bun-linux/bun; chmod +x /tmp/bun-linux/bun
          tool /opt/packers/unzip 'exec /usr/bin/python3 -m zipfile -e "$3" "$5"'; echo /opt/packers >> "$GITHUB_PATH"
          (cd /tmp && python3 -m zipfile -c bun.zip bun-linux)
          mkdir near other empty; echo '{}' > empty/package.json
          printf '[project]\nrequires-python = "~=96.0"\n' > near/pyproject.toml; printf '[project]\nrequires-python = "!=96.0"\n' > other/pyproject.toml
          tool /opt/rust91/bin/rustc 'echo "rustc 1.910.0 (abcdef012 2040-01-02)"'
      - {id: rust, uses: dtolnay/rust-toolchain@1.91}
      - run: echo "rust ${{ steps.rust.outputs.cachekey }} ${CARGO_HOME#"$HOME"}"
      - {id: free, uses: actions/setup-python@v7, with: {python-version: "96.1", freethreaded: true}}
      - run: echo "free $(python3) ${{ steps.free.outputs.python-version }}"
      - {id: pypy, uses: actions/setup-python@v7, with: {python-version: pypy95.10-v7.9.x}}
      - run: echo "pypy $(python | head -n 1) ${{ steps.pypy.outputs.python-version }} $(dirname $(command -v python))"
      - {uses: actions/setup-python@v7, with: {python-version: 96.0}}
      - run: echo "again $(python3)"
      - {id: near, uses: actions/setup-python@v7, with: {python-version-file: near/pyproject.toml}}
      - {id: none, uses: actions/setup-python@v7, with: {python-version-file: other/pyproject.toml, update-environment: false}}
      - {id: empty, uses: actions/setup-node@v7, with: {node-version-file: empty/package.json}}
      - run: echo "near ${{ steps.near.outputs.python-version }} ${{ steps.none.outcome }} ${{ steps.empty.outcome }}"
      - {id: old, uses: actions/setup-go@v7, with: {go-version: oldstable, cache: false}}
      - run: echo "old ${{ steps.old.outputs.go-version }}"
      - {id: extended, uses: actions/setup-node@v7, with: {node-version-file: sub/package.json}}
      - run: echo "extended $(node) ${{ steps.extended.outputs.cache-hit }} ${{ steps.extended.outputs.cache-primary-key != '' }}"
      - {id: bare, uses: actions/setup-node@v7, with: {node-version: 98, package-manager-cache: false}}
      - run: echo "bare hit<${{ steps.bare.outputs.cache-hit }}>"
      - id: jdk
        uses: actions/setup-java@v5
        with: {java-version: "96.7", distribution: jdkfile, jdk-file: own-jdk.tar.gz, set-default: false, settings-path: /tmp/m2, server-username-env-var: NAME, gpg-passphrase-env-var: P}
      - run: echo "jdk ${JAVA_HOME-unset} ${JAVA_HOME_96_X64} ${{ steps.jdk.outputs.version }} $MAVEN_ARGS"; grep -o 'env.NAME' /tmp/m2/settings.xml
      - {id: other, continue-on-error: true, uses: actions/setup-java@v5, with: {java-version: "97", distribution: jdkfile, jdkFile: own-jdk.tar.gz}}
      - uses: actions/setup-java@v5
        with: {java-version: "96", distribution: temurin, mvn-repositories: "own:https://m2.example:true", show-download-progress: true}
      - run: java -version; grep -o '<url>.*</url>' ~/.m2/settings.xml
      - {uses: actions/setup-java@v5, with: {java-version: "96.0", distribution: zulu}}
      - run: grep -o '<id>.*</id>' ~/.m2/toolchains.xml
      - id: nuget
        uses: actions/setup-dotnet@v6
        with: {dotnet-version: latest, dotnet-channel: lts, source-url: "https://nuget.example/own", owner: acme}
        env: {NUGET_AUTH_TOKEN: of-nuget}
      - run: cat ../nuget.config; stat -c %a ../nuget.config; echo "channel ${{ steps.nuget.outputs.dotnet-version }}"
      - {id: tokenless, continue-on-error: true, uses: actions/setup-dotnet@v6, with: {source-url: "https://nuget.example/own"}}
      - id: bun
        uses: oven-sh/setup-bun@v2
        with: {bun-download-url: "file:///tmp/bun.zip", registries: "@own:https://bun.example|t1"}
      - run: |
          echo "bun $(bun) ${{ steps.bun.outputs.bun-version }} ${{ steps.bun.outputs.bun-revision }} ${{ steps.bun.outputs.bun-path }}"; command -v bunx; cat bunfig.toml
"#;

#[test]
fn i17_setup_does_what_the_newest_releases_of_the_actions_take() {
    let stage = Stage::new();
    stage.make_tree();
    let project = "<configuration><packageSources><add key=\"own\" value=\"https://nuget.example/own\"/></packageSources></configuration>";
    let files = [
        ("NuGet.config", project),
        (
            "sub/package.json",
            r#"{"volta": {"extends": "../package.json"}}"#,
        ),
        (
            "package.json",
            r#"{"packageManager": "npm@11", "volta": {"node": "97"}}"#,
        ),
        ("package-lock.json", "{}"),
        ("bunfig.toml", "smol = true\n"),
    ];
    write(&stage.path("tree"), &files);
    let (code, said) = stage.exec(&job(NEWEST));
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "rust 20400102abcd /.cargo",
            "free Python 96.1.0 96.1.0t",
            "pypy Python 95.10.1 (1f) pypy95.10.1-7.9.1 /tmp/.setup-python/pypy95.10.1-7.9.1/bin",
            "again Python 96.0.2",
            "near 96.0.2 success success",
            "old 9.1.7",
            "extended v97.9.0 false true",
            "bare hit<>",
            "jdk unset /tmp/.setup-java/",
            "96.7.0 -ntp",
            "env.NAME",
            "own-jdk.tar.gz has openjdk version \"96.7.0\" 2040-01-01, and the step wants 97",
            "96.0.1",
            "<url>https://repo.maven.apache.org/maven2</url>",
            "<url>https://m2.example</url>",
            "<id>zulu_96.0</id>",
            "<id>temurin_96</id>",
            "defaultPushSource",
            "<own>",
            "value=\"acme\"",
            "600",
            "channel 90.0.201",
            "`source-url` needs the token of the source in the variable NUGET_AUTH_TOKEN",
            "bun 9.9.0+abc 9.9.0 9.9.0+abc /",
            ".bun/bin/bunx",
            "smol = true",
            "[install.scopes.\"@own\"]",
            "token = \"t1\"",
        ],
    );
}

#[test]
fn i17_a_registry_of_npm_is_set_up_and_packages_are_kept() {
    let stage = Stage::new();
    stage.make_tree();
    let files = [
        ("package-lock.json", "{}"),
        ("go.mod", "module x\n\ngo 9.0\n"),
    ];
    write(&stage.path("tree"), &files);
    let workflow = job(r#"
      - id: node
        uses: actions/setup-node@v6
        with: {node-version: 98, cache: npm, registry-url: "https://npm.example", scope: "@Team"}
      - run: |
          echo "hit ${{ steps.node.outputs.cache-hit }}; $(cat .packages/one 2>/dev/null)"
          cat "$NPM_CONFIG_USERCONFIG"; echo "token ${NODE_AUTH_TOKEN-none}"; stat -c %a "$NPM_CONFIG_USERCONFIG"
          mkdir -p .packages; echo kept > .packages/one
      - {uses: actions/setup-node@v6, with: {node-version: 98, registry-url: "https://other.example/"}, env: {NODE_AUTH_TOKEN: of-the-step}}
      - run: cat "$NPM_CONFIG_USERCONFIG"; echo "token $NODE_AUTH_TOKEN"
      - {uses: actions/setup-node@v6, with: {node-version: 98, cache: yarn, cache-dependency-path: absent.lock}}
"#);
    // Another job finds what this one has kept.
    let (_, steps) = workflow.split_once("    runs-on").unwrap();
    let workflow = format!("{workflow}  b:\n    needs: a\n    runs-on{steps}");
    let (code, said) = stage.exec(&workflow);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "hit false; \n",
            "//npm.example/:_authToken=${NODE_AUTH_TOKEN}",
            "@team:registry=https://npm.example/",
            "token none",
            "600",
            "@team:registry=https://npm.example/",
            "registry=https://other.example/",
            "token of-the-step",
            "warning: nothing is cached: no file is absent.lock",
            "cache setup-node-Linux-",
            "is restored",
            "hit true; kept",
        ],
    );
}

/// An image without Go failed the step, although the original was in the store.
#[test]
fn i17_what_the_image_has_not_is_set_up_by_the_stored_original() {
    let stage = Stage::new();
    let workflow = "on: push
jobs:
  a:
    runs-on: x
    steps:
      - {id: go, uses: actions/setup-go@v1, with: {go-version: '1.99'}}
      - run: echo 'later ${{ steps.go.outputs.go-version }}'; of-the-original
";
    let (code, said) = stage.exec(workflow);
    assert_ne!(code, Some(0), "{said}");
    assert!(
        said.contains("go is not in the image")
            && said.contains("workflow-runner actions add actions/setup-go@v1"),
        "{said}"
    );
    stage.add_as(
        "actions/setup-go@v1",
        &[(
            "action.yml",
            "inputs: {go-version: {}}
outputs: {go-version: {value: '${{ steps.x.outputs.is }}'}}
runs:
  using: composite
  steps:
    - id: x
      shell: bash
      run: |
        mkdir -p /tmp/go/bin
        printf '#!/bin/sh\\necho its program\\n' > /tmp/go/bin/of-the-original
        chmod +x /tmp/go/bin/of-the-original
        echo /tmp/go/bin >> \"$GITHUB_PATH\"
        echo 'is=original ${{ inputs.go-version }}' >> \"$GITHUB_OUTPUT\"
",
        )],
    );
    let (code, said) = stage.exec(workflow);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "the original of actions/setup-go@v1 does it",
            "[a] later original 1.99",
            "[a] its program",
        ],
    );
}

/// A target that the image's Rust lacks failed the step, although the original was in the store.
#[test]
fn i17_what_the_image_s_rust_lacks_is_set_up_by_the_stored_original() {
    let stage = Stage::new();
    let workflow = job(r#"
          tool /opt/rust91/bin/rustc 'case $1 in --version) echo "rustc 1.91.0 (a 2040-01-02)" ;; *) echo /nowhere ;; esac'
      - {uses: dtolnay/rust-toolchain@stable}
      - {continue-on-error: true, run: "echo 'error: rustc 1.91.0 is not supported by the following packages:'; exit 1"}
      - {uses: dtolnay/rust-toolchain@v1, with: {toolchain: 1.91.0, targets: wasm32-wasip2}}
      - run: echo "now ${PATH%%:*}"
"#);
    let (code, said) = stage.exec(&workflow);
    assert_ne!(code, Some(0), "{said}");
    let command = "workflow-runner actions add dtolnay/rust-toolchain@v1";
    assert!(
        said.contains("Rust has no wasm32-wasip2") && said.contains(command),
        "{said}"
    );
    let old = "dtolnay/rust-toolchain@stable has taken the newest Rust of the image, rustc 1.91.0";
    assert_eq!(said.matches(old).count(), 1, "{said}");
    let action = "runs:\n  using: composite\n  steps: [{shell: bash, run: echo /of-the-original >> \"$GITHUB_PATH\"}]\n";
    stage.add_as("dtolnay/rust-toolchain@v1", &[("action.yml", action)]);
    let (code, said) = stage.exec(&workflow);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "the original of dtolnay/rust-toolchain@v1 does it",
            "now /of-the-original",
        ],
    );
}
