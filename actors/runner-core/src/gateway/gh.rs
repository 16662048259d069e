//! How `gh`, GitHub's program, finds the gateway in a job's machine: its settings name a socket's
//! file, over which it speaks plain HTTP whatever host it means.
//!
//! Variables and settings are those of its manual (`gh help environment`, `gh help config`).

use std::collections::BTreeMap;

use url::Url;

/// Where its settings are, below the folder of a process's files.
const FOLDER: &str = "gh";
/// The host that it takes for the forge unless it is told.
const DEFAULT_HOST: &str = "github.com";
/// The gateway's host, as `git remote` shows it: `gh` compares both, without ports.
const HOST: &str = "127.0.0.1";
/// Where it finds a token for that host, and for others: the first that is not empty counts.
const TOKENS: [&str; 2] = ["GH_TOKEN", "GITHUB_TOKEN"];
const OTHER_TOKENS: [&str; 2] = ["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"];

/// The variables of a process that has the job's token where `gh` looks for one; none where it has
/// a token, a host or settings of its own. `addresses` are those of the forge: the first with a
/// host counts. `directory` is where the files of the process are.
#[must_use]
pub fn gh_variables(
    env: &BTreeMap<String, String>,
    token: &str,
    addresses: &[&str],
    directory: &str,
) -> Vec<(String, String)> {
    let value = |name: &str| env.get(name).filter(|value| !value.is_empty());
    let host_of = |address: &&str| Some(Url::parse(address).ok()?.host_str()?.to_owned());
    let Some(host) = addresses.iter().find_map(host_of) else {
        return Vec::new();
    };
    let is_default = host.eq_ignore_ascii_case(DEFAULT_HOST);
    let others = OTHER_TOKENS.iter().filter(|_| !is_default);
    let shown = others.chain(&TOKENS).find_map(|name| value(name));
    let is_meant = value("GH_HOST").is_none_or(|named| named.eq_ignore_ascii_case(&host));
    if shown.is_none_or(|shown| shown != token) || !is_meant || value("GH_CONFIG_DIR").is_some() {
        return Vec::new();
    }
    vec![
        ("GH_CONFIG_DIR".to_owned(), format!("{directory}/{FOLDER}")),
        ("GH_HOST".to_owned(), HOST.to_owned()),
        (OTHER_TOKENS[0].to_owned(), token.to_owned()),
    ]
}

/// The file of the settings that those variables name, if `env` has them: its name below
/// `directory`, and its text. `socket` is the path of the socket.
#[must_use]
pub fn gh_settings(
    env: &BTreeMap<String, String>,
    directory: &str,
    socket: &str,
) -> Option<(String, String)> {
    let folder = env.get("GH_CONFIG_DIR")?;
    // Without its version it would be rewritten, by whoever the step runs as.
    let text = format!("version: \"1\"\nprompt: disabled\nhttp_unix_socket: {socket}\n");
    (*folder == format!("{directory}/{FOLDER}")).then(|| (format!("{FOLDER}/config.yml"), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "placeholder";

    fn variables(server_url: &str, env: &[(&str, &str)]) -> Vec<(String, String)> {
        let env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        gh_variables(
            &env.collect(),
            TOKEN,
            &["git@x:a/b.git", server_url],
            "/own/7",
        )
    }

    fn names(server_url: &str, env: &[(&str, &str)]) -> Vec<String> {
        let all = variables(server_url, env).into_iter();
        all.map(|(name, _)| name).collect()
    }

    #[test]
    fn i17_gh_finds_the_gateway_where_it_has_the_job_s_token() {
        const FORGE: &str = "https://forge.example:3000";
        let all = ["GH_CONFIG_DIR", "GH_HOST", "GH_ENTERPRISE_TOKEN"];
        assert_eq!(names(FORGE, &[("GH_TOKEN", TOKEN)]), all);
        assert_eq!(names(FORGE, &[("GITHUB_TOKEN", TOKEN)]), all);
        assert_eq!(names(FORGE, &[("GH_ENTERPRISE_TOKEN", TOKEN)]), all);
        assert_eq!(
            names(FORGE, &[("GH_TOKEN", ""), ("GITHUB_TOKEN", TOKEN)]),
            all
        );
        let host = ("GH_HOST", "Forge.example");
        assert_eq!(names(FORGE, &[("GH_TOKEN", TOKEN), host]), all);
        let found = variables(FORGE, &[("GH_TOKEN", TOKEN)]);
        assert_eq!(found[1].1, "127.0.0.1");
        assert_eq!(found[0].1, "/own/7/gh");
        let github = names("https://github.com", &[("GH_TOKEN", TOKEN)]);
        assert_eq!(github, all);
    }

    #[test]
    fn i17_gh_with_what_is_its_own_is_left_alone() {
        for (server_url, env) in [
            ("https://forge.example", &[][..]),
            (
                "https://forge.example",
                &[("GH_TOKEN", "a token of its own")],
            ),
            (
                "https://forge.example",
                &[("GH_ENTERPRISE_TOKEN", "its own"), ("GH_TOKEN", TOKEN)],
            ),
            (
                "https://github.com",
                &[("GH_TOKEN", "its own"), ("GITHUB_TOKEN", TOKEN)],
            ),
            // What is meant for other hosts says nothing of this one.
            ("https://github.com", &[("GH_ENTERPRISE_TOKEN", TOKEN)]),
            (
                "https://forge.example",
                &[("GH_TOKEN", TOKEN), ("GH_HOST", "other.example")],
            ),
            (
                "https://forge.example",
                &[("GH_TOKEN", TOKEN), ("GH_CONFIG_DIR", "/home/me/gh")],
            ),
            ("", &[("GH_TOKEN", TOKEN)]),
        ] {
            assert_eq!(names(server_url, env), [""; 0], "{server_url} {env:?}");
        }
    }

    #[test]
    fn i17_settings_are_written_where_the_variables_name_them() {
        let with = |folder: &str| BTreeMap::from([("GH_CONFIG_DIR".to_owned(), folder.to_owned())]);
        let (name, text) = gh_settings(&with("/own/7/gh"), "/own/7", "/run/a.sock").unwrap();
        assert_eq!(name, "gh/config.yml");
        assert!(text.contains("http_unix_socket: /run/a.sock\n"), "{text}");
        assert_eq!(
            gh_settings(&with("/home/me/gh"), "/own/7", "/run/a.sock"),
            None
        );
        assert_eq!(gh_settings(&BTreeMap::new(), "/own/7", "/run/a.sock"), None);
    }
}
