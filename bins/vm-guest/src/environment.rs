//! What a command finds in its environment before the request adds its own.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;

use vm_core::USUAL_PATH;
use vm_core::network::PROXY_PORT;

/// What the image says of every command's environment, as on any Linux.
const FILE: &str = "/etc/environment";
/// So much of it is read.
const MAX_BYTES: u64 = 64 << 10;

/// The environment of a command for which the request says `own`: the agent's small one, the
/// image's file, how the proxy is found if there is one, and the request's.
pub(crate) fn command_environment(
    own: &BTreeMap<String, String>,
    is_proxied: bool,
) -> BTreeMap<String, String> {
    let mut text = Vec::new();
    // Most images have none.
    let _ = File::open(FILE).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text));
    merged(&String::from_utf8_lossy(&text), own, is_proxied)
}

fn merged(
    file: &str,
    own: &BTreeMap<String, String>,
    is_proxied: bool,
) -> BTreeMap<String, String> {
    let usual = [
        ("PATH", USUAL_PATH),
        ("HOME", "/root"),
        ("USER", "root"),
        ("LANG", "C.UTF-8"),
    ];
    let usual = usual.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut env = BTreeMap::from(usual);
    env.extend(file.lines().filter_map(variable));
    let of_image = env["PATH"].clone();
    if is_proxied {
        env.extend(proxy_variables());
    }
    env.extend(own.clone());
    // Folders put before the usual ones are put before the image's.
    if let Some(before) = own.get("PATH").and_then(|it| it.strip_suffix(USUAL_PATH))
        && (before.is_empty() || before.ends_with(':'))
    {
        env.insert("PATH".to_owned(), format!("{before}{of_image}"));
    }
    env
}

/// A line as `pam_env` reads it: `sudo` and `su` do the same.
fn variable(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(is_name) {
        return None;
    }
    let value = value.trim();
    let within = ['"', '\''].into_iter().find_map(|quote| {
        let value = value.strip_prefix(quote)?;
        Some(value.strip_suffix(quote).unwrap_or(value))
    });
    let value = within.unwrap_or(value);
    (!value.contains('\0')).then(|| (name.to_owned(), value.to_owned()))
}

/// How programs find the proxy: the names that most of them look for.
fn proxy_variables() -> impl Iterator<Item = (String, String)> {
    let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
    let proxies = names.map(|name| (name.to_owned(), proxy.clone()));
    let direct = "localhost,127.0.0.1,::1";
    let direct = ["NO_PROXY", "no_proxy"].map(|name| (name.to_owned(), direct.to_owned()));
    proxies.into_iter().chain(direct)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(file: &str, own: &[(&str, &str)], is_proxied: bool) -> BTreeMap<String, String> {
        let own = own
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()));
        merged(file, &own.collect(), is_proxied)
    }

    /// Nothing of the image could reach all steps.
    #[test]
    fn i17_what_the_image_says_of_every_environment_comes_before_the_request() {
        let file = "# a company's CA\nNODE_EXTRA_CA_CERTS=/etc/ca.pem\nexport QUOTED=\"a b\"\n\
                    not a line\nA-B=1\n=2\nCACHE='/var/cache/own'\nHTTP_PROXY=http://there\nNAME=image\n";
        let found = env(file, &[("NAME", "step")], true);
        for (name, value) in [
            ("NODE_EXTRA_CA_CERTS", "/etc/ca.pem"),
            ("QUOTED", "a b"),
            ("CACHE", "/var/cache/own"),
            // There is no other way out of the machine.
            ("HTTP_PROXY", "http://127.0.0.1:3128"),
            ("NAME", "step"),
            ("PATH", USUAL_PATH),
            ("USER", "root"),
        ] {
            assert_eq!(found[name], value, "{name}");
        }
        assert!(!found.contains_key("A-B") && !found.contains_key(""));
        assert_eq!(env(file, &[], false)["HTTP_PROXY"], "http://there");
    }

    #[test]
    fn i17_folders_of_steps_come_before_those_of_the_image() {
        let file = "PATH=\"/opt/image:/usr/bin\"";
        assert_eq!(env(file, &[], false)["PATH"], "/opt/image:/usr/bin");
        let added = format!("/opt/own:{USUAL_PATH}");
        let found = env(file, &[("PATH", &added)], false);
        assert_eq!(found["PATH"], "/opt/own:/opt/image:/usr/bin");
        assert_eq!(env(file, &[("PATH", "/mine")], false)["PATH"], "/mine");
        let other = format!("/a{USUAL_PATH}");
        assert_eq!(env(file, &[("PATH", &other)], false)["PATH"], other);
        assert_eq!(env("", &[("PATH", &added)], false)["PATH"], added);
    }
}
