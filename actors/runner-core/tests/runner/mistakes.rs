//! Mistakes are shown with their line, a caret and what was meant.

use config_core::Colours;
use runner_core::workflow::parse;

fn shown(text: &str) -> String {
    parse("ci.yml", text.as_bytes())
        .expect_err("wrong")
        .render(Colours::Off)
}

#[test]
fn all_mistakes_of_a_file_are_found_at_once() {
    let text = "\
on:
  push:
    brunches: [main]
jobs:
  build:
    runs-on: ubuntu-latest
    needs: [tset]
    timeout-minutes: soon
    steps:
      - run: echo ${{ github.ref
      - uses: actions/checkout@v4
        run: both
      - name: neither
      - run: |
          echo one
          echo ${{ matrxi.v }} ${{ secrets.X }}
        if: ${{ secrets.X }}
  test: {runs-on: x, steps: [{run: y, shel: bash}]}
";
    expect_test::expect_file!["mistakes.expected"].assert_eq(&shown(text));
}

#[test]
fn the_place_of_an_expression_is_found_in_every_style() {
    for (scalar, col) in [
        ("a ${{ nothing }}", 21),
        ("\"a\\t ${{ nothing }}\"", 24),
        ("'it''s ${{ nothing }}'", 26),
        ("${{ github.ref }} ${{ nothing }}", 37),
    ] {
        let text = format!(
            "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - name: {scalar}\n        run: x\n"
        );
        let wrong = parse("ci.yml", text.as_bytes()).unwrap_err();
        let first = wrong.iter().next().unwrap();
        assert!(first.message.contains("`nothing`"), "{wrong}");
        assert_eq!((first.line, first.col), (Some(6), Some(col)), "{wrong}");
    }
    for style in ["|", ">", "|-", ">+"] {
        let text = format!(
            "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: {style}\n          one ${{{{ github.ref }}}}\n          two ${{{{ nothing }}}}\n"
        );
        let wrong = parse("ci.yml", text.as_bytes()).unwrap_err();
        let first = wrong.iter().next().unwrap();
        assert_eq!(
            (first.line, first.col),
            (Some(8), Some(19)),
            "{style}: {wrong}"
        );
    }
}

#[test]
fn every_scalar_style_gives_its_script() {
    for (yaml, script) in [
        ("echo a", "echo a"),
        ("'echo ''a'' # no comment'", "echo 'a' # no comment"),
        ("\"echo\\ta\"", "echo\ta"),
        (
            "|\n          one\n            two\n\n          three\n",
            "one\n  two\n\nthree\n",
        ),
        ("|-\n          one\n          two\n", "one\ntwo"),
        ("|+\n          one\n", "one\n\n"),
        (
            ">\n          one\n          two\n\n          three\n",
            "one two\nthree\n",
        ),
        ("|2\n            two more\n", "  two more\n"),
        ("echo\n          folded", "echo folded"),
    ] {
        let text =
            format!("on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: {yaml}\n");
        let workflow = parse("ci.yml", text.as_bytes())
            .unwrap_or_else(|error| panic!("{error}"))
            .value;
        let runner_core::workflow::JobWork::Steps { steps, .. } = &workflow.jobs[0].work else {
            panic!("steps")
        };
        let runner_core::workflow::StepWork::Run { script: found, .. } = &steps[0].work else {
            panic!("a script")
        };
        assert_eq!(&*found.source, script, "{yaml}");
        assert_eq!(
            parse("ci.yml", text.replace('\n', "\r\n").as_bytes())
                .unwrap()
                .value
                .jobs
                .len(),
            1
        );
    }
}

#[test]
fn circles_of_needs_are_shown() {
    let text = "on: push\njobs:\n  a: {needs: c, runs-on: x, steps: [{run: y}]}\n  b: {needs: a, runs-on: x, steps: [{run: y}]}\n  c: {needs: [b], runs-on: x, steps: [{run: y}]}\n  d: {needs: d, runs-on: x, steps: [{run: y}]}\n";
    let said = shown(text);
    assert!(
        said.contains("a → c → b → a") || said.contains("d → d"),
        "{said}"
    );
}

#[test]
fn what_could_only_fail_later_is_wrong_now() {
    let job = "jobs:\n  a:\n    runs-on: x\n    steps: [{run: y}]\n";
    let strategy = |count: &str| {
        format!(
            "on: push\n{job}    strategy:\n      matrix: {{v: [1]}}\n      max-parallel: {count}\n"
        )
    };
    let inputs: String = (0..26).map(|n| format!("      i{n}: {{}}\n")).collect();
    for (text, said) in [
        (strategy("foo"), "max-parallel is `foo`"),
        (strategy("[1]"), "max-parallel"),
        (
            format!("on: schedule\n{job}"),
            "schedule has no `cron` entries",
        ),
        (
            format!("on: [push, schedule]\n{job}"),
            "schedule has no `cron` entries",
        ),
        (
            format!("on:\n  workflow_dispatch:\n    inputs:\n{inputs}{job}"),
            "26 inputs, 25 at most",
        ),
        (
            format!("on: push\n{job}    env: {{'A=B': c}}\n"),
            "`A=B` is no name of a variable",
        ),
        (
            format!("on: push\nname: {{{{ of_a_template }}}}\n{job}"),
            "stands between quotes",
        ),
    ] {
        let shown = shown(&text);
        assert!(shown.contains(said), "{text}: {shown}");
    }
    for count in ["2", "${{ fromJSON('2') }}"] {
        parse("ci.yml", strategy(count).as_bytes()).unwrap();
    }
}
