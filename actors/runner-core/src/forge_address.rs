//! What reaches the forge by its own address, where the token of a job is none: that counts at the
//! gateway only (`github.api_url`).

/// Said in a job's log beside a failure.
pub const AT_OWN_ADDRESS: &str = "it asks the forge at its own address, where the token of a job is a placeholder: it counts at `github.api_url` (`$GITHUB_API_URL`) alone, since `token_at_forge` of the runner is off; or give the step a token of your own as a secret";

/// Actions that ask the forge at `github.server_url`.
const ACTIONS: [&str; 7] = [
    "akkuman/gitea-release-action",
    "actions/forgejo-release",
    "actions/cascading-pr",
    "actions/git-backporting",
    "actions/release-action",
    "actions/gitea-release-action",
    "kiegroup/git-backporting",
];

/// Whether a script calls the API of the forge by its own address; `server` is that, where it is
/// known.
#[must_use]
pub fn calls_api(script: &str, server: &str) -> bool {
    let lines = script.lines().map(str::trim_start);
    let lines = lines.filter(|line| !line.starts_with('#'));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let own = ["server_url", "SERVER_URL"];
    let names_server = own.iter().any(|name| text.contains(name));
    let at_server = !server.is_empty() && text.contains(&format!("{server}/api/"));
    let is_path = text.contains("/api/v1") && !text.contains("_url }}/api");
    at_server || names_server && text.contains("/api/") || is_path && text.contains("https://")
}

/// Whether a script signs in at a registry, or sends packages to the forge's.
#[must_use]
pub fn sends_packages(script: &str) -> bool {
    let signs_in = |line: &str| {
        let engines = [
            "docker login",
            "podman login",
            "buildah login",
            "helm registry login",
        ];
        engines.iter().any(|engine| line.contains(engine))
    };
    let mut lines = script.lines().map(str::trim_start);
    lines.any(|line| !line.starts_with('#') && (line.contains("/api/packages/") || signs_in(line)))
}

/// Whether an action asks the forge by its own address.
#[must_use]
pub fn is_of_forge(uses: &str) -> bool {
    let name = uses.split('@').next().unwrap_or_default();
    let name = name.to_ascii_lowercase();
    ACTIONS.iter().any(|known| name.ends_with(known))
}

/// Whether an action writes to several repositories of the forge.
#[must_use]
pub fn is_of_several(uses: &str) -> bool {
    let name = uses.split('@').next().unwrap_or_default();
    name.to_ascii_lowercase().ends_with("actions/cascading-pr")
}

/// Whether an action signs in at a registry.
#[must_use]
pub fn signs_in(uses: &str) -> bool {
    let name = uses.split('@').next().unwrap_or_default();
    name.to_ascii_lowercase().ends_with("docker/login-action")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_calls_by_the_forges_own_address_are_seen() {
        let server = "https://code.example";
        for (script, expected) in [
            (
                "curl ${{ forgejo.server_url }}/api/v1/repos/a/b/releases",
                true,
            ),
            ("curl \"$GITHUB_SERVER_URL/api/v1/user\"", true),
            ("curl https://code.example/api/v1/user", true),
            ("curl https://codeberg.org/api/v1/user", true),
            ("curl $GITHUB_API_URL/repos/a/b/releases", false),
            ("# curl $GITHUB_SERVER_URL/api/v1/user", false),
            ("git clone $GITHUB_SERVER_URL/a/b", false),
        ] {
            assert_eq!(calls_api(script, server), expected, "{script}");
        }
        assert!(sends_packages(
            "echo $TOKEN | docker login -u a code.example"
        ));
        assert!(sends_packages(
            "curl -T a $URL/api/packages/o/generic/a/1/a"
        ));
        assert!(!sends_packages("docker build ."));
        assert!(is_of_forge(
            "https://data.forgejo.org/actions/forgejo-release@v2"
        ));
        assert!(signs_in("docker/login-action@v3") && !is_of_forge("actions/checkout@v4"));
    }
}
