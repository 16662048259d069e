//! Which files are secret by their name: keys, passwords, and what programs keep them in. They are
//! not searched where they are hidden, or kept from git's eyes, even if git tracks them: whoever
//! may search a source need not be whoever may log in with them.

use crate::analysis::fold;

/// Files of this name.
const NAMES: [&str; 26] = [
    // Passwords and tokens of one program each.
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".git-credentials",
    ".htpasswd",
    ".boto",
    ".s3cfg",
    ".vault-token",
    ".dockercfg",
    ".credentials",
    ".secrets",
    // What was typed, passwords too.
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".rediscli_history",
    // Private keys of SSH.
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
];

/// Folders in which nothing is searched.
const FOLDERS: [&str; 7] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".password-store",
    ".secrets",
];

/// Files of programs that keep other things beside them, by the end of their paths.
const PATHS: [&str; 9] = [
    ".docker/config.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".config/gh/hosts.yml",
    ".config/hub",
    ".config/rclone/rclone.conf",
    ".terraform.d/credentials.tfrc.json",
];

/// The folder of a program that keeps tokens in many files.
const GCLOUD: &str = ".config/gcloud";

/// Extensions of keys, and of stores of keys and passwords.
const EXTENSIONS: [&str; 9] = [
    "pem", "key", "p12", "pfx", "jks", "keystore", "kdbx", "ppk", "keytab",
];

/// Ends of the names of files that show what one with secrets looks like.
const SHOWN: [&str; 6] = [
    ".example",
    ".sample",
    ".template",
    ".dist",
    ".defaults",
    ".schema",
];

/// Whether a file or folder with this path, `/`-separated, is secret by its name or by that of a
/// folder it lies in.
#[must_use]
pub fn is_secret(path: &str) -> bool {
    let mut folded = String::with_capacity(path.len());
    fold(path, &mut folded);
    let name = folded.rsplit('/').next().unwrap_or_default();
    let ends_in = |end: &str| {
        let rest = folded.strip_suffix(end);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let mut folders = folded.split('/');
    folders.any(|folder| FOLDERS.contains(&folder))
        || NAMES.contains(&name)
        || EXTENSIONS.contains(&extension)
        || PATHS.into_iter().any(ends_in)
        || ends_in(GCLOUD)
        || folded.contains(".config/gcloud/")
        || is_environment(name) && !SHOWN.iter().any(|end| name.ends_with(end))
}

/// Whether a file is called like those with the variables of one installation: `.env`,
/// `.env.local`, `.envrc`.
fn is_environment(name: &str) -> bool {
    let rest = name.strip_prefix(".env");
    rest.is_some_and(|rest| rest == "rc" || !rest.starts_with(|c: char| c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_secrets_are_told_by_name_and_samples_of_them_are_none() {
        for path in [
            ".env",
            ".env.local",
            ".envrc",
            "web/.env.production",
            ".NETRC",
            ".npmrc",
            ".ssh",
            ".ssh/config",
            "home/.aws/credentials",
            ".docker/config.json",
            ".cargo/credentials.toml",
            ".config/gcloud/x/y.db",
            ".github/deploy.pem",
            ".keys/id_ed25519",
            ".bash_history",
        ] {
            assert!(is_secret(path), "{path}");
        }
        for path in [
            ".env.example",
            ".env.sample",
            ".github/workflows/ci.yml",
            ".gitlab-ci.yml",
            ".cargo/config.toml",
            ".eslintrc",
            ".docker/daemon.json",
            "x.docker/config.json",
            ".config/hubble",
            ".keys/id_ed25519.pub",
            ".environment/a.txt",
        ] {
            assert!(!is_secret(path), "{path}");
        }
    }
}
