//! What the machine of a hosted label is like inside.

use crate::lab::{Lab, of_job, prepare};
use crate::stage::in_order;

const WORKFLOW: &str = r#"
on: push
jobs:
  machine:
    runs-on: ubuntu-latest
    steps:
      - run: |
          apt-config dump | grep -E '^(APT::Get::Assume-Yes|Acquire::Retries|APT::Install-Recommends)'
          ls /tmp/mmdebstrap* 2> /dev/null || echo nothing of mmdebstrap
      - run: |
          mkdir own && cd own
          echo '{"name": "own", "version": "1.0.0", "bin": {"own-program": "run.js"}}' > package.json
          printf '#!/usr/bin/env node\nconsole.log("own from", process.argv[1])\n' > run.js
          npm pack --silent && npm install --global --offline --silent ./own-1.0.0.tgz
          hash -r; own-program
      - {uses: actions/setup-node@v6, with: {node-version: 24}}
      - run: own-program && npm config get prefix && npm uninstall --global --silent own
      - {uses: actions/setup-node@v6, with: {node-version: 20}}
      - run: |
          cd own && npm install --global --offline --silent ./own-1.0.0.tgz && hash -r && own-program
          node --version | cut -d. -f1
      - run: |
          echo "$ACCEPT_EULA $DEBIAN_FRONTEND"; echo "$PATH"
          echo 'LATER=from "the image"' | sudo tee -a /etc/environment > /dev/null
          mkdir -p ~/.local/bin && printf '#!/bin/sh\necho of the user\n' > ~/.local/bin/mine && chmod +x ~/.local/bin/mine
          echo /opt/added >> "$GITHUB_PATH"
      - {run: 'mine; echo "LATER=$LATER"; echo "${PATH%%:*}"; echo "STEP $ACCEPT_EULA"', env: {ACCEPT_EULA: own}}
      - run: |
          cat /proc/sys/vm/max_map_count /proc/sys/fs/inotify/max_user_watches
          grep -c '^::1.*localhost' /etc/hosts; test -d "$RUNNER_TOOL_CACHE" && touch "$RUNNER_TOOL_CACHE/x" && echo tools
          for program in yarn pnpm corepack psql ping envsubst xxd column autoconf bison sqlite3 7z lz4 parallel strace lsof dig nc bundle; do
            command -v $program > /dev/null || echo "missing: $program"
          done
          yarn --version; id -u runner
"#;

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_a_hosted_machine_is_inside_as_workflows_expect() {
    prepare();
    let lab = Lab::new();
    let (code, said) = lab.exec(&[(".github/workflows/ci.yml", WORKFLOW)]);
    assert_eq!(code, Some(0), "{said}");
    let machine = of_job(&said, "machine");
    in_order(
        &machine,
        &[
            "Install-Recommends \"1\"",
            "Assume-Yes \"true\"",
            "Retries \"10\"",
            "nothing of mmdebstrap",
            "own from /usr/local/bin/own-program",
            "own from /usr/local/bin/own-program",
            "/usr/local",
            "own from /opt/node20/bin/own-program",
            "v20",
            "Y noninteractive",
            "/opt/node20/bin:/home/runner",
            "of the user",
            "LATER=from \"the image\"",
            "/opt/added",
            "STEP own",
            "262144",
            "655360",
            "] 1",
            "tools",
            "1.22.",
            "1001",
        ],
    );
    assert!(!machine.contains("missing:"), "{machine}");
}

const OF_USER: &str = r#"
on: push
jobs:
  user:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - {uses: actions/cache/restore@v4, with: {key: none, path: ~/.cache/own}}
      - run: |
          echo "$(id -u) $(id -un) $HOME $USER $(pwd)"
          touch own .github/own && git status --short | sort && echo "temp $(touch "$RUNNER_TEMP/x" && echo writable)"
          echo secret > locked && chmod 000 locked; cat locked 2> /dev/null || echo EACCES
          sudo id -u && echo "OUT=set" >> "$GITHUB_ENV"
          case $PATH in *"$HOME/.local/bin:"*) echo own programs first ;; esac
      - {uses: actions/setup-node@v6, with: {node-version: 24, registry-url: "https://npm.example"}}
      - run: echo "$OUT $(stat -c %U "$NPM_CONFIG_USERCONFIG")"; npm install --global --offline --silent ./package && hello-of-user
      - uses: ./.github/actions/own
      - {run: docker run --rm tools:1 sh -c 'echo in a container', shell: bash}
      - run: |
          name=${GITHUB_REPOSITORY#*/}; work=$HOME/work/$name
          [ "$PWD" = "$work/$name" ] && [ "$GITHUB_WORKSPACE" = "$PWD" ] && [ "$RUNNER_WORKSPACE" = "$work" ] && echo as on GitHub
          [ "$(readlink /workspace)" = "$PWD" ] && [ "${{ github.workspace }}" = "$PWD" ] && echo by both names
          mkdir ../build && echo built > ../build/file && cd .. && ls && cat "$name/../build/file"
          mkdir beside && cp -r "$name/.github/actions/own" beside/
          docker run --rm -v "$PWD/beside:/beside" tools:1 sh -c 'echo "mounted $(ls /beside)"'
      - {uses: actions/upload-artifact@v4, with: {name: outside, path: "${{ github.workspace }}/../build/file"}}
      - uses: ./../beside/own
      - {run: mkdir -p kept && echo of a run > kept/file}
      - {uses: actions/cache/save@v4, with: {key: kept, path: kept}}
      - {run: rm -r kept}
      - {uses: actions/cache/restore@v4, with: {key: kept, path: kept}}
      - run: echo "cached $(cat kept/file) ${{ hashFiles(format('{0}/kept/*', github.workspace)) != '' }}"
"#;

const ACTION: &str = "name: own\nruns: {using: node24, main: main.js, post: post.js}\n";

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_steps_are_the_user_that_the_machine_names() {
    prepare();
    let lab = Lab::new();
    lab.add_images(&["tools:1"]);
    let path = lab.path("runner.toml");
    let settings = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{settings}user = \"runner\"\n")).unwrap();
    let (code, said) = lab.exec(&[
        (".github/workflows/ci.yml", OF_USER),
        (".github/actions/own/action.yml", ACTION),
        (
            ".github/actions/own/main.js",
            "console.log('main', process.getuid())\n",
        ),
        (
            ".github/actions/own/post.js",
            "console.log('post', process.getuid())\n",
        ),
        (
            "package/package.json",
            r#"{"name": "own", "version": "1.0.0", "bin": {"hello-of-user": "run.js"}}"#,
        ),
        (
            "package/run.js",
            "#!/usr/bin/env node\nconsole.log('hello of', process.getuid())\n",
        ),
    ]);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &of_job(&said, "user"),
        &[
            "1001 runner /home/runner runner ",
            "?? .github/own",
            "?? own",
            "temp writable",
            "EACCES",
            "] 0",
            "own programs first",
            "set runner",
            "hello of 1001",
            "main 1001",
            "in a container",
            "as on GitHub",
            "by both names",
            "build",
            "built",
            "mounted own",
            "outside",
            "main 1001",
            "cached of a run true",
            "post 1001",
        ],
    );
}
