//! The forge that is configured, and which addresses are those of its repositories: the runner's
//! token goes to these only, and no event names another repository's as its own.

use forge_core::Forge;
use runner_core::checkout::is_plainly_of;
use url::Url;

use crate::event::StoredEvent;
use crate::settings::RunnerSettings;

/// Whom git names beside the runner's own token.
pub(crate) const TOKEN_USER: &str = "oauth2";

/// The forge that is configured.
#[derive(Debug, Clone)]
pub(crate) struct OwnForge {
    pub(crate) kind: Forge,
    url: Option<Url>,
}

impl OwnForge {
    pub(crate) fn from_settings(settings: &RunnerSettings) -> Self {
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

    /// Below which address the forge has its repositories, for people and for git, without a slash
    /// at its end; nothing where that is not known.
    pub(crate) fn web_base(&self) -> Option<String> {
        let github = Url::parse("https://github.com").ok()?;
        if is_github(self.kind, self.url.as_ref(), &github) {
            return Some(github.as_str().trim_end_matches('/').to_owned());
        }
        let url = self.url.as_ref()?;
        Some(match self.kind {
            // The path is that of the API.
            Forge::GitHub => url.origin().ascii_serialization(),
            Forge::Gitea | Forge::Forgejo => url.as_str().trim_end_matches('/').to_owned(),
        })
    }

    /// Whether an address is at one of the forge's own hosts.
    pub(crate) fn is_host_of(&self, address: &Url) -> bool {
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
            let found = own(forge, forge_url).is_host_of(&clone_url.parse().unwrap());
            assert_eq!(found, expected, "{forge:?} {forge_url:?} {clone_url}");
        }
    }

    #[test]
    fn i17_repositories_are_below_the_forges_address_for_people() {
        for (kind, url, expected) in [
            (Forge::GitHub, None, Some("https://github.com")),
            (
                Forge::GitHub,
                Some("https://api.github.com"),
                Some("https://github.com"),
            ),
            (
                Forge::GitHub,
                Some("https://ghe.example/api/v3"),
                Some("https://ghe.example"),
            ),
            (
                Forge::GitHub,
                Some("https://ghe.example:8443/"),
                Some("https://ghe.example:8443"),
            ),
            (
                Forge::Gitea,
                Some("https://host.example/git/"),
                Some("https://host.example/git"),
            ),
            (Forge::Forgejo, None, None),
        ] {
            let found = own(kind, url).web_base();
            assert_eq!(found.as_deref(), expected, "{kind:?} {url:?}");
        }
    }

    /// A forge, its address, those of `acme/rocket`, and those that are another's.
    type ForgeCase<'a> = (Forge, Option<&'a str>, &'a [&'a str], &'a [&'a str]);

    const PLACES: [ForgeCase<'_>; 4] = [
        (
            Forge::Gitea,
            Some("http://gitea:3000/"),
            &[
                "http://gitea:3000/acme/rocket.git",
                "http://gitea:3000/Acme/Rocket",
                // Its address outside, where no token goes.
                "https://git.example/acme/rocket.git",
                "file:///srv/rocket",
                "",
            ],
            &[
                "http://gitea:3000/acme/other.git",
                "http://gitea:3000/acme/rocket/../other.git",
                "http://gitea:3000/acme/other/../rocket.git",
                "http://gitea:3000/acme/other%2f..%2frocket.git",
                "http://gitea:3000//acme/rocket.git",
                "http://gitea:3000/x/acme/rocket.git",
            ],
        ),
        (
            Forge::Forgejo,
            Some("https://host.example/git"),
            &["https://host.example/git/acme/rocket.git"],
            &["https://host.example/acme/rocket.git"],
        ),
        (
            Forge::GitHub,
            None,
            &["https://github.com/acme/rocket.git"],
            &["https://github.com/acme/other.git"],
        ),
        (
            Forge::GitHub,
            Some("https://ghe.example/api/v3"),
            &["https://ghe.example/acme/rocket.git"],
            &["https://ghe.example/acme/other.git"],
        ),
    ];

    #[test]
    fn i17_an_event_names_no_other_repository_of_the_forge_as_its_own() {
        for (kind, forge, own_places, others) in PLACES {
            let forge = own(kind, forge);
            let misplaced = |clone_url: &str, page: &str| {
                let made =
                    StoredEvent::without_webhook(EventKind::Push, "acme/rocket", "", "", clone_url);
                forge.misplaced(&made.with_page(Some(page.to_owned()), None))
            };
            for place in own_places {
                assert_eq!(misplaced(place, place), None, "{place}");
            }
            for place in others {
                assert_eq!(misplaced(place, ""), Some("clone_url"), "{place}");
                assert_eq!(misplaced("", place), Some("html_url"), "{place}");
            }
        }
    }
}
