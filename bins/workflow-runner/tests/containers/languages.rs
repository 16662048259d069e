//! Compilers and runtimes of the image `full`, and that the native `setup-…` actions find them.

use crate::lab::{Lab, of_job, prepare};
use crate::stage::in_order;

const WORKFLOW: &str = r#"
on: push
jobs:
  languages:
    runs-on: ubuntu-latest
    steps:
      - run: ldd --version | awk 'NR == 1 {split($NF, at, "."); if (at[1] > 2 || at[2] >= 39) print "new enough"}'
      - run: |
          rustc --version; cd tiny && cargo test --quiet
          cargo clippy --quiet && cargo fmt --check && echo "tidy"
          sudo cargo --version
          . ~/.cargo/env && rustup show active-toolchain
      - run: |
          java Hello.java
          test -x "$JAVA_HOME/bin/javac" && env | grep '^JAVA_HOME_' | sed 's/=.*//'
          mvn --version | head -n 1; ant -version
      - run: go run hello.go && test -x "$GOROOT_1_24_X64/bin/go" && echo goroot
      - run: clang -fuse-ld=lld -o hello hello.c && ./hello && echo 'int  x;' | clang-format
      - {id: rust, uses: dtolnay/rust-toolchain@stable, with: {components: "clippy, rustfmt"}}
      - {id: java, uses: actions/setup-java@v5, with: {distribution: temurin, java-version: 21}}
      - {id: go, uses: actions/setup-go@v6, with: {go-version: 1.24, cache: false}}
      - run: |
          echo "key ${{ steps.rust.outputs.cachekey }}" | grep -E '^key 20[0-9]{6}[0-9a-f]{4}$'
          echo "set up ${{ steps.java.outputs.version }} ${{ steps.go.outputs.go-version }}"
"#;

const FILES: [(&str, &str); 6] = [
    (".github/workflows/ci.yml", WORKFLOW),
    (
        "tiny/Cargo.toml",
        "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    ),
    (
        "tiny/src/lib.rs",
        "#[test]\nfn works() {\n    assert_eq!(1 + 1, 2);\n}\n",
    ),
    (
        "Hello.java",
        "class Hello {\n  public static void main(String[] words) {\n    System.out.println(\"hello of Java\");\n  }\n}\n",
    ),
    (
        "hello.go",
        "package main\n\nfunc main() { println(\"hello of Go\") }\n",
    ),
    (
        "hello.c",
        "#include <stdio.h>\nint main(void) { puts(\"hello of clang\"); }\n",
    ),
];

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_rust_java_go_and_clang_are_in_the_full_image() {
    prepare();
    let lab = Lab::new();
    let path = lab.path("runner.toml");
    let settings = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{settings}user = \"runner\"\n")).unwrap();
    let (code, said) = lab.exec(&FILES);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &of_job(&said, "languages"),
        &[
            "new enough",
            "rustc 1.",
            "test result: ok. 1 passed",
            "tidy",
            "cargo 1.",
            "(default)",
            "hello of Java",
            "JAVA_HOME_21_",
            "Apache Maven 3",
            "Apache Ant",
            "hello of Go",
            "goroot",
            "hello of clang",
            "int x;",
            "key 20",
            "set up 21.",
            "1.24.",
        ],
    );
}
