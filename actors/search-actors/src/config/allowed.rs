//! Whether a configuration that came over the API stays within the roots that the role file names.

use std::fs;
use std::path::{Path, PathBuf};

use config_core::Environment;
use search_core::role::{AllowedRoots, ExternalResource, ReachTarget, RoleFile};
use url::Url;

/// Checks what `submitted` uses and `in_force` does not use. Both have absolute paths. Links are
/// followed, so what is asked for has to exist.
///
/// # Errors
/// The first thing that lies outside, and what to do.
pub(super) fn check(
    in_force: &RoleFile,
    submitted: &RoleFile,
    environment: &Environment,
) -> Result<(), String> {
    let known = in_force.reaches();
    let roots = in_force.allowed_roots();
    let is_new = |reach: &ExternalResource| !known.iter().any(|known| known.is_same(reach));
    for reach in submitted.reaches().into_iter().filter(is_new) {
        let within = match &reach.target {
            ReachTarget::File(path) => file(path, roots),
            ReachTarget::Program { program, .. } => self::program(program, roots, environment),
            ReachTarget::Server(url) => server(url, roots),
        };
        within.map_err(|reason| format!("{}: {reason}", reach.place))?;
    }
    Ok(())
}

fn file(path: &Path, roots: &AllowedRoots) -> Result<(), String> {
    let shown = path.display();
    let outside = format!(
        "`{shown}` is new, and lies outside of the folders that the role file allows to add; name one in `allowed_roots.files` of the file itself"
    );
    check_below(path, &roots.files, outside)
}

fn program(program: &str, roots: &AllowedRoots, environment: &Environment) -> Result<(), String> {
    let outside = format!(
        "the program `{program}` (or its parameters) is new, and lies outside of the folders that the role file allows to start programs from; name one in `allowed_roots.programs` of the file itself"
    );
    let path = if Path::new(program).is_absolute() {
        Some(PathBuf::from(program))
    } else if program == "task" {
        in_path(program, environment)
    } else {
        // What a name stands for depends on the environment of the next start.
        return Err(format!(
            "{outside}, and write the whole path of the program"
        ));
    };
    match path {
        Some(path) => check_below(&path, &roots.programs, outside),
        None => Err(outside),
    }
}

fn in_path(program: &str, environment: &Environment) -> Option<PathBuf> {
    let folders = environment.text("PATH")?;
    let mut places = std::env::split_paths(folders).map(|folder| folder.join(program));
    places.find(|path| path.is_file())
}

fn server(url: &Url, roots: &AllowedRoots) -> Result<(), String> {
    if roots.allows_server(url) {
        return Ok(());
    }
    Err(format!(
        "the server `{}` (or its parameters) is new; name it in `allowed_roots.servers` of the role file itself",
        url.origin().ascii_serialization()
    ))
}

fn check_below(path: &Path, roots: &[PathBuf], outside: String) -> Result<(), String> {
    let roots = roots.iter().filter_map(|root| fs::canonicalize(root).ok());
    // What does not exist cannot be told apart from what lies outside: no caller finds out what
    // there is.
    let real = fs::canonicalize(path).map_err(|_| outside.clone())?;
    let mut roots = roots;
    if roots.any(|root| real.starts_with(root)) {
        Ok(())
    } else {
        Err(outside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(files: &Path) -> AllowedRoots {
        AllowedRoots {
            files: vec![files.to_owned()],
            programs: vec![files.to_owned()],
            servers: vec![Url::parse("http://127.0.0.1:11434").expect("a URL")],
        }
    }

    #[cfg(unix)]
    #[test]
    fn t1_links_and_neighbours_do_not_lead_out_of_a_root() {
        let home = tempfile::tempdir().expect("a folder");
        let root = home.path().join("open");
        for folder in ["open/notes", "open-not", "secret"] {
            fs::create_dir_all(home.path().join(folder)).expect("a folder");
        }
        std::os::unix::fs::symlink(home.path().join("secret"), root.join("link")).expect("a link");
        let roots = roots(&root);
        assert!(file(&root.join("notes"), &roots).is_ok());
        assert!(file(&root, &roots).is_ok());
        for outside in ["open-not", "secret", "open/link", "open/not-there", "/etc"] {
            let path = home.path().join(outside);
            let error = file(&path, &roots).expect_err(outside);
            assert!(error.contains("allowed_roots.files"), "{error}");
        }
    }

    #[test]
    fn t1_programs_are_whole_paths_below_a_root() {
        let home = tempfile::tempdir().expect("a folder");
        fs::write(home.path().join("task"), "").expect("a file");
        fs::write(home.path().join("tool"), "").expect("a file");
        let roots = roots(home.path());
        let path = home.path().display().to_string();
        let environment = Environment::from_iter([("PATH", path.as_str())]);
        let of = |name: &str| program(name, &roots, &environment);
        assert!(of(&format!("{path}/tool")).is_ok());
        assert!(of("task").is_ok());
        for outside in ["tool", "sh", "./tool", "/bin/sh"] {
            assert!(of(outside).is_err(), "{outside}");
        }
    }

    #[test]
    fn t1_servers_are_compared_by_scheme_host_and_port() {
        let roots = roots(Path::new("/x"));
        let of = |url: &str| server(&Url::parse(url).expect("a URL"), &roots);
        assert!(of("http://127.0.0.1:11434/v1").is_ok());
        for other in [
            "https://127.0.0.1:11434",
            "http://127.0.0.1:11435",
            "http://127.0.0.1.evil.example:11434",
        ] {
            assert!(of(other).is_err(), "{other}");
        }
    }
}
