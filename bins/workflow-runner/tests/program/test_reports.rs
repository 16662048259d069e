//! Reports that real test runners leave in a real namespace sandbox, by `workflow-runner exec`.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use crate::stage::{Stage, write};

const SUM: &str = "const test = require('node:test');\nconst assert = require('node:assert');\ntest('adds', () => assert.strictEqual(1 + 1, 2));\ntest('sum', async (t) => {\n  await t.test('of three', () => assert.strictEqual(1 + 2, 4));\n});\ntest('later', { skip: 'no disk' }, () => {});\n";
const PERL: &str = "use Test::More tests => 3;\nok(1, 'first');\nis(1, 2, 'second');\nTODO: { local $TODO = 'not yet'; ok(0, 'third'); }\n";

#[test]
fn i17_what_node_and_perl_leave_is_read_in_a_machine() {
    let stage = Stage::new();
    stage.make_tree();
    let tree = stage.path("tree");
    write(
        &tree,
        &[
            ("t/sum.test.js", SUM),
            ("t/own.t", PERL),
            // Of the commit: no result of the job.
            (
                "fixtures/junit.xml",
                "<testsuite><testcase name='fixture'><failure/></testcase></testsuite>",
            ),
        ],
    );
    let workflow = "on: push\nenv: {ORRERY_TEST_REPORTS: 'out/*.report'}\njobs:\n  test:\n    runs-on: x\n    steps:\n      - run: node --test --test-reporter=junit --test-reporter-destination=junit.xml t/sum.test.js\n        continue-on-error: true\n      - run: mkdir out; perl t/own.t > own.tap 2>&1 || true; cp own.tap out/copy.report\n      - run: echo '<testsuite><testcase name=\"cut\"/><testcase' > out/cut.report; ln -s /etc/hostname TEST-link.xml; mkfifo TEST-pipe.xml; exit 3\n";
    let (code, said) = stage.exec(workflow);
    assert_eq!(code, Some(1), "{said}");
    for part in [
        "t/sum.test.js:5: ",
        "of three",
        "t/own.t:3: second: ",
        "`out/cut.report`: it is no XML from byte 33 on",
        "2 of 7 tests failed, 2 skipped",
        "exit code 3",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert!(!said.contains("fixture"), "{said}");
}

const HELD: &str = "quarantine_forgives = true\n[[quarantine]]\ntest = \"*of three\"\nreason = \"nobody can add\"\nuntil = \"2999-01-01\"\n";

#[test]
fn i17_a_step_is_forgiven_for_what_it_wrote_itself() {
    let stage = Stage::new();
    stage.make_tree();
    write(
        &stage.path("tree"),
        &[("t/sum.test.js", SUM), (".orrery/tests.toml", HELD)],
    );
    let test =
        "node --test --test-reporter=junit --test-reporter-destination=junit.xml t/sum.test.js";
    let workflow = |second: &str| {
        format!(
            "on: push\njobs:\n  test:\n    runs-on: x\n    steps:\n      - id: tests\n        run: {test}\n      - run: echo \"outcome ${{{{ steps.tests.outcome }}}} conclusion ${{{{ steps.tests.conclusion }}}}\"\n      - run: {second}\n"
        )
    };
    let (code, said) = stage.exec(&workflow("'true'"));
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("outcome failure conclusion success"),
        "{said}"
    );
    assert!(
        said.contains("exit code 1, and the job goes on: 1 of 3 tests failed"),
        "{said}"
    );
    // What a former step has written forgives nothing.
    let (code, said) = stage.exec(&workflow("exit 7"));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("exit code 7"), "{said}");
}
