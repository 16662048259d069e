//! Lists the built files of the web application, so that they are embedded: `dist/`, or the page
//! that says how it is built where it was not.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=dist");
    println!("cargo::rerun-if-changed=fallback");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo says where"));
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
    for name in names {
        let path = folder.join(&name);
        let path = path.to_str().expect("a path in Unicode");
        writeln!(code, "    ({name:?}, include_bytes!({path:?})),").expect("text can be written");
    }
    code.push(']');
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo says where"));
    fs::write(out.join("files.rs"), code)
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
