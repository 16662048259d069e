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
/// `container`; the hash of their name, as OpenSSL's folders have it; [`JAVA`]; then certificates.
///
/// A container has no file for variables: there they are outputs.
const TRUST: &str = r#"
own=$1 kind=$2 hash=$3 java=$4; shift 4
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
# Java has stores of its own: Debian's, which all of its releases share, and those of others.
for store in /etc/ssl/certs/java/cacerts /etc/pki/java/cacerts /usr/lib/jvm/*/lib/security/cacerts /usr/lib/jvm/*/jre/lib/security/cacerts /opt/java*/lib/security/cacerts /opt/tools/Java_*/*/*/lib/security/cacerts "${JAVA_HOME:-/none}/lib/security/cacerts"; do
  [ -f "$store" ] && readlink -f "$store"
done | sort -u | while read -r store; do
  python3 -c "$java" "$new" "$store" 2> /dev/null && continue
  tool=${store%/lib/security/cacerts}/bin/keytool
  [ -x "$tool" ] || tool=keytool
  for pem in "$@"; do
    name=orrery-forge-$(mark "$pem" | cksum | cut -d ' ' -f 1)
    printf '%s' "$pem" | "$tool" -importcert -noprompt -trustcacerts -alias "$name" -keystore "$store" -storepass changeit > /dev/null 2>&1
  done
done
exit 0
"#;

/// Adds certificates (a file of them) to a store of Java's own form (JKS) as `keytool` does, which
/// takes seconds to start in an emulated machine; fails where the store has another form.
const JAVA: &str = r#"
import base64, hashlib, re, struct, sys, time
with open(sys.argv[1]) as file: pems = re.findall('-----BEGIN CERTIFICATE-----(.*?)-----END', file.read(), re.S)
with open(sys.argv[2], 'rb') as file: store = bytearray(file.read())
if store[:8] != b'\xfe\xed\xfe\xed\0\0\0\2': sys.exit(1)
body = store[:-20]
for pem in pems:
    der = base64.b64decode(pem)
    if der in body: continue
    alias = b'orrery-forge-' + hashlib.sha256(der).hexdigest()[:16].encode()
    body += struct.pack('>IH', 2, len(alias)) + alias + struct.pack('>QH', int(time.time() * 1000), 5) + b'X.509' + struct.pack('>I', len(der)) + der
    body[8:12] = struct.pack('>I', struct.unpack('>I', body[8:12])[0] + 1)
check = hashlib.sha1('changeit'.encode('utf-16-be') + b'Mighty Aphrodite' + body).digest()
with open(sys.argv[2], 'wb') as file: file.write(body + check)
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
            self.log_untrusted("the machine").await;
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
            self.log_untrusted("the job's container").await;
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
        let argv = ["sh", "-c", TRUST, "sh", &folder, kind, NAME_HASH, JAVA].map(str::to_owned);
        Some(argv.into_iter().chain(certificates).collect())
    }

    async fn log_untrusted(&self, what: &str) {
        let text = format!(
            "{what} does not trust the gateway at the forge's own address: programs there find its certificate wrong, and reach the forge at `github.api_url` alone"
        );
        self.log.line(0, LineKind::Warning, &text).await;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use base64::Engine as _;

    use super::*;

    fn added(certificates: &Path, store: &Path) -> bool {
        let mut python = Command::new("python3");
        python.args(["-c", JAVA]).arg(certificates).arg(store);
        python.status().expect("python3 is installed").success()
    }

    /// Version, count, entries, check: as `keytool` reads it.
    #[test]
    fn i17_a_store_of_java_gets_each_certificate_once() {
        let folder = tempfile::tempdir().unwrap();
        let (pems, path) = (folder.path().join("pems"), folder.path().join("cacerts"));
        let text = ["one", "two"].map(|der| {
            let text = base64::engine::general_purpose::STANDARD.encode(der);
            format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
        });
        std::fs::write(&pems, text.concat()).unwrap();
        let empty = [b"\xfe\xed\xfe\xed\0\0\0\x02\0\0\0\0".as_slice(), &[0; 20]].concat();
        std::fs::write(&path, empty).unwrap();
        assert!(added(&pems, &path) && added(&pems, &path));
        let store = std::fs::read(&path).unwrap();
        assert_eq!(store[..12], *b"\xfe\xed\xfe\xed\0\0\0\x02\0\0\0\x02");
        let has = |bytes: &[u8]| store.windows(bytes.len()).filter(|it| *it == bytes).count();
        for der in ["one", "two"] {
            let entry = [b"\0\x05X.509\0\0\0\x03", der.as_bytes()].concat();
            assert_eq!(has(&entry), 1, "{der}");
        }
        assert_eq!(has(b"orrery-forge-"), 2);
        // Of another form: left to Java's own program.
        let other = b"0\x82\x01\x02 a PKCS 12 store";
        std::fs::write(&path, other).unwrap();
        assert!(!added(&pems, &path));
        assert_eq!(std::fs::read(&path).unwrap(), other);
    }
}
