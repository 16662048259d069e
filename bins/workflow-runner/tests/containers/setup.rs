//! Native `setup-…` in the image `full`, and in a job's container.

use crate::lab::{Lab, of_job, prepare};
use crate::stage::in_order;

const WORKFLOW: &str = r#"
on: push
jobs:
  machine:
    runs-on: ubuntu-latest
    strategy:
      matrix: {node: [20, 22, 24]}
      max-parallel: 1
    steps:
      - {id: node, uses: actions/setup-node@v6, with: {node-version: "${{ matrix.node }}"}}
      - run: |
          echo "node ${{ matrix.node }}: $(node -p 'process.versions.node.split(".")[0]') $(npm --version | grep -c .)"
          test "$(node --version)" = '${{ steps.node.outputs.node-version }}'
      - {id: python, uses: actions/setup-python@v6, with: {python-version: 3.x}}
      - run: |
          python wheel.py
          pip install --no-index ./own-1.0-py3-none-any.whl
          python -c 'import own; print("own", own.VALUE)'
  inside:
    needs: machine
    runs-on: ubuntu-latest
    container: tools:1
    steps:
      - {uses: actions/setup-node@v6, with: {node-version: 20, registry-url: "https://npm.example"}}
      - run: node -p '"inside " + process.versions.node.split(".")[0]'; grep -c npm.example "$NPM_CONFIG_USERCONFIG"
      - {id: go, continue-on-error: true, uses: actions/setup-go@v6, with: {go-version: 1.22}}
      - run: echo "go ${{ steps.go.outcome }}"
"#;

/// Makes a package of Python, as a build tool would.
const WHEEL: &str = r#"
import zipfile
with zipfile.ZipFile("own-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("own.py", "VALUE = 7\n")
    wheel.writestr("own-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
    wheel.writestr("own-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: own\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr("own-1.0.dist-info/RECORD", "")
"#;

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_setup_finds_the_releases_of_the_full_image() {
    prepare();
    let lab = Lab::new();
    lab.add_images(&["tools:1"]);
    let (code, said) = lab.exec(&[(".github/workflows/ci.yml", WORKFLOW), ("wheel.py", WHEEL)]);
    assert_eq!(code, Some(0), "{said}");
    for node in [20, 22, 24] {
        assert!(said.contains(&format!("node {node}: {node} 1")), "{said}");
    }
    assert_eq!(said.matches("own 7").count(), 3, "{said}");
    let inside = of_job(&said, "inside");
    in_order(
        &inside,
        &["inside 20", "] 2", "go is not in the image", "go failure"],
    );
}
