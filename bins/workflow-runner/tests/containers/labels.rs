//! A machine's own container, as labels of the runners of Gitea and Forgejo have one.

use std::process::Command;

use crate::lab::{Lab, of_job, prepare};
use crate::stage::{in_order, text};

const CONFIG: &str = "runner:\n  labels:\n    - docker:docker://acme/tools:1\n    - bare\n";

const WORKFLOW: &str = r#"
on: push
jobs:
  usual:
    runs-on: docker
    services:
      cache: {image: "redis:7"}
    outputs: {made: "${{ steps.one.outputs.made }}"}
    steps:
      - uses: actions/checkout@v4
      - id: one
        run: |
          echo "in $HOME at $(pwd), pid 1 is $(cat /proc/1/comm)"
          python3 -c 'import psycopg2; print("its own programs")'
          redis-cli -h cache ping
          echo made=thing >> $GITHUB_OUTPUT
        shell: sh
      - uses: ./act
        with: {who: "${{ steps.one.outputs.made }}"}
      - run: echo "network ${{ job.container.network }}"; test -n "${{ job.container.id }}" && echo named
  own:
    needs: usual
    runs-on: docker
    container: {image: "acme/other:1", env: {GREETING: hello}}
    steps:
      - run: echo "$GREETING of ${{ needs.usual.outputs.made }}"
  machine:
    runs-on: bare
    steps:
      - run: python3 -c 'import psycopg2' 2>/dev/null || echo "the machine itself in $HOME"
"#;

const ACTION: &str = "inputs: {who: {}}\nruns: {using: node20, main: main.js}\n";
const MAIN: &str = "console.log(`action for ${process.env.INPUT_WHO} in ${process.env.HOME}`);\n";

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_steps_run_in_the_container_of_their_machine_s_label() {
    prepare();
    let lab = Lab::new();
    std::fs::write(lab.path("config.yaml"), CONFIG).unwrap();
    let mut import = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
    import
        .args(["labels", "import"])
        .arg(lab.path("config.yaml"));
    let rows = text(&import.output().unwrap().stdout);
    let rows: String = rows
        .lines()
        .map(|line| match line.strip_prefix("image = ") {
            Some(_) => format!("{line}\nmemory = \"1GiB\"\ndisk = \"8GiB\"\n"),
            None => format!("{line}\n"),
        })
        .collect();
    lab.settings("");
    let path = lab.path("runner.toml");
    let settings = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{settings}{rows}")).unwrap();
    let files = [
        (".forgejo/workflows/ci.yml", WORKFLOW),
        ("act/action.yml", ACTION),
        ("act/main.js", MAIN),
    ];
    lab.add_images(&["acme/other:1", "redis:7"]);
    // The image of the label is not there yet.
    let (code, said) = lab.exec(&files);
    assert_ne!(code, Some(0), "{said}");
    assert!(
        said.contains("workflow-runner images add acme/tools:1"),
        "{said}"
    );
    lab.add_images(&["acme/tools:1"]);
    let (code, said) = lab.exec(&files);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &of_job(&said, "usual"),
        &[
            "steps run in a container of acme/tools:1",
            "in /github/home at /workspace, pid 1 is tail",
            "its own programs",
            "PONG",
            "action for thing in /github/home",
            "network orrery",
            "named",
        ],
    );
    in_order(
        &of_job(&said, "own"),
        &["steps run in a container of acme/other:1", "hello of thing"],
    );
    let machine = of_job(&said, "machine");
    assert!(machine.contains("the machine itself in /root"), "{machine}");
}
