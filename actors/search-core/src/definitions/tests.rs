//! What is defined, as tables by language.

use proptest::prelude::*;

use super::{Definition, definitions};

/// The definitions of a text as `kind name:line`.
fn found(key: &str, text: &str) -> Vec<String> {
    let show = |one: Definition<'_>| format!("{} {}:{}", one.kind.as_str(), one.name, one.line);
    definitions(key, text).map(show).collect()
}

#[test]
fn rust_is_read() {
    let text = "\
//! fn not_this
pub(crate) async fn read_exact_at<T>(x: T) {}
    const unsafe fn inner() {}
struct Page;
pub enum Kind { A }
pub trait Ranker: Send {
    fn rank(&self);
    type Item;
}
type Pair = (u8, u8);
const MAX: usize = 3;
const _: () = ();
pub static mut STATE: u8 = 0;
mod tests;
mod inner {
macro_rules! row {
extern \"C\" fn callback() {}
let fn_name = 1; impl Page {
";
    let expected = [
        "function read_exact_at:2",
        "function inner:3",
        "struct Page:4",
        "enum Kind:5",
        "interface Ranker:6",
        "function rank:7",
        "type Pair:10",
        "constant MAX:11",
        "constant STATE:13",
        "module inner:15",
        "macro row:16",
        "function callback:17",
    ];
    assert_eq!(found("src/a.rs", text), expected);
}

#[test]
fn python_ruby_php_lua_and_shells_are_read() {
    let python = "import x\nMAX_SIZE = 3\nname = 4\nclass Foo(Bar):\n    async def go(self):\n        pass\n\ndef stop(): ...\n# def no\n";
    assert_eq!(
        found("a.py", python),
        [
            "constant MAX_SIZE:2",
            "class Foo:4",
            "function go:5",
            "function stop:8"
        ]
    );
    let ruby = "module A\n  class B::C < D\n    LIMIT = 3\n    def self.find(x)\n    def valid?\n";
    assert_eq!(
        found("a.rb", ruby),
        [
            "module A:1",
            "class C:2",
            "constant LIMIT:3",
            "function find:4",
            "function valid?:5"
        ]
    );
    let php = "<?php\nabstract class A extends B {\n  public static function &make($x) {\n  const int MAX = 3;\n}\ninterface I {}\nfunction run() {}\n";
    assert_eq!(
        found("a.php", php),
        [
            "class A:2",
            "function make:3",
            "constant MAX:4",
            "interface I:6",
            "function run:7"
        ]
    );
    let lua = "local function a(x)\nfunction M.sub:method(x)\nlocal x = 1\n";
    assert_eq!(found("a.lua", lua), ["function a:1", "function method:2"]);
    let shell = "#!/bin/sh\nfunction one {\ntwo-three() {\nfour ()\necho (x)\n$(five)\n";
    assert_eq!(
        found("a.sh", shell),
        ["function one:2", "function two-three:3", "function four:4"]
    );
}

#[test]
fn scripts_are_read() {
    let text = "\
export default async function main() {}
export const limit = 3;
const local = 3;
    const inner = 4;
const arrow = async (x) => x;
    const handler = event => {
export class Page<T> extends Base {
    constructor(x) {
    private async load(url: string): Promise<void> {
    get title() {
    render() {
        if (x) {
        each(list, function () {
        list.map((x) => {
    }
}
export interface Shape { }
type Pair = [number, number];
export enum Kind { A }
module.exports = { x };
declare namespace Inner {
// function no() {}
";
    let expected = [
        "function main:1",
        "constant limit:2",
        "constant local:3",
        "function arrow:5",
        "function handler:6",
        "class Page:7",
        "function load:9",
        "function title:10",
        "function render:11",
        "interface Shape:17",
        "type Pair:18",
        "enum Kind:19",
        "module Inner:21",
    ];
    assert_eq!(found("web/a.ts", text), expected);
}

#[test]
fn go_and_java_are_read() {
    let go = "package a\nfunc main() {\nfunc (s *Server[T]) Serve(l net.Listener) error {\ntype Server struct {\ntype Reader interface {\ntype Bytes []byte\ntype Set[K any] struct {\nconst Max = 3\n\tx := f()\n";
    assert_eq!(
        found("a.go", go),
        [
            "function main:2",
            "function Serve:3",
            "struct Server:4",
            "interface Reader:5",
            "type Bytes:6",
            "struct Set:7",
            "constant Max:8",
        ]
    );
    let java = "\
package a.b;
import java.util.List;
public final class Page<T> extends Base {
    private static final int MAX = 3;
    public Page(int x) {
    @Override
    public List<String> names(int x) throws IOException {
    int size();
        return find(x);
        new Thread(run) {
        call(x);
        if (x) {
        } else if (y) {
        String s = make(x);
    }
    enum Kind { A }
    interface Inner {
    record Pair(int a, int b) {
";
    assert_eq!(
        found("A.java", java),
        [
            "class Page:3",
            "constant MAX:4",
            "function Page:5",
            "function names:7",
            "function size:8",
            "enum Kind:16",
            "interface Inner:17",
            "class Pair:18",
        ]
    );
    let kotlin = "class A(val x: Int)\nfun <T> List<T>.second(): T {\n    suspend fun load() {}\nobject Single\n";
    assert_eq!(
        found("a.kt", kotlin),
        [
            "class A:1",
            "function second:2",
            "function load:3",
            "class Single:4"
        ]
    );
}

#[test]
fn c_is_read() {
    let text = "\
#include <a.h>
#define MAX_SIZE 3
struct page;
struct page *next;
struct page {
        int a;
};
class EXPORT Window : public Base {
  void draw(int x) const override {
  int width() const;
};
enum class Kind { A };
typedef struct node node_t;
static inline int read_page(struct page *p,
                            int flags)
{
        if (p) {
        return call(p);
        other(p);
}
int declared(int x);
void Window::resize(int w, int h) {
Window::~Window() {
namespace ui {
using Pair = std::pair<int, int>;
        x = call(y) {
";
    let expected = [
        "macro MAX_SIZE:2",
        "struct page:5",
        "class Window:8",
        "function draw:9",
        "enum Kind:12",
        "type node_t:13",
        "function read_page:14",
        "function resize:22",
        "function Window:23",
        "module ui:24",
        "type Pair:25",
    ];
    assert_eq!(found("a.cpp", text), expected);
}

#[test]
fn headings_are_definitions_of_texts() {
    let text = "# One\n\ntext\n#tag\n## Two words ##\n####### no\n";
    assert_eq!(
        found("a.md", text),
        ["heading One:1", "heading Two words:5"]
    );
    assert!(found("a.bin", "fn a() {}").is_empty() && found("", "").is_empty());
}

#[test]
fn lines_of_programs_are_passed_over() {
    let text = format!("fn a() {{{}}}\nfn b() {{}}", "x".repeat(super::MAX_LINE));
    assert_eq!(found("a.rs", &text), ["function b:2"]);
    let many = "fn a() {}\n".repeat(super::MAX_DEFINITIONS + 10);
    assert_eq!(definitions("a.rs", &many).count(), super::MAX_DEFINITIONS);
}

proptest! {
    /// Whatever a file holds, names are words of their lines.
    #[test]
    fn names_stand_in_their_lines(
        pieces in prop::collection::vec("(fn|class|def|struct|type|pub|function|const|enum|typedef|export|# |\\(|\\)|\\{|;|=|:|::|\\.|\n|\n    |\t| |é|[a-z]{1,4}|[A-Z]{1,3}|~|<|>|\\*)", 0..40),
        extension in "(rs|py|ts|go|java|c|rb|php|sh|lua|md)",
    ) {
        let text = pieces.concat();
        let lines: Vec<&str> = text.split('\n').collect();
        for one in definitions(&format!("a.{extension}"), &text) {
            prop_assert!(!one.name.is_empty());
            prop_assert!(lines[one.line - 1].contains(one.name), "{:?}", one);
        }
    }
}

#[test]
fn i16_elixir_haskell_and_zig_are_read() {
    let elixir = "defmodule Phoenix.Router.Route do\n  @doc \"def no\"\n  def build(a, b) do\n  defp inner(x), do: x\n  defmacro scope(path) do\n  defstruct [:a]\n";
    assert_eq!(
        found("a.ex", elixir),
        [
            "module Route:1",
            "function build:3",
            "function inner:4",
            "macro scope:5"
        ]
    );
    let haskell = "module Text.Pandoc.Error (\n  x) where\ndata Page = Page\nnewtype Name a = Name a\nclass (Monad m) => Reader m where\n  inner :: Int\nrenderError :: Page -> Text\nparse' :: Int\nrenderError x = y\ninstance Show Page where\n";
    assert_eq!(
        found("a.hs", haskell),
        [
            "module Error:1",
            "struct Page:3",
            "type Name:4",
            "class Reader:5",
            "function renderError:7",
            "function parse:8"
        ]
    );
    let zig = "const std = @import(\"std\");\npub const Parser = struct {\n    pub fn next(self: *Parser) !void {\n    inline fn step() void {}\nconst Kind = enum { a };\nextern \"c\" fn write() void;\npub const Row = packed struct {};\n";
    assert_eq!(
        found("a.zig", zig),
        [
            "constant std:1",
            "struct Parser:2",
            "function next:3",
            "function step:4",
            "enum Kind:5",
            "function write:6",
            "struct Row:7"
        ]
    );
}

#[test]
fn i16_groups_of_go_are_read() {
    let go = "package a\nconst (\n\t// ShellCompDirectiveError says no.\n\tShellCompDirectiveError ShellCompDirective = 1 << iota\n\tShellCompDirectiveNoSpace\n\n\tA, B = 1, 2\n)\ntype (\n\tPage struct {\n\t\tinner int\n\t}\n\tReader interface{}\n)\nvar (\n\tErrNo = errors.New(\"no\")\n\ttable = map[string]int{\n\t\t\"a\": 1,\n\t}\n)\nvar One = 1\nfunc f() {\n\tvar x int\n}\n";
    assert_eq!(
        found("a.go", go),
        [
            "constant ShellCompDirectiveError:4",
            "constant ShellCompDirectiveNoSpace:5",
            "constant A:7",
            "struct Page:10",
            "interface Reader:13",
            "constant ErrNo:16",
            "constant table:17",
            "constant One:21",
            "function f:22",
        ]
    );
}

#[test]
fn i16_constants_members_and_operators_are_read() {
    let java = "public interface A {\n  public static final boolean DEFAULT_PRETTY_PRINT = false;\n  public @interface Since {\n  private static final Map<String, Integer> names = new HashMap<>();\n  private static final int count(int x) {\n}\n@interface Inner {\n";
    assert_eq!(
        found("A.java", java),
        [
            "interface A:1",
            "constant DEFAULT_PRETTY_PRINT:2",
            "interface Since:3",
            "constant names:4",
            "function count:5",
            "interface Inner:7",
        ]
    );
    let script = "class A {\n  handle = async (x) => {\n  private onClick = (e: Event): void => {\n  get size(): number { return this.n }\n  isOk() { return true; }\n  value = 3;\n  call(x);\n  list.map((x) => x)\n    if (x) { return }\n";
    assert_eq!(
        found("a.ts", script),
        [
            "class A:1",
            "function handle:2",
            "function onClick:3",
            "function size:4",
            "function isOk:5",
        ]
    );
    let c = "static int\nread_page(struct page *p)\n{\n}\nTEST(a, b) {\n}\nbool operator==(const A& a) const {\nvoid operator()(int x) {\nconstexpr int max_size = 3;\nstatic constexpr char names[] = \"x\";\nconstexpr int square(int x) {\n";
    assert_eq!(
        found("a.cc", c),
        [
            "function read_page:2",
            "function operator==:7",
            "function operator():8",
            "constant max_size:9",
            "constant names:10",
            "function square:11",
        ]
    );
    let ruby = "def route!(base)\ndef valid?\ndef self.save!\ndef name=(x)\ndef plain = 1\n";
    assert_eq!(
        found("a.rb", ruby),
        [
            "function route!:1",
            "function valid?:2",
            "function save!:3",
            "function name=:4",
            "function plain:5",
        ]
    );
    assert_eq!(found("a.py", "\u{feff}def f():"), ["function f:1"]);
    assert_eq!(found("a.md", "\u{feff}# One"), ["heading One:1"]);
}

#[test]
fn i16_definitions_that_other_projects_have() {
    for (key, text, expected) in [
        (
            "a.scala",
            "private[fs2] final class Scope[F[_]] {\n  def groupWithin[F2[x] >: F[x]](n: Int)\n  type Pull[A] = B\n",
            vec!["class Scope:1", "function groupWithin:2", "type Pull:3"],
        ),
        (
            "a.kt",
            "fun interface Interceptor {\nannotation class Json\nprivate inline fun <T> T.apply(x: Int) {}\n",
            vec![
                "interface Interceptor:1",
                "class Json:2",
                "function apply:3",
            ],
        ),
        (
            "a.swift",
            "fileprivate func decode<T: Codable>(_ x: T) {\nindirect enum Tree {\nassociatedtype Item\n",
            vec!["function decode:1", "enum Tree:2", "type Item:3"],
        ),
        (
            "a.ts",
            "export const streamSSE = (\n  c: Context,\n  cb: () => void\n): Response => {\n}\nconst mergePath: (...paths: string[]) => string = (...paths) => {\nexport const LIMIT = (\n  1 + 2\n)\nconst pool = async (\n  x\n) => 1\n",
            vec![
                "function streamSSE:1",
                "function mergePath:6",
                "constant LIMIT:7",
                "function pool:10",
            ],
        ),
        (
            "a.lua",
            "M.shorten_path = function(path)\nlocal is_new = function ()\nlocal function f(x)\nif a == function() end then\n  on_exit = function(job)\n",
            vec![
                "function shorten_path:1",
                "function is_new:2",
                "function f:3",
                "function on_exit:5",
            ],
        ),
        (
            "A.hs",
            "checkScript spec = do\n  x\n\ncode :: Int\ncode = 1\n\nfoo 0 = 1\nfoo n = 2\nbar\n  :: Int\n  -> Int\nbar x = 3\n",
            vec!["function code:4", "function bar:9"],
        ),
        (
            "a.h",
            "typedef enum {\n  A,\n} jv_kind;\n}\n",
            vec!["type jv_kind:3"],
        ),
    ] {
        assert_eq!(found(key, text), expected, "{key}");
    }
}
