//! Lists the built files of the web application, so that they are embedded, each as it is and
//! compressed where that makes it smaller: `dist/`, or the page that says how it is built where it
//! was not.
//!
//! What is embedded is copied and named below `OUT_DIR`: cargo does not run this again for a
//! checkout that moved, and a path into the checkout would lead nowhere then.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use brotli::CompressorWriter;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Smaller files fit into one packet as they are.
const MIN_COMPRESSED_BYTES: usize = 512;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../ui/dist");
    println!("cargo::rerun-if-changed=../ui/fallback");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo says where"));
    let root = root.join("../ui");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo says where"));
    let built = root.join("dist");
    let folder = if built.join("index.html").is_file() {
        built
    } else {
        root.join("fallback")
    };
    let mut names = Vec::new();
    list(&folder, &folder, &mut names)?;
    names.sort();
    let mut code = String::from("&[\n");
    for (nth, name) in names.iter().enumerate() {
        let bytes = fs::read(folder.join(name))?;
        let plain = embedded(&out, &bytes, &format!("{nth}.plain"))?;
        let gzip = compressed(&out, &bytes, &gzip(&bytes)?, &format!("{nth}.gz"))?;
        let brotli = compressed(&out, &bytes, &brotli(&bytes)?, &format!("{nth}.br"))?;
        writeln!(code, "    ({name:?}, {plain}, {gzip}, {brotli}),").expect("text can be written");
    }
    code.push(']');
    fs::write(out.join("files.rs"), code)
}

/// The expression that embeds the compressed bytes: none where they are hardly fewer.
fn compressed(out: &Path, bytes: &[u8], packed: &[u8], name: &str) -> io::Result<String> {
    if bytes.len() < MIN_COMPRESSED_BYTES || packed.len() > bytes.len() / 10 * 9 {
        return Ok("None".to_owned());
    }
    Ok(format!("Some({})", embedded(out, packed, name)?))
}

/// Writes the bytes below `OUT_DIR`; the expression that embeds them.
fn embedded(out: &Path, bytes: &[u8], name: &str) -> io::Result<String> {
    fs::write(out.join(name), bytes)?;
    Ok(format!(
        "include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}\"))"
    ))
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// At the best quality; the window holds the longest file.
fn brotli(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = CompressorWriter::new(Vec::new(), 1 << 16, 11, 20);
    encoder.write_all(bytes)?;
    Ok(encoder.into_inner())
}

fn list(root: &Path, folder: &Path, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(root, &path, names)?;
        } else if let Ok(name) = path.strip_prefix(root) {
            names.push(name.to_str().expect("a name in Unicode").to_owned());
        }
    }
    Ok(())
}
