//! A job's machine trusts the certificate by which the gateway answers at the forge's own address:
//! before its first step the authority is where programs look for one.
//!
//! Programs that read the system's certificates find it in their files; those that bring their own
//! are told by variables, of every command in the machine (`/etc/environment`) or of the job's
//! containers. What the image says of authorities of its own stays beside it.

use runner_core::context::OWN_DIRECTORY;
use runner_core::state::StepEnd;

use super::step_runner::StepRunner;
use crate::job_services::NAME_HASH;
use crate::log::LineKind;

/// Puts authorities where programs find them: the folder for what they need; `machine` or
/// `container`; the hash of their name, as OpenSSL's folders have it; then certificates.
///
/// A container has no file for variables: there they are outputs.
const TRUST: &str = r#"
own=$1 kind=$2 hash=$3; shift 3
umask 022
mkdir -p "$own" || exit 1
new=$own/$kind.new all=$own/forge.pem
: > "$new"
for pem in "$@"; do printf '%s' "$pem" >> "$new"; done
cat "$new" > "$all"
# Of its signature: names and times are those of others, too.
mark() { printf '%s' "$1" | grep -v END | tail -n 2 | head -n 1; }
line=$(mark "$pem")
add() {
  grep -qF "$line" "$1" 2> /dev/null && return 0
  { [ -s "$1" ] && [ -n "$(tail -c 1 "$1")" ] && echo; cat "$new"; } >> "$1" 2> /dev/null
}
bundle=
for file in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem /etc/ssl/cert.pem; do
  [ -s "$file" ] && add "$file" && bundle=${bundle:-$file}
done
number=0
for pem in "$@"; do
  for place in /usr/local/share/ca-certificates /etc/pki/ca-trust/source/anchors; do
    [ -d "${place%/*}" ] && mkdir -p "$place" 2> /dev/null && printf '%s' "$pem" > "$place/orrery-forge-$number.crt" 2> /dev/null
  done
  if mkdir -p /etc/ssl/certs 2> /dev/null; then
    at=0
    while [ -e "/etc/ssl/certs/$hash.$at" ] && ! grep -qF "$(mark "$pem")" "/etc/ssl/certs/$hash.$at"; do at=$((at + 1)); done
    printf '%s' "$pem" > "/etc/ssl/certs/$hash.$at" 2> /dev/null
  fi
  number=$((number + 1))
done
# For containers that have no shell to be asked.
if [ -n "$bundle" ] && [ "$kind" = machine ]; then
  cat "$bundle" > "$own/bundle.pem" && echo '::set-output name=bundle::yes'
fi
said() {
  if [ "$kind" = container ]; then eval "printf '%s' \"\${$1-}\""; return; fi
  sed -n "s/^ *\(export \)\{0,1\} *$1=//p" /etc/environment 2> /dev/null | tail -n 1 | tr -d "\"'"
}
say() {
  if [ "$kind" = container ]; then printf '::set-output name=%s::%s\n' "$1" "$2"; return; fi
  { [ -s /etc/environment ] && [ -n "$(tail -c 1 /etc/environment)" ] && echo; echo "$1=$2"; } >> /etc/environment
}
# A named file has what it has, and this.
for name in NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE PIP_CERT SSL_CERT_FILE CURL_CA_BUNDLE GIT_SSL_CAINFO DENO_CERT AWS_CA_BUNDLE CARGO_HTTP_CAINFO; do
  named=$(said "$name")
  if [ -n "$named" ]; then
    [ -f "$named" ] && [ "$named" != "$all" ] && add "$named"
    continue
  fi
  case $name in
    NODE_EXTRA_CA_CERTS) say "$name" "$all";;
    REQUESTS_CA_BUNDLE|PIP_CERT|SSL_CERT_FILE) [ -n "$bundle" ] && say "$name" "$bundle";;
  esac
done
[ -n "$(said DENO_TLS_CA_STORE)" ] || say DENO_TLS_CA_STORE system,mozilla
exit 0
"#;

/// Where the machine's files of it are; containers of the job have them too.
fn folder() -> String {
    format!("{OWN_DIRECTORY}/trust")
}

impl StepRunner<'_> {
    /// Has the machine trust the gateway at the forge's own address, where that has TLS.
    pub(super) async fn trust_forge(&mut self) {
        let Some(argv) = self.trusting("machine") else {
            return;
        };
        let exit = self.command(argv).await;
        self.containers.has_bundle = !exit.commands.outputs.is_empty();
        if exit.end != StepEnd::Exited(0) {
            self.say_untrusted("the machine").await;
        }
    }

    /// The same of the container that steps run in.
    pub(super) async fn trust_in_container(&mut self) {
        let (Some(argv), Some(job)) = (self.trusting("container"), &self.containers.job) else {
            return;
        };
        let container = super::frame::StepContainer {
            id: job.id.clone(),
            user: "0".to_owned(),
        };
        let env = job.env.iter().cloned().collect();
        let argv = container.command(&env, "/", &argv, false);
        let exit = self.command(argv).await;
        if exit.end != StepEnd::Exited(0) {
            self.say_untrusted("the job's container").await;
        }
        // What its image says itself is in its own variables.
        self.containers.trust = exit.commands.outputs;
    }

    /// How a container of a Docker action finds it.
    pub(super) fn trust_variables(&self) -> Vec<(String, String)> {
        if self.trusting("machine").is_none() {
            return Vec::new();
        }
        let folder = folder();
        let bundle = format!("{folder}/bundle.pem");
        let bundles = [
            "SSL_CERT_FILE",
            "CURL_CA_BUNDLE",
            "GIT_SSL_CAINFO",
            "REQUESTS_CA_BUNDLE",
            "PIP_CERT",
        ];
        let bundles = bundles.iter().filter(|_| self.containers.has_bundle);
        let bundles = bundles.map(|name| ((*name).to_owned(), bundle.clone()));
        let own = (
            "NODE_EXTRA_CA_CERTS".to_owned(),
            format!("{folder}/forge.pem"),
        );
        bundles.chain([own]).collect()
    }

    /// The command for it; nothing where no address of the forge has TLS.
    fn trusting(&self, kind: &str) -> Option<Vec<String>> {
        let services = self.request.services.as_ref()?;
        let addresses = self.machine_addresses();
        let secure = addresses.iter().filter(|url| url.scheme() == "https");
        let hosts = secure.filter_map(url::Url::host_str);
        let authorities = hosts.filter_map(|host| services.authority_of(host));
        let certificates: Vec<String> = authorities.map(|it| it.pem.clone()).collect();
        if certificates.is_empty() {
            return None;
        }
        let folder = folder();
        let argv = ["sh", "-c", TRUST, "sh", &folder, kind, NAME_HASH].map(str::to_owned);
        Some(argv.into_iter().chain(certificates).collect())
    }

    async fn say_untrusted(&self, what: &str) {
        let text = format!(
            "{what} does not trust the gateway at the forge's own address: programs there find its certificate wrong, and reach the forge at `github.api_url` alone"
        );
        self.log.line(0, LineKind::Warning, &text).await;
    }
}
