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

#[test]
fn i17_what_fragments_come_to_is_told_before_it_is_walked_through() {
    let script = Script::new(&[("GET ", repository())]);
    let spread = |name: usize| format!("...f{name} ").repeat(50);
    let mut doubling = format!(
        "{{ repository(owner: \"a\", name: \"b\") {{ {} }} }} ",
        spread(0)
    );
    for at in 0..28 {
        doubling += &format!("fragment f{at} on Repository {{ {} }} ", spread(at + 1));
    }
    doubling += "fragment f28 on Repository { name }";
    // One below another, each of which is small.
    let mut chain = "{ repository(owner: \"a\", name: \"b\") { ...f0 } } ".to_owned();
    for at in 0..5_000 {
        chain += &format!("fragment f{at} on Repository {{ ...f{} }} ", at + 1);
    }
    chain += "fragment f5000 on Repository { name }";
    let schema = format!(
        "{{ __type(name: \"Repository\") {{ {} name {} }} }}",
        "fields { type {".repeat(2),
        "} }".repeat(2)
    );
    let mutual = "{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }";
    for (query, said) in [
        (doubling.as_str(), "2000 fields"),
        (&chain, "in one another"),
        (&schema, "the schema"),
        (mutual, "within itself"),
    ] {
        let found = ask(Gitea, &script, query, &json!({}));
        assert!(message(&found).contains(said), "{found}");
    }
    assert!(script.calls.borrow().is_empty());
}

#[test]
fn i17_brackets_are_counted_before_they_are_parsed() {
    let script = Script::default();
    let many = 60_000;
    let list = format!(
        "{{ nodes(ids: {}{}) {{ id }} }}",
        "[".repeat(many),
        "]".repeat(many)
    );
    let ty = format!(
        "query($a: {}Int{}) {{ viewer {{ login }} }}",
        "[".repeat(many),
        "]".repeat(many)
    );
    let hidden = format!("{{ nodes(ids: [\"\"\"x\" {}", "[".repeat(many));
    for query in [list.as_str(), &ty, &"{a".repeat(many), &hidden] {
        let found = ask(Gitea, &script, query, &json!({}));
        let said = message(&found);
        assert!(
            said.contains("brackets") || said.contains("no end"),
            "{said}"
        );
    }
    // Those of strings and comments are none.
    let text = "[".repeat(100);
    let query = format!(
        "# {text}\n{{ viewer {{ login }} a: node(id: \"\\\"{text}\") {{ id }} b: node(id: \"\"\"{text} \\\"\"\" \"\"\") {{ id }} }}"
    );
    let found = ask(Gitea, &script, &query, &json!({}));
    assert_eq!(found["data"]["viewer"]["login"], "runner", "{found}");
}

/// Issues as GitHub lists them.
fn issues(many: u64, body: &str) -> Value {
    let one = |number| json!({"number": number, "title": "a", "body": body, "state": "open", "comments": 0});
    (1..=many).map(one).collect()
}

#[test]
fn i17_lists_within_lists_are_not_copied_without_end() {
    let script = Script::new(&[("GET ", repository()), ("GET /issues", issues(100, ""))]);
    let nested = format!(
        "{{ repository(owner: \"acme\", name: \"rocket\") {{ {} name {} }} }}",
        "issues(first: 100) { nodes { repository { ".repeat(3),
        "} } }".repeat(3)
    );
    let found = ask(GitHub, &script, &nested, &json!({}));
    let errors = found["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 1, "the same is told once");
    assert_eq!(errors[0]["type"], "RESOURCE_LIMITS_EXCEEDED");
    assert!(
        message(&found).contains("ask for less"),
        "{}",
        message(&found)
    );
    assert!(found.to_string().len() < 4 << 20);
    let names: String = (0..1_900).map(|at| format!("a{at}: title ")).collect();
    let wide = format!(
        "{{ repository(owner: \"acme\", name: \"rocket\") {{ issues(first: 100) {{ nodes {{ repository {{ issues(first: 100) {{ nodes {{ {names} }} }} }} }} }} }} }}"
    );
    let found = ask(GitHub, &script, &wide, &json!({}));
    assert!(
        message(&found).contains("fields of items"),
        "{}",
        message(&found)
    );
    assert!(found.to_string().len() < 8 << 20);
    let bodies: String = (0..50).map(|at| format!("a{at}: body ")).collect();
    let script = Script::new(&[
        ("GET ", repository()),
        ("GET /issues", issues(100, &"x".repeat(40_000))),
    ]);
    let long = format!(
        "{{ repository(owner: \"acme\", name: \"rocket\") {{ issues(first: 100) {{ nodes {{ {bodies} }} }} }} }}"
    );
    let found = ask(GitHub, &script, &long, &json!({}));
    assert!(
        message(&found).contains("67108864 bytes"),
        "{}",
        message(&found)
    );
    assert!(found.to_string().len() < 70 << 20);
}

#[test]
fn i17_a_document_keeps_no_more_of_the_forge_s_answers_than_it_may() {
    let file = json!({"sha": "a", "size": 1, "content": "QUJD".repeat(5 << 20)});
    let names: Vec<String> = (0..5).map(|at| format!("GET /contents/{at}")).collect();
    let mut answers = vec![("GET ", repository())];
    answers.extend(names.iter().map(|name| (name.as_str(), file.clone())));
    let script = Script::new(&answers);
    let files: String = (0..5)
        .map(|at| {
            format!("a{at}: object(expression: \"HEAD:{at}\") {{ ... on Blob {{ byteSize }} }} ")
        })
        .collect();
    let query = format!("{{ repository(owner: \"acme\", name: \"rocket\") {{ {files} }} }}");
    let found = ask(GitHub, &script, &query, &json!({}));
    assert_eq!(found["errors"][0]["type"], "RESOURCE_LIMITS_EXCEEDED");
    assert!(message(&found).contains("bytes"), "{}", message(&found));
}
