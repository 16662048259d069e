//! Here-documents of a Dockerfile, in every way that a job builds one.

use crate::lab::{Lab, of_job, prepare};
use crate::stage::in_order;

const DOCKERFILE: &str = r#"ARG WHO=before
FROM tools:1
ARG WHO
ENV NAME=world PATH=/usr/local/more:$PATH
RUN <<EOF
set -e
echo "script for $NAME and $WHO" > /one
EOF
RUN <<PY
#!/usr/bin/env python3
open("/two", "w").write("by python\n")
PY
RUN cat <<A > /three && cat <<-'B' >> /three
three for $NAME
A
	and $NAME
	B
COPY --chmod=750 <<EOF /usr/local/bin/entry
#!/bin/sh
echo "entry for $NAME, $WHO, \$HOME"; cat /one /two /three; cat /four/*
EOF
COPY <<x <<"y" plain /four/
x of $WHO
x
y of $WHO
y
ENTRYPOINT ["/usr/local/bin/entry"]
"#;

const WORKFLOW: &str = r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - run: docker build -t one . && docker run --rm one
      - run: docker buildx build --load --build-arg WHO=buildx -t two . && docker run --rm two
      - uses: ./act
      - run: cd shop && docker compose build && docker compose run --rm web
      - run: printf 'FROM tools:1\nCOPY <<E /x\n$NOT\nE\n' | docker build - || echo "ended with $?"
"#;

const ACTION: &str = "runs: {using: docker, image: Dockerfile}\n";
const COMPOSE: &str = "services:\n  web:\n    build: {context: ., args: {WHO: compose}}\n";

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_here_documents_are_built_in_every_way() {
    prepare();
    let lab = Lab::new();
    lab.add_images(&["tools:1"]);
    let mut files = vec![
        (".github/workflows/ci.yml", WORKFLOW),
        ("act/action.yml", ACTION),
        ("shop/compose.yml", COMPOSE),
    ];
    for folder in [
        ["Dockerfile", "plain"],
        ["act/Dockerfile", "act/plain"],
        ["shop/Dockerfile", "shop/plain"],
    ] {
        files.extend([(folder[0], DOCKERFILE), (folder[1], "beside\n")]);
    }
    let (code, said) = lab.exec(&files);
    assert_eq!(code, Some(0), "{said}");
    let said = of_job(&said, "a");
    let mut lines = Vec::new();
    for (who, home) in [
        ("before", "/root"),
        ("buildx", "/root"),
        ("before", "/github/home"),
        ("compose", "/root"),
    ] {
        lines.push(format!("entry for world, {who}, {home}"));
        let rest = ["by python", "three for world", "and $NAME", "beside"];
        lines.push(format!("script for world and {who}"));
        lines.extend(rest.map(str::to_owned));
        lines.extend([format!("x of {who}"), "y of $WHO".to_owned()]);
    }
    lines.push("the variable NOT, which no ARG or ENV of its stage sets".to_owned());
    lines.push("ended with 1".to_owned());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    in_order(&said, &lines);
}
