//! Reports of tests as test runners write them, and as strangers do.

use runner_core::test_report::{
    CommitFiles, JobReports, JobTests, MAX_DEPTH, MAX_FAILURES, MAX_TESTS, ReportError,
    ReportFormat, TestCase, TestOutcome, TestReport, TestSettings, read, summary,
};

fn report(text: &str) -> TestReport {
    read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// `suite > name outcome [time] [flaky]: message`, one line a test.
fn lines(report: &TestReport) -> Vec<String> {
    report.cases.iter().map(line).collect()
}

fn line(case: &TestCase) -> String {
    let outcome = match case.outcome {
        TestOutcome::Passed => "passed",
        TestOutcome::Skipped => "skipped",
        TestOutcome::Failed => "FAILED",
        TestOutcome::Error => "ERROR",
    };
    let mut line = format!("{} {outcome}", case.full_name());
    if let Some(time) = case.duration_ms {
        line += &format!(" {time}ms");
    }
    if case.flaky {
        line += " flaky";
    }
    if let Some(file) = &case.file {
        line += &format!(" {file}");
    }
    if let Some(number) = case.line {
        line += &format!(":{number}");
    }
    if let Some(why) = &case.reason {
        line += &format!(" ({why})");
    }
    if let Some(failure) = &case.failure {
        line += &format!(": {}", failure.message);
    }
    line
}

const PYTEST: &str = r#"<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="1" skipped="2" tests="5" time="0.081" timestamp="2026-11-24T09:00:00+00:00" hostname="vm"><testcase classname="tests.test_sum.TestSum" name="test_adds[1-2]" file="tests/test_sum.py" line="3" time="0.001" /><testcase classname="tests.test_sum" name="test_fails" file="tests/test_sum.py" line="7" time="0.002"><failure message="assert 3 == 4&#10; +  where 3 = add(1, 2)">def test_fails():
&gt;       assert add(1, 2) == 4
E       assert 3 == 4

tests/test_sum.py:9: AssertionError</failure><system-out>what it printed
</system-out></testcase><testcase classname="tests.test_sum" name="test_setup" time="0.0"><error message="failed on setup with &quot;KeyError: 'x'&quot;">trace</error></testcase><testcase classname="tests.test_sum" name="test_later" time="0.0"><skipped type="pytest.skip" message="not here">tests/test_sum.py:20: not here</skipped></testcase><testcase classname="tests.test_sum" name="test_known" time="0.0"><skipped type="pytest.xfail" message="known" /></testcase></testsuite></testsuites>"#;

const SUREFIRE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="surefire-test-report.xsd" version="3.0" name="com.acme.FooTest" time="1,234.5" tests="4" errors="0" skipped="1" failures="1" flakes="1">
  <properties><property name="java.version" value="21"/></properties>
  <testcase name="adds" classname="com.acme.FooTest" time="0.012"/>
  <testcase name="bar" classname="com.acme.FooTest" time="1.5">
    <failure message="expected: &lt;1&gt; but was: &lt;2&gt;" type="org.opentest4j.AssertionFailedError"><![CDATA[org.opentest4j.AssertionFailedError: expected: <1> but was: <2>
	at com.acme.FooTest.bar(FooTest.java:33)
]]></failure>
    <rerunFailure message="again" type="x"><stackTrace>second</stackTrace><system-out>o</system-out></rerunFailure>
    <system-out><![CDATA[printed]]></system-out>
  </testcase>
  <testcase name="sometimes" classname="com.acme.FooTest" time="0.1">
    <flakyFailure message="timed out" type="java.lang.Error"><stackTrace><![CDATA[at com.acme.FooTest.sometimes(FooTest.java:40)]]></stackTrace><system-out>first</system-out></flakyFailure>
  </testcase>
  <testcase name="off" classname="com.acme.FooTest" time="0"><skipped message="disabled"/></testcase>
</testsuite>"#;

const NEXTEST: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="3" failures="1" errors="0" uuid="0f" timestamp="2026-11-24T09:00:00.000+00:00" time="0.512">
    <testsuite name="rocket" tests="2" disabled="0" errors="0" failures="1">
        <testcase name="tests::flies" classname="rocket" timestamp="2026-11-24T09:00:00.000+00:00" time="0.009">
        </testcase>
        <testcase name="tests::lands" classname="rocket" timestamp="2026-11-24T09:00:00.000+00:00" time="0.010">
            <failure message="thread &apos;tests::lands&apos; panicked at src/lib.rs:12:9" type="test failure with exit code 101">thread &apos;tests::lands&apos; panicked at src/lib.rs:12:9:
assertion `left == right` failed</failure>
            <rerunFailure timestamp="2026-11-24T09:00:01.000+00:00" time="0.011" message="again" type="test failure">again</rerunFailure>
            <system-err>thread &apos;tests::lands&apos; panicked</system-err>
        </testcase>
    </testsuite>
    <testsuite name="rocket::it" tests="1" disabled="0" errors="0" failures="0">
        <testcase name="waits" classname="rocket::it" timestamp="2026-11-24T09:00:00.000+00:00" time="0.500">
            <flakyFailure timestamp="2026-11-24T09:00:00.000+00:00" time="0.3" message="late" type="test failure">late<system-out>x</system-out></flakyFailure>
        </testcase>
    </testsuite>
</testsuites>"#;

const GOTESTSUM: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="1" errors="0" time="0.4">
	<testsuite tests="4" failures="1" time="0.300000" name="example.org/m/pkg/a" timestamp="2026-11-24T09:00:00Z">
		<properties><property name="go.version" value="go1.24 linux/amd64"></property></properties>
		<testcase classname="example.org/m/pkg/a" name="TestAdd" time="0.010000"></testcase>
		<testcase classname="example.org/m/pkg/a" name="TestSlow" time="0.020000">
			<failure message="Failed" type="">=== RUN   TestSlow&#xA;    a_test.go:9: too slow&#xA;--- FAIL: TestSlow (0.02s)&#xA;</failure>
		</testcase>
		<testcase classname="example.org/m/pkg/a" name="TestSkip" time="0.000000"><skipped message="a_test.go:20: no network"></skipped></testcase>
		<testcase classname="example.org/m/pkg/a" name="TestSlow" time="0.010000"></testcase>
	</testsuite>
</testsuites>"#;

const JEST: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="jest tests" tests="2" failures="1" errors="0" time="1.2">
  <testsuite name="sum" errors="0" failures="1" skipped="0" timestamp="2026-11-24T09:00:00" time="0.9" tests="2">
    <testcase classname="sum adds" name="sum adds" time="0.003" file="src/sum.test.js">
    </testcase>
    <testcase classname="sum fails" name="sum fails" time="0.004" file="src/sum.test.js">
      <failure>Error: expect(received).toBe(expected)

Expected: 4
    at Object.&lt;anonymous&gt; (/workspace/src/sum.test.js:9:21)</failure>
    </testcase>
  </testsuite>
</testsuites>"#;

const NESTED: &str = r#"<testsuites><testsuite name="outer"><testsuite name="inner" file="tests/A.php"><testcase name="testOne" class="A" line="12" assertions="1" time="0.1"/><testcase name="no class"/></testsuite><testsuite name="setup"><error message="no database" type="Exception">trace</error></testsuite></testsuite><testsuite name="gtest"><testcase name="Off" status="notrun" result="suppressed" time="0." classname="Math"/></testsuite></testsuites>"#;

#[test]
fn i17_junit_is_read_in_every_dialect() {
    for (text, expected) in [
        (
            PYTEST,
            &[
                "tests.test_sum.TestSum > test_adds[1-2] passed 1ms tests/test_sum.py:3",
                "tests.test_sum > test_fails FAILED 2ms tests/test_sum.py:7: assert 3 == 4\n +  where 3 = add(1, 2)",
                "tests.test_sum > test_setup ERROR 0ms: failed on setup with \"KeyError: 'x'\"",
                "tests.test_sum > test_later skipped 0ms (not here)",
                "tests.test_sum > test_known skipped 0ms (known)",
            ][..],
        ),
        (
            SUREFIRE,
            &[
                "com.acme.FooTest > adds passed 12ms",
                "com.acme.FooTest > bar FAILED 1500ms: expected: <1> but was: <2>",
                "com.acme.FooTest > sometimes passed 100ms flaky: timed out",
                "com.acme.FooTest > off skipped 0ms (disabled)",
            ],
        ),
        (
            NEXTEST,
            &[
                "rocket > tests::flies passed 9ms",
                "rocket > tests::lands FAILED 10ms: thread 'tests::lands' panicked at src/lib.rs:12:9",
                "rocket::it > waits passed 500ms flaky: late",
            ],
        ),
        (
            GOTESTSUM,
            &[
                "example.org/m/pkg/a > TestAdd passed 10ms",
                "example.org/m/pkg/a > TestSlow FAILED 20ms: Failed",
                "example.org/m/pkg/a > TestSkip skipped 0ms (a_test.go:20: no network)",
                "example.org/m/pkg/a > TestSlow passed 10ms",
            ],
        ),
        (
            JEST,
            &[
                "sum adds > sum adds passed 3ms src/sum.test.js",
                "sum fails > sum fails FAILED 4ms src/sum.test.js: Error: expect(received).toBe(expected)",
            ],
        ),
        (
            NESTED,
            &[
                "A > testOne passed 100ms tests/A.php:12",
                "outer > inner > no class passed tests/A.php",
                "outer > setup > (suite) ERROR: no database",
                "Math > Off skipped 0ms",
            ],
        ),
    ] {
        let report = report(text);
        assert_eq!(lines(&report), expected);
        assert_eq!(
            (report.format, report.notes),
            (ReportFormat::Junit, Vec::<String>::new())
        );
    }
    let surefire = report(SUREFIRE);
    let failure = surefire.cases[1].failure.as_ref().unwrap();
    assert!(failure.detail.contains("FooTest.java:33"));
    assert_eq!(failure.output, "printed");
    assert!(
        surefire.cases[2]
            .failure
            .as_ref()
            .unwrap()
            .detail
            .contains("FooTest.java:40")
    );
}

#[test]
fn i17_tap_is_read_with_subtests_diagnostics_and_directives() {
    let node = "TAP version 13\n# Subtest: outer\n    # Subtest: inner\n    ok 1 - inner\n      ---\n      duration_ms: 1.5\n      ...\n    # Subtest: wrong\n    not ok 2 - wrong\n      ---\n      duration_ms: 2.2\n      location: '/workspace/a.test.js:5:3'\n      error: |-\n        Expected values\n        to be equal\n      code: 'ERR'\n      stack: |-\n        at file:///workspace/a.test.js:6:10\n      ...\n    1..2\nnot ok 1 - outer\n  ---\n  duration_ms: 5\n  ...\n# Subtest: alone\nok 2 - alone # SKIP no reason\n1..2\n# tests 3\n";
    let report_of_node = report(node);
    assert_eq!(
        lines(&report_of_node),
        [
            "outer > inner passed 2ms",
            "outer > wrong FAILED 2ms /workspace/a.test.js:5: Expected values\nto be equal",
            "alone skipped (no reason)",
        ]
    );
    assert!(report_of_node.notes.is_empty(), "{report_of_node:?}");
    for (text, expected, notes) in [
        (
            "1..3\nok 1 - a \\# b\nnot ok 2 # TODO later\nok\n",
            &[
                "a # b passed",
                "test 2 skipped (todo: later)",
                "test 3 passed",
            ][..],
            0,
        ),
        (
            "1..2\nnot ok 1 - a\n# why it is so\n#   at t/a.t line 3.\n",
            &["a FAILED: why it is so"],
            1,
        ),
        (
            "1..0 # SKIP no database\n",
            &["(all) skipped (no database)"],
            0,
        ),
        (
            "1..5\nok 1 a # time=12.5ms\nBail out! no disk\n",
            &["a passed 13ms", "Bail out! ERROR: no disk"],
            0,
        ),
        (
            "not ok 1 - parent {\n    ok 1 - child\n    1..1\n}\n1..1\n",
            &["parent FAILED: not ok", "child passed"],
            0,
        ),
        (
            "    ok 1 - child\n    1..1\nnot ok 1 - parent failed by itself\n1..1\n",
            &["child passed", "parent failed by itself FAILED: not ok"],
            0,
        ),
        (
            "    # Subtest: perl\n    ok 1 - a\n    1..1\nok 1 - perl\n    # Subtest: two\n    ok 1 - a\n    1..1\nok 2 - two\n1..2\n",
            &["perl > a passed", "two > a passed"],
            0,
        ),
        ("noise\nok 1 - a\nokay then\nnot okay\n", &["a passed"], 0),
    ] {
        let report = report(text);
        assert_eq!(lines(&report), expected, "{text}");
        assert_eq!(report.notes.len(), notes, "{text}: {report:?}");
        assert_eq!(report.format, ReportFormat::Tap);
    }
}

const TEST2JSON: &str = r#"{"Time":"2026-11-24T09:00:00Z","Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestAdd"}
{"Action":"output","Package":"m/a","Test":"TestAdd","Output":"=== RUN   TestAdd\n"}
{"Action":"run","Package":"m/a","Test":"TestAdd/one"}
{"Action":"output","Package":"m/a","Test":"TestAdd/one","Output":"    a_test.go:12: 3 is not 4\n"}
{"Action":"output","Package":"m/a","Test":"TestAdd/one","Output":"    --- FAIL: TestAdd/one (0.01s)\n"}
{"Action":"fail","Package":"m/a","Test":"TestAdd/one","Elapsed":0.01}
{"Action":"fail","Package":"m/a","Test":"TestAdd","Elapsed":0.02}
{"Action":"run","Package":"m/a","Test":"TestSkip"}
{"Action":"output","Package":"m/a","Test":"TestSkip","Output":"    a_test.go:20: no network\n"}
{"Action":"skip","Package":"m/a","Test":"TestSkip","Elapsed":0}
{"Action":"run","Package":"m/a","Test":"TestHangs"}
{"Action":"output","Package":"m/a","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"m/a","Elapsed":0.5}
go: some line of a build
{"ImportPath":"m/b","Action":"build-output","Output":"b/b.go:3:1: syntax error\n"}
{"ImportPath":"m/b","Action":"build-fail"}
{"Action":"start","Package":"m/b"}
{"Action":"output","Package":"m/b","Output":"FAIL\tm/b [build failed]\n"}
{"Action":"fail","Package":"m/b","Elapsed":0,"FailedBuild":"m/b"}
{"Action":"run","Package":"m/c","Test":"TestTwice"}
{"Action":"output","Package":"m/c","Test":"TestTwice","Output":"    c_test.go:3: first\n"}
{"Action":"fail","Package":"m/c","Test":"TestTwice","Elapsed":0.1}
{"Action":"run","Package":"m/c","Test":"TestTwice"}
{"Action":"pass","Package":"m/c","Test":"TestTwice","Elapsed":0.2}
{"Action":"pass","Package":"m/c","Elapsed":0.3}
"#;

#[test]
fn i17_test2json_is_read_with_subtests_builds_and_attempts() {
    let report = report(TEST2JSON);
    assert_eq!(
        lines(&report),
        [
            "m/a > TestAdd/one FAILED 10ms a_test.go:12: 3 is not 4",
            "m/a > TestSkip skipped 0ms (no network)",
            "m/b > (package) ERROR 0ms b/b.go:3: syntax error",
            "m/c > TestTwice FAILED 100ms c_test.go:3: first",
            "m/c > TestTwice passed 200ms",
            "m/a > TestHangs ERROR: it began and has no end in the file",
        ]
    );
    let job = job(&[("a.json", TEST2JSON)], "");
    let twice = job
        .cases
        .iter()
        .find(|case| case.name == "TestTwice")
        .unwrap();
    assert_eq!(
        line(twice),
        "m/c > TestTwice passed 200ms flaky c_test.go:3: first"
    );
}

fn job(files: &[(&str, &str)], settings: &str) -> JobTests {
    let mut reports = JobReports::default();
    for (path, text) in files {
        reports.add(path, true, text.as_bytes());
    }
    let settings = TestSettings::parse("tests.toml", settings).expect("they are right");
    let paths = ["tests/test_sum.py", "c_test.go", "a_test.go", "src/lib.rs"];
    let files = CommitFiles::new(paths.map(str::to_owned));
    let day = "2026-11-24".parse().expect("it is a day");
    let mask = |text: &str| text.replace("hunter2", "***");
    reports.finish(&files, (&settings, "test (1)", day), &mask)
}

#[test]
fn i17_the_reports_of_a_job_become_one_list() {
    let tests = job(
        &[
            ("a.xml", GOTESTSUM),
            ("copy.xml", GOTESTSUM),
            ("b.xml", PYTEST),
        ],
        "",
    );
    let shown: Vec<String> = tests.cases.iter().map(line).collect();
    assert_eq!(
        shown[1],
        "example.org/m/pkg/a > TestSlow passed 10ms flaky a_test.go:9: Failed"
    );
    assert_eq!(
        shown[4],
        "tests.test_sum > test_fails FAILED 2ms tests/test_sum.py:9: assert 3 == 4\n +  where 3 = add(1, 2)",
        "the line of the trace, not of the function"
    );
    let counts = tests.counts;
    assert_eq!(
        (counts.total, counts.failed, counts.skipped, counts.flaky),
        (8, 2, 3, 1)
    );
    assert_eq!(tests.reports.len(), 2, "a copy counts once");
    assert!(tests.is_complete && tests.notes.is_empty());
    // Two tests of one name are no attempts, unless the report says so: the worse one counts.
    let twice = "<testsuite><testcase name='a'><failure message='hunter2'/></testcase><testcase name='a'/></testsuite>";
    let tests = job(&[("a.xml", twice)], "");
    assert_eq!(tests.cases.len(), 1);
    assert_eq!(line(&tests.cases[0]), "a FAILED flaky: ***");
    let text = summary(&tests);
    assert!(
        text.starts_with("### Tests: 1 of 1 test failed, 1 flaky\n"),
        "{text}"
    );
    assert!(!text.contains("hunter2"));
}

#[test]
fn i17_only_quarantined_failures_are_told_from_all_others() {
    let until = |day: &str, test: &str| {
        format!("[[quarantine]]\ntest = \"{test}\"\nreason = \"known\"\nuntil = \"{day}\"\n")
    };
    let one = "<testsuite><testcase classname='net' name='slow'><failure/></testcase><testcase classname='net' name='fast'/></testsuite>";
    let two = "<testsuite><testcase classname='disk' name='full'><error/></testcase></testsuite>";
    let cut = "<testsuite><testcase classname='net' name='slow'><failure/></testcase><testcase";
    let less = "<testsuite failures='2'><testcase classname='net' name='slow'><failure/></testcase></testsuite>";
    let held = until("2026-11-24", "net > *");
    for (files, settings, only) in [
        (&[("a.xml", one)][..], held.as_str(), true),
        (&[("a.xml", one)], "", false),
        (&[("a.xml", one)], &until("2026-11-23", "net > *"), false),
        (&[("a.xml", one)], &until("2026-11-24", "net > fast"), false),
        (&[("a.xml", one), ("b.xml", two)], &held, false),
        (&[("a.xml", cut)], &held, false),
        (&[("a.xml", less)], &held, false),
        (&[("a.xml", one), ("b.xml", "no report")], &held, false),
        (
            &[("a.xml", "<testsuite><testcase name='x'/></testsuite>")],
            &held,
            false,
        ),
    ] {
        let tests = job(files, settings);
        assert_eq!(
            tests.has_only_quarantined_failures(),
            only,
            "{files:?} {settings} {tests:?}"
        );
    }
    let tests = job(&[("a.xml", one)], &held);
    assert_eq!(
        tests.cases[0].quarantine.as_deref(),
        Some("known (until 2026-11-24)")
    );
    assert_eq!(
        tests.counts.line(),
        "1 of 2 tests failed, 1 of them in quarantine"
    );
}

#[test]
fn i17_wrong_files_are_notes() {
    let no_report = [
        "",
        "hello",
        "{}",
        "{\"a\":1}\n{\"b\":2}",
        "<html><body/></html>",
        "<x/>",
        "ok",
        "not ok at all",
    ];
    for text in no_report {
        let read = read(text.as_bytes());
        // A bare `ok` is a test point.
        assert!(
            read == Err(ReportError::NoReport) || text == "ok" || text.starts_with("not ok"),
            "{text}: {read:?}"
        );
    }
    let broken = "<testsuite><testcase name='a'/><testcase name='b'><failure>cut";
    let cut = report(broken);
    assert_eq!(lines(&cut), ["a passed"]);
    assert!(cut.notes[0].contains("cut short"), "{:?}", cut.notes);
    assert!(matches!(
        read(b"<testsuite><testcase name='a'"),
        Err(ReportError::Broken(_))
    ));
    assert_eq!(report("<testsuites/>").cases.len(), 0);
    assert_eq!(
        lines(&report(
            "\u{feff}<testsuite><testcase name='a'/></testsuite>"
        )),
        ["a passed"]
    );
    let latin = b"<testsuite><testcase name='caf\xe9'/></testsuite>";
    assert_eq!(read(latin).unwrap().cases[0].name, "caf\u{fffd}");
}

#[test]
fn i17_hostile_files_stay_within_bounds() {
    let bomb = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'><!ENTITY f SYSTEM 'file:///etc/passwd'>]><testsuite><testcase name='a'><failure message='&b;'>&b;&f;&amp;</failure></testcase></testsuite>";
    let failure = report(bomb).cases[0].failure.clone().unwrap();
    assert_eq!(
        (failure.message.as_str(), failure.detail.as_str()),
        ("&b;", "??&"),
        "nothing is expanded"
    );
    let deep = "<testsuite>".repeat(MAX_DEPTH + 1) + "<testcase name='a'/>";
    assert!(matches!(read(deep.as_bytes()), Err(ReportError::Broken(_))));
    let deep = format!("<testsuite><testcase name='a'/>{}", "<x>".repeat(100_000));
    assert_eq!(report(&deep).cases.len(), 1);
    let large = vec![b' '; 100 << 20];
    assert_eq!(read(&large), Err(ReportError::TooLarge(100 << 20)));
    let many = format!(
        "<testsuite>{}</testsuite>",
        "<testcase name='a'/>".repeat(MAX_TESTS + 10)
    );
    let many = report(&many);
    assert_eq!((many.cases.len(), many.notes.len()), (MAX_TESTS, 1));
    let points = "ok\n".repeat(MAX_TESTS + 10);
    assert_eq!(report(&points).cases.len(), MAX_TESTS);
    let long = "x".repeat(1 << 20);
    let long = report(&format!(
        "<testsuite name='{long}'><testcase name='{long}'><failure message='{long}'>{long}<system-out>{long}</system-out></failure></testcase></testsuite>"
    ));
    let case = &long.cases[0];
    let failure = case.failure.as_ref().unwrap();
    let sizes = [
        case.suite.len(),
        case.name.len(),
        failure.message.len(),
        failure.detail.len(),
        failure.output.len(),
    ];
    assert!(sizes.iter().sum::<usize>() < 40_000, "{sizes:?}");
    let indented = (0..5000)
        .map(|n| " ".repeat(n) + "ok 1 - a\n")
        .collect::<String>();
    assert_eq!(report(&indented).cases.len(), 5000);
    let failing: String = (0..=MAX_FAILURES)
        .map(|n| format!("<testcase name='{n}'><failure/></testcase>"))
        .collect();
    let tests = job(
        &[("a.xml", &format!("<testsuite>{failing}</testsuite>"))],
        "",
    );
    let kept = tests
        .cases
        .iter()
        .filter(|case| case.failure.is_some())
        .count();
    assert_eq!((kept, tests.notes.len()), (MAX_FAILURES, 1));
}
