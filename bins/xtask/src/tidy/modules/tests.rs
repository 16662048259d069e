//! Small invented crates, with and without cycles.

use super::super::tree::FileTree;
use super::*;

fn package(name: &str) -> Package {
    let mut package = Package::example(&format!("actors/{name}"), &[]);
    package.roots = vec![format!("actors/{name}/src/lib.rs")];
    package
}

fn tree(files: &[(&str, &str)]) -> Syntax {
    let files: Vec<(String, &str)> = files
        .iter()
        .map(|(path, text)| (format!("actors/x/src/{path}"), *text))
        .collect();
    let borrowed: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), *text))
        .collect();
    Syntax::read(&FileTree::from_files(&borrowed))
}

/// The cycles of a crate, each as `a → b → a`.
fn cycles(files: &[(&str, &str)]) -> Vec<String> {
    let modules = read("actors/x/src/lib.rs", &tree(files)).expect("it can be parsed");
    let knots = Graph::new(&modules).knots();
    let way = |knot: ModuleCycle| {
        let names = knot.cycle.iter().map(|(from, ..)| from.as_str());
        let last = knot.cycle.last().map(|(_, to, _)| to.as_str());
        names.chain(last).collect::<Vec<_>>().join(" → ")
    };
    knots.into_iter().map(way).collect()
}

#[test]
fn a_cycle_is_named_with_an_import_for_each_edge() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a.rs", "use crate::b::B;\npub struct A(B);\n"),
        ("b.rs", "pub struct B;\nfn f(_: super::a::A) {}\n"),
    ];
    let findings = check_but(&[package("x")], &tree(&files), &[]);
    let expected = "modules of x import each other: a → b → a, by `crate::b::B` at actors/x/src/a.rs:1, \
                    `super::a::A` at actors/x/src/b.rs:2: move what they share into a module below";
    assert_eq!(findings, [Finding::error("actors/x/src/a.rs:1", expected)]);
}

#[test]
fn a_crate_on_the_list_passes_until_it_is_free() {
    let tangled = [
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a.rs", "use crate::b::B;\npub struct A;\n"),
        ("b.rs", "use crate::a::A;\npub struct B;\n"),
    ];
    assert_eq!(check_but(&[package("x")], &tree(&tangled), &["x"]), []);
    let free = [("lib.rs", "mod a;\n"), ("a.rs", "")];
    let findings = check_but(&[package("x")], &tree(&free), &["x"]);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].place, "x");
}

#[test]
fn a_long_way_round_and_its_whole_knot_are_found() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
        ("a.rs", "use crate::b::B;\npub struct A;\n"),
        (
            "b.rs",
            "use crate::c;\npub struct B;\nfn f() { c::run() }\n",
        ),
        ("c.rs", "use crate::{a::A, d::D};\npub fn run() {}\n"),
        ("d.rs", "use crate::c::run as start;\npub struct D;\n"),
    ];
    let findings = check_but(&[package("x")], &tree(&files), &[]);
    assert_eq!(findings.len(), 1);
    assert!(
        findings[0].text.contains("c → d → c"),
        "{}",
        findings[0].text
    );
    assert!(
        findings[0].text.contains("; all 4 in cycles: a, b, c, d"),
        "{}",
        findings[0].text
    );
}

#[test]
fn a_facade_of_re_exports_is_no_cycle() {
    let facade = "mod a;\nmod b;\npub use a::A;\npub(crate) use self::b::{B, make as build};\n";
    let files = [
        ("lib.rs", "mod x;\n"),
        ("x/mod.rs", facade),
        ("x/a.rs", "use super::{B, build};\npub struct A(B);\n"),
        ("x/b.rs", "use std::fmt;\npub struct B;\npub fn make() {}\n"),
    ];
    assert_eq!(cycles(&files), [""; 0]);
    // The same facade hides a cycle of the two files behind it.
    let mut hidden = files;
    hidden[3].1 = "use crate::x::A;\npub struct B(Box<A>);\npub fn make() {}\n";
    assert_eq!(cycles(&hidden), ["x::a → x::b → x::a"]);
    // A facade that uses what it re-exports, and whose child uses what it defines.
    let mut own = files;
    own[1].1 =
        "mod a;\nmod b;\npub use a::A;\npub use b::{B, make as build};\npub struct All(A);\n";
    assert_eq!(cycles(&own), [""; 0]);
    own[2].1 = "use super::{All, B, build};\npub struct A(B);\n";
    assert_eq!(cycles(&own), ["x → x::a → x"]);
}

