//! The forge that is configured, and which addresses are those of its repositories: the runner's
//! token goes to these only, and no event names another repository's as its own.

use forge_core::Forge;
use runner_core::checkout::is_plainly_of;
use url::Url;

use crate::event::StoredEvent;
use crate::settings::RunnerSettings;

/// The forge that is configured.
#[derive(Debug, Clone)]
pub(crate) struct OwnForge {
    pub(crate) kind: Forge,
    url: Option<Url>,
}

impl OwnForge {
    pub(crate) fn of(settings: &RunnerSettings) -> Self {
        Self {
            kind: settings.forge,
            url: settings.forge_url.clone(),
        }
    }

    /// The path below which the forge has its repositories, where `address` is at one of its own
    /// hosts.
    fn mount(&self, address: &Url) -> Option<&str> {
        match &self.url {
            Some(forge) if forge.origin() == address.origin() => Some(match self.kind {
                // There it is the path of the API.
                Forge::GitHub => "",
                Forge::Gitea | Forge::Forgejo => forge.path(),
            }),
            forge => is_github(self.kind, forge.as_ref(), address).then_some(""),
        }
    }

    /// Whether an address is at one of the forge's own hosts.
    pub(crate) fn has(&self, address: &Url) -> bool {
        self.mount(address).is_some()
    }

    /// Whether an address is where the forge has this repository; `None`: it is another server's.
    pub(crate) fn has_repository(&self, address: &Url, repository: &str) -> Option<bool> {
        let mount = self.mount(address)?;
        Some(is_plainly_of(address, mount, repository))
    }

    /// The field of an event by which it names another repository of the forge than its own: who
    /// signs for one repository would read, and write, that one.
    pub(crate) fn misplaced(&self, event: &StoredEvent) -> Option<&'static str> {
        let fields = [
            ("clone_url", Some(event.clone_url.as_str())),
            ("html_url", event.html_url.as_deref()),
        ];
        let is_misplaced = |text: &str| {
            let url = Url::parse(text).ok()?;
            let is_own = self.has_repository(&url, &event.repository)?;
            // As it stands, for not everybody takes `..` out alike.
            Some(!(is_own && text.ends_with(url.path())))
        };
        let mut misplaced = fields
            .into_iter()
            .filter(|(_, text)| text.is_some_and(|text| is_misplaced(text) == Some(true)));
        misplaced.next().map(|(field, _)| field)
    }
}

/// Whether an address is where github.com is cloned from, and that is the forge: its API has
/// another host than its repositories.
fn is_github(forge: Forge, forge_url: Option<&Url>, address: &Url) -> bool {
    let is_public = forge_url.is_none_or(|url| {
        matches!(
            url.host_str(),
            Some("github.com" | "www.github.com" | "api.github.com")
        )
    });
    let is_clone_host = address.scheme() == "https"
        && address.host_str() == Some("github.com")
        && address.port().is_none();
    forge == Forge::GitHub && is_public && is_clone_host
}

#[cfg(test)]
mod tests {
    use runner_core::event::EventKind;

    use super::*;

    fn own(kind: Forge, url: Option<&str>) -> OwnForge {
        OwnForge {
            kind,
            url: url.map(|url| url.parse().unwrap()),
        }
    }

    #[test]
    fn i17_the_token_for_github_s_api_is_for_its_repositories_too() {
        let clone = "https://github.com/acme/rocket.git";
        for (forge, forge_url, clone_url, expected) in [
            (Forge::GitHub, None, clone, true),
            (Forge::GitHub, Some("https://api.github.com"), clone, true),
            (Forge::GitHub, Some("https://github.com/"), clone, true),
            (Forge::GitHub, Some("https://ghe.example"), clone, false),
            (Forge::Gitea, None, clone, false),
            (
                Forge::GitHub,
                None,
                "http://github.com/acme/rocket.git",
                false,
            ),
            (
                Forge::GitHub,
                None,
                "https://github.com:8443/a/b.git",
                false,
            ),
            (
                Forge::GitHub,
                None,
                "https://github.com.example/a/b.git",
                false,
            ),
            (
                Forge::GitHub,
                None,
                "https://github.com@evil.example/a/b",
                false,
            ),
            (
                Forge::GitHub,
                None,
                "ssh://github.com/acme/rocket.git",
                false,
            ),
        ] {
            let found = own(forge, forge_url).has(&clone_url.parse().unwrap());
            assert_eq!(found, expected, "{forge:?} {forge_url:?} {clone_url}");
        }
    }

    #[test]
    fn i17_an_event_names_no_other_repository_of_the_forge_as_its_own() {
        use Forge::{Forgejo, GitHub, Gitea};
        let top = Some("http://gitea:3000/");
        let mounted = Some("https://host.example/git");
        for (kind, forge, clone_url, html_url, expected) in [
            (Gitea, top, "http://gitea:3000/acme/rocket.git", None, None),
            (Gitea, top, "http://gitea:3000/Acme/Rocket", None, None),
            (
                Gitea,
                top,
                "http://gitea:3000/acme/other.git",
                None,
                Some("clone_url"),
            ),
            (
                Gitea,
                top,
                "http://gitea:3000/acme/rocket/../other.git",
                None,
                Some("clone_url"),
            ),
            (
                Gitea,
                top,
                "http://gitea:3000/acme/other/../rocket.git",
                None,
                Some("clone_url"),
            ),
            (
                Gitea,
                top,
                "http://gitea:3000/acme/other%2f..%2frocket.git",
                None,
                Some("clone_url"),
            ),
            (
                Gitea,
                top,
                "http://gitea:3000//acme/rocket.git",
                None,
                Some("clone_url"),
            ),
            (
                Gitea,
                top,
                "http://gitea:3000/x/acme/rocket.git",
                None,
                Some("clone_url"),
            ),
            (
                Gitea,
                top,
                "http://gitea:3000/acme/rocket.git",
                Some("http://gitea:3000/acme/other"),
                Some("html_url"),
            ),
            // By what it is reached at outside; no token goes there.
            (
                Gitea,
                top,
                "https://git.example/acme/rocket.git",
                Some("https://git.example/acme/rocket"),
                None,
            ),
            (
                Forgejo,
                mounted,
                "https://host.example/git/acme/rocket.git",
                Some("https://host.example/git/acme/rocket"),
                None,
            ),
            (
                Forgejo,
                mounted,
                "https://host.example/acme/rocket.git",
                None,
                Some("clone_url"),
            ),
            (
                GitHub,
                None,
                "https://github.com/acme/other.git",
                None,
                Some("clone_url"),
            ),
            (
                GitHub,
                Some("https://ghe.example/api/v3"),
                "https://ghe.example/acme/rocket.git",
                Some("https://ghe.example/acme/rocket"),
                None,
            ),
            (
                GitHub,
                Some("https://ghe.example/api/v3"),
                "https://ghe.example/acme/other.git",
                None,
                Some("clone_url"),
            ),
            (Gitea, top, "", None, None),
            (Gitea, top, "file:///srv/rocket", None, None),
        ] {
            let made = StoredEvent::made(EventKind::Push, "acme/rocket", "", "", clone_url);
            let event = made.at(html_url.map(str::to_owned), None);
            let found = own(kind, forge).misplaced(&event);
            assert_eq!(found, expected, "{clone_url} {html_url:?}");
        }
    }
}
