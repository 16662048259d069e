//! A job with a service and a container goes back to before a step.

use crate::lab::prepare;
use crate::site::Site;

const WORKFLOW: &str = r#"
on: push
jobs:
  build:
    runs-on: x
    container:
      image: tools:1
      env: {GREETING: hello}
    services:
      cache: {image: "redis:7"}
    steps:
      - id: one
        shell: sh
        run: |
          redis-cli -h cache incr visits
          echo inside > /made-inside
          echo "id=${{ job.container.id }}" >> "$GITHUB_OUTPUT"
      - run: redis-cli -h cache incr visits
      - uses: docker://tools:1
        with: {entrypoint: /bin/sh, args: "-c 'redis-cli -h cache incr visits'"}
      - name: Fails at first
        run: |
          echo "attempt $GITHUB_RUN_ATTEMPT: $GREETING $(redis-cli -h cache incr visits) $(cat /made-inside) ${{ job.container.id == steps.one.outputs.id }}"
          test "$GITHUB_RUN_ATTEMPT" -ge 2
      - uses: docker://tools:1
        with: {entrypoint: /bin/sh, args: "-c 'echo visits-$(redis-cli -h cache get visits)'"}
"#;

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_a_job_with_containers_goes_back_to_before_a_step() {
    let images = prepare();
    let machine = "image = \"full\"\nmemory = \"1GiB\"\ndisk = \"8GiB\"\n";
    let mut site = Site::with_machine(
        "qemu",
        "failed = true\nvms = 1\nsnapshots = true\nsnapshot_disk = \"8GiB\"",
        machine,
    );
    for name in ["redis:7", "tools:1"] {
        site.add_image(name, &images);
    }
    let (run, record) = site.run(WORKFLOW);
    let log = site.log(&run);
    assert_eq!(record["state"], "failed", "{record:#}\n{log}");
    assert!(log.contains("attempt 1: hello 4 inside true"), "{log}");
    let kept = site.get("/runs/kept");
    let snapshots = kept[0]["snapshots"].as_array().unwrap().iter();
    let steps: Vec<u64> = snapshots.map(|it| it["step"].as_u64().unwrap()).collect();
    assert_eq!(steps, [1, 2, 3, 4], "{log}");

    // The shell is in the job's container, and the service is as it was then.
    let look = "echo \"$GREETING $(cat /proc/1/comm) $(redis-cli -h cache get visits) $CI\"; cat /made-inside; pwd; stty size > /dev/null && echo ter\"\"minal\nexit 7\n";
    let shown = site.in_shell(&["shell", &run, "build", "--before-step", "3"], 7, look);
    for part in ["hello tail 2 true", "inside", "/workspace", "terminal"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = site.in_shell(&["shell", &run, "build", "--before-step", "1"], 7, look);
    assert!(
        shown.contains("hello tail  true") && !shown.contains("\ninside"),
        "{shown}"
    );

    // It goes on: containers, and what the service holds, are those of before.
    let (code, text) = site.output(&["rerun", &run, "--from-step", "4", "--job", "build"]);
    assert_eq!(code, Some(0), "{text}");
    let next = text.trim().to_owned();
    let record = site.ended(&next);
    let log = site.log(&next);
    assert_eq!(record["state"], "succeeded", "{record:#}\n{log}");
    for part in [
        "attempt 2: hello 4 inside true",
        "visits-4",
        "service cache:",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
}
