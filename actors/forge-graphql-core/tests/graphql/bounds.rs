//! What a document may be.

use forge_core::Forge::{GitHub, Gitea};
use forge_graphql_core::{MAX_CALLS, MAX_DOCUMENT};
use serde_json::{Value, json};

use crate::{Script, answer, ask, data, gitea_pull, repository};

fn message(answer: &Value) -> &str {
    answer["errors"][0]["message"].as_str().unwrap_or_default()
}

#[test]
fn i17_features_are_found_by_introspection() {
    let script = Script::default();
    let query = "{ Issue: __type(name: \"Issue\") { fields(includeDeprecated: true) { name } }
        none: __type(name: \"LinkedBranch\") { fields { name } } __schema { queryType { name } } }";
    let found = ask(GitHub, &script, query, &json!({}));
    let fields = found["data"]["Issue"]["fields"].as_array().unwrap();
    assert!(fields.iter().any(|field| field["name"] == "stateReason"));
    assert_eq!(found["data"]["none"], Value::Null);
    assert!(script.calls.borrow().is_empty());
}

#[test]
fn i17_documents_that_are_too_much_are_refused() {
    let script = Script::new(&[("GET ", repository())]);
    let deep = format!(
        "{{ node(id: \"x\") {{ {} id {} }} }}",
        "... on Issue { repository { issue(number: 1) {".repeat(12),
        "} } }".repeat(12)
    );
    let wide = format!(
        "{{ repository(owner: \"acme\", name: \"rocket\") {{ {} }} }}",
        (0..2500)
            .map(|at| format!("a{at}: name "))
            .collect::<String>()
    );
    let cycle = "{ repository(owner: \"acme\", name: \"rocket\") { ...a } } fragment a on Repository { ...a }";
    for query in [
        deep.as_str(),
        wide.as_str(),
        cycle,
        "{ repository",
        "{ nothing }",
    ] {
        let found = ask(Gitea, &script, query, &json!({}));
        assert!(
            !message(&found).is_empty() && found.get("data").is_none(),
            "{found:#}"
        );
    }
    let long = vec![b' '; MAX_DOCUMENT + 1];
    assert!(message(&answer(Gitea, &script, &long)).contains("bytes"));
    for body in [
        "",
        "[]",
        "{}",
        "{\"query\": 7}",
        "{\"query\": \"{ viewer { login } }\", \"variables\": 7}",
    ] {
        let found = answer(Gitea, &script, body.as_bytes());
        assert!(
            found.get("errors").is_some() || found.get("data").is_some(),
            "{body}: {found}"
        );
    }
    assert!(
        script.calls.borrow().is_empty(),
        "{:?}",
        script.calls.borrow()
    );
}

#[test]
fn i17_a_document_makes_no_more_calls_than_it_may() {
    let script = Script::new(&[("GET ", repository())]);
    let many: String = (0..150)
        .map(|at| format!("a{at}: issue(number: {at}) {{ title }} "))
        .collect();
    let query = format!("{{ repository(owner: \"acme\", name: \"rocket\") {{ {many} }} }}");
    let found = ask(Gitea, &script, &query, &json!({}));
    let errors = found["errors"].as_array().unwrap();
    assert!(errors.iter().any(|error| error["type"] == "RATE_LIMITED"));
    assert_eq!(
        script.calls.borrow().len(),
        usize::try_from(MAX_CALLS).unwrap()
    );
}

#[test]
fn i17_what_is_not_there_is_named() {
    let script = Script::default();
    let found = ask(
        GitHub,
        &script,
        "{ repository(owner: \"a\", name: \"b\") { discussions { totalCount } } }",
        &json!({}),
    );
    let said = message(&found);
    assert!(
        said.contains("\"discussions\"") && said.contains("\"Repository\""),
        "{said}"
    );
    let found = ask(
        GitHub,
        &script,
        "mutation { pinIssue(input: {issueId: \"x\"}) { issue { id } } }",
        &json!({}),
    );
    assert!(message(&found).contains("\"pinIssue\""), "{found}");
    let part = data(
        Gitea,
        &Script::new(&[
            ("GET ", repository()),
            ("GET /pulls", json!([gitea_pull()])),
        ]),
        "pullRequests(first: 101) { nodes { number } } "
            .replace("101", "100")
            .as_str(),
    );
    assert_eq!(part["pullRequests"]["nodes"][0]["number"], 7);
}
