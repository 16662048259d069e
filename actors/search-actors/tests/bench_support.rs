//! The tests of what the benchmarks judge, draw and read with.
#![allow(dead_code, reason = "the benchmarks use the rest")]

#[path = "../benches/support/code_tasks.rs"]
mod code_tasks;
#[path = "../../search-graph-engine/benches/relevance/measures.rs"]
mod measures;
#[path = "../benches/support/samples.rs"]
mod samples;

mod of_code_tasks {
    use crate::code_tasks::*;

    #[test]
    fn i16_repositories_are_read_with_and_without_a_folder() {
        let text = r#"[{"name": "a", "language": "go", "url": "u", "revision": "r"},
            {"name": "b", "benchmark_root": null}, {"name": "c", "benchmark_root": "src/c"}]"#;
        let found = repositories(text).expect("the shape of the benchmark");
        let roots: Vec<_> = found
            .iter()
            .map(|one| one.benchmark_root.as_str())
            .collect();
        assert_eq!(roots, ["", "", "src/c"]);
        assert!(repositories(r#"{"a": 1}"#).is_err());
    }

    #[test]
    fn i16_annotations_give_files_and_categories() {
        let text = r#"[
            {"query": "how it starts", "relevant": ["a.go"], "secondary": ["b.go", "a.go"]},
            {"query": "Engine", "relevant": [{"path": "gin.go", "start_line": 1, "end_line": 9}]},
            {"query": "radix tree", "relevant": [], "category": "architecture"},
            {"query": "radix tree", "relevant": []}]"#;
        let found = tasks(text).expect("the shape of the benchmark");
        let shown: Vec<_> = found
            .iter()
            .map(|one| (one.category.as_str(), one.targets.join(" ")))
            .collect();
        let expected = [
            ("architecture", "a.go b.go"),
            ("symbol", "gin.go"),
            ("architecture", ""),
            ("semantic", ""),
        ];
        assert_eq!(
            shown,
            expected.map(|(kind, files)| (kind, files.to_owned()))
        );
        assert!(tasks(r#"[{"query": "x", "category": "other"}]"#).is_err());
    }

    #[test]
    fn i16_files_are_told_apart_by_the_searched_folder() {
        let keys = [
            "src/lib/gin.go",
            "test/gin.go",
            "deep/in/tree.go",
            "xtree.go",
        ];
        let keys = keys.map(str::to_owned);
        let right = |targets: &[&str], root: &str| {
            let task = CodeTask {
                query: String::new(),
                category: Category::Symbol,
                targets: targets.iter().map(|&one| one.to_owned()).collect(),
            };
            task.right(root, &keys).join(" ")
        };
        assert_eq!(right(&["gin.go"], "test"), "test/gin.go");
        assert_eq!(right(&["src/lib/gin.go"], "test"), "src/lib/gin.go");
        assert_eq!(right(&["tree.go", "in/tree.go"], ""), "deep/in/tree.go");
        assert_eq!(right(&["nowhere.go", "ree.go"], ""), "");
        assert_eq!(right(&["x/src/lib/gin.go"], ""), "src/lib/gin.go");
    }
}

mod of_measures {
    use std::collections::HashMap;

    use crate::measures::{Measures, judge, mean, recall};

    fn relevance(grades: &[(&str, i32)]) -> HashMap<String, i32> {
        grades
            .iter()
            .map(|&(document, grade)| (document.to_owned(), grade))
            .collect()
    }

    fn check(grades: &[(&str, i32)], ranking: &[&str], expected: [f64; 3]) {
        let found = judge(&relevance(grades), ranking).expect("there is a relevant document");
        for (got, want) in [found.ndcg_at_10, found.mrr_at_10, found.recall_at_100]
            .iter()
            .zip(expected)
        {
            assert!((got - want).abs() < 1e-4, "{found:?} is not {expected:?}");
        }
    }

    #[test]
    fn tables_worked_out_by_hand() {
        // One relevant document, first: everything is perfect.
        check(&[("a", 1)], &["a", "b"], [1.0, 1.0, 1.0]);
        // Third: 1 / log2(4) = 0.5.
        check(&[("a", 1)], &["x", "y", "a"], [0.5, 1.0 / 3.0, 1.0]);
        // Grades 2 and 1 the wrong way round: (1 + 2/1.58496) / (2 + 1/1.58496).
        check(&[("a", 2), ("b", 1)], &["b", "a"], [0.85972, 1.0, 1.0]);
        // Half of the relevant ones found: 1 / (1 + 0.63093).
        check(&[("a", 1), ("b", 1)], &["a"], [0.61315, 1.0, 0.5]);
        // Not relevant (grade 0 and below) neither gains nor costs.
        check(
            &[("a", 1), ("b", 0), ("c", -1)],
            &["b", "c", "a"],
            [0.5, 1.0 / 3.0, 1.0],
        );
        // Found again counts once, and does not take a rank.
        check(&[("a", 1)], &["x", "x", "a", "a"], [0.63093, 0.5, 1.0]);
        check(&[("a", 1)], &[], [0.0, 0.0, 0.0]);
    }

    #[test]
    fn i16_recall_is_the_share_of_what_is_found() {
        let relevant = ["a", "b", "c", "d"];
        assert_eq!(recall(&relevant, &["b", "x", "b", "d", "b"]), 0.5);
        assert_eq!(recall(&relevant, &[] as &[&str]), 0.0);
        assert_eq!(recall(&[] as &[&str], &["a"]), 1.0);
    }

    #[test]
    fn ranks_beyond_ten_count_for_recall_alone() {
        let ranking: Vec<String> = (0..200).map(|n| n.to_string()).collect();
        let found = judge(&relevance(&[("10", 1), ("99", 1), ("100", 1)]), &ranking);
        let expected = Measures {
            recall_at_100: 2.0 / 3.0,
            ..Measures::default()
        };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn queries_without_a_relevant_document_are_left_out() {
        assert_eq!(judge(&relevance(&[("a", 0)]), &["a"]), None);
        assert_eq!(mean(&[]), Measures::default());
        let half = mean(&[
            Measures {
                mrr_at_10: 1.0,
                ..Measures::default()
            },
            Measures::default(),
        ]);
        assert!((half.mrr_at_10 - 0.5).abs() < 1e-12);
    }
}

mod of_samples {
    use crate::samples::{Sample, Sampler, is_identifier};

    fn sampler() -> Sampler {
        let mut sampler = Sampler::default();
        sampler.add(
            0,
            "code/src/parse.rs",
            "",
            "fn parse_query() { commonName }",
        );
        sampler.add(0, "code/src/plan.rs", "", "fn makePlan() { commonName }");
        sampler.add(0, "code/src/mod.rs", "", "commonName Parse_Query");
        sampler.add(
            1,
            "docs/vec/struct.Vec.html",
            "Vec in std - Rust",
            "commonName",
        );
        sampler
    }

    #[test]
    fn identifiers_and_names_know_their_documents() {
        let samples = sampler().draw(7, 100, 100);
        let right = |list: &[Sample], query: &str| {
            let found = list.iter().find(|sample| sample.query == query);
            found.map(|sample| sample.right.join(" "))
        };
        let identifiers = &samples.identifiers;
        assert_eq!(
            right(identifiers, "parse_query").as_deref(),
            Some("code/src/parse.rs code/src/mod.rs"),
            "case is folded"
        );
        assert_eq!(
            right(identifiers, "makePlan").as_deref(),
            Some("code/src/plan.rs")
        );
        assert_eq!(right(identifiers, "commonName"), None, "in four documents");
        let vec = Some("docs/vec/struct.Vec.html".to_owned());
        assert_eq!(right(&samples.names, "Vec"), vec);
        assert_eq!(right(&samples.names, "Vec in std - Rust"), vec);
        assert_eq!(samples.names.len(), 5);
    }

    #[test]
    fn the_same_seed_draws_the_same_and_groups_share() {
        let sampler = sampler();
        assert_eq!(sampler.draw(7, 2, 2), sampler.draw(7, 2, 2));
        let mut queries: Vec<String> = (0..20)
            .flat_map(|seed| sampler.draw(seed, 2, 0).identifiers)
            .map(|sample| sample.query)
            .collect();
        queries.sort();
        queries.dedup();
        assert_eq!(
            queries,
            ["makePlan", "parse_query"],
            "all are drawn in time"
        );
        let names = sampler.draw(1, 0, 4).names;
        let of_docs = names.iter().filter(|one| one.right[0].starts_with("docs/"));
        assert_eq!(of_docs.count(), 2, "{names:?}");
        assert_eq!(
            Sampler::default().draw(1, 5, 5),
            crate::samples::Samples::default()
        );
    }

    #[test]
    fn words_of_a_language_and_hashes_are_no_identifiers() {
        for word in [
            "SourceIndex",
            "read_file",
            "MAX_DEPTH",
            "test_vbsl_u8",
            "HTTPServerPool",
        ] {
            assert!(is_identifier(word), "{word}");
        }
        for word in [
            "Parsing",
            "aB",
            "a1b2c3d4e5f6",
            "__init__",
            "HTTP",
            "trailing_",
        ] {
            assert!(!is_identifier(word), "{word}");
        }
    }
}
