//! Steps beside each other in a job's container, and beside Docker actions.

use crate::lab::{Lab, prepare};
use crate::stage::in_order;

const WORKFLOW: &str = r#"
on: push
jobs:
  a:
    runs-on: ubuntu-latest
    container: tools:1
    steps:
      - id: server
        name: server
        background: true
        run: |
          trap 'echo told > ended; exit 0' TERM INT
          echo $$ > pid; touch ready
          while :; do sleep 0.1; done
        shell: sh -e {0}
      - run: until [ -e ready ]; do sleep 0.1; done; kill -0 "$(cat pid)"; test -S /run/orrery/proxy.sock; echo "there"
      - id: docker
        name: docker
        background: true
        uses: docker://tools:1
        with: {entrypoint: /bin/sh, args: "-c 'until [ -e go ]; do sleep 0.1; done; echo said=hi >> $GITHUB_OUTPUT'"}
      - run: touch go; echo "before [${{ steps.docker.outputs.said }}]"
      - {name: for docker, wait: docker}
      - run: echo "after [${{ steps.docker.outputs.said }}]"
      - {name: the end, cancel: server}
      - run: |
          cat ended
          if kill -0 "$(cat pid)" 2>/dev/null; then echo "it runs on"; else echo "it is gone"; fi
        shell: sh -e {0}
"#;

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_steps_run_beside_each_other_in_a_container() {
    prepare();
    let lab = Lab::new();
    lab.add_images(&["tools:1"]);
    let (code, said) = lab.exec(&[(".github/workflows/ci.yml", WORKFLOW)]);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &["there", "before []", "after [hi]", "told", "it is gone"],
    );
}