#[test]
fn a_function_named_as_its_module_is_followed() {
    let files = [
        ("lib.rs", "mod run;\nmod b;\npub use run::run;\n"),
        ("run.rs", "use crate::b::B;\npub fn run() {}\n"),
        ("b.rs", "pub struct B;\nfn f() { super::run() }\n"),
    ];
    assert_eq!(cycles(&files), ["b → run → b"]);
}

#[test]
fn globs_count_for_the_names_that_are_used() {
    let files = [
        ("lib.rs", "mod prelude;\nmod a;\nmod b;\n"),
        ("prelude.rs", "pub use crate::a::A;\npub use crate::b::*;\n"),
        ("a.rs", "use crate::prelude::*;\npub struct A(B);\n"),
        ("b.rs", "pub struct B;\n"),
    ];
    assert_eq!(cycles(&files), [""; 0]);
    let mut tangled = files;
    tangled[3].1 = "use crate::prelude::*;\npub struct B;\nfn f(a: &A) {}\n";
    assert_eq!(cycles(&tangled), ["a → b → a"]);
}

#[test]
fn tests_visibility_docs_and_modules_alone_are_no_edges() {
    let files = [
        ("lib.rs", "//! See [`a::A`].\npub mod a;\nmod b;\n"),
        (
            "a.rs",
            "use crate::b;\npub struct A;\n#[cfg(test)]\nuse crate::b::B;\n#[cfg(test)]\nmod tests { use crate::b::B; }\n\
             /// [`crate::b::B`]\npub(in crate::b) fn f() {}\n",
        ),
        (
            "b.rs",
            "use crate::a::A;\npub struct B(A);\n#[cfg(test)]\nmod tests;\n",
        ),
    ];
    assert_eq!(cycles(&files), [""; 0]);
}

#[test]
fn macros_attributes_and_modules_in_braces_are_read() {
    let used = |text: &str| {
        let files = [
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "use crate::b::B;\npub struct A;\npub fn f() {}\n"),
            ("b.rs", text),
        ];
        cycles(&files)
    };
    for text in [
        "pub struct B;\nfn g() { select! { x = crate::a::f() => {} } }\n",
        "pub struct B;\nfn g(x: u8) { assert!(matches!(x, super::a::A)) }\n",
        "#[derive(D)]\npub struct B { #[serde(with = \"crate::a\")] x: u8, #[serde(default = \"crate::a::f\")] y: u8 }\n",
        "pub struct B;\nmod inner {\n use super::super::a::A;\n}\n",
        "pub struct B;\nmacro_rules! m { () => { $crate::a::f() } }\n",
        "pub struct B;\nfn g() { use crate::a as other; other::f(); }\n",
        "pub struct B;\nimpl Iterator for B { fn next(&mut self) -> Option<crate::a::A> { None } }\n",
    ] {
        assert_eq!(used(text), ["a → b → a"], "{text}");
    }
    for text in [
        "pub struct B;\nfn g(a: X) { m!(x.a.f, $a::f, 'a') }\n",
        "pub struct B;\nfn g() { let a = 1; ::a::f(a) }\n",
        "pub struct B;\nmod a { pub fn f() {} }\nfn g() { a::f() }\n",
    ] {
        assert_eq!(used(text), [""; 0], "{text}");
    }
}
