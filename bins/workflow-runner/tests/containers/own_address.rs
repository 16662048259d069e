//! The forge's own address in containers of a job, and by the programs of the image `full`: who
//! trusts the gateway there, by what its machine was told before its first step.

use crate::lab::prepare;
use crate::site::Site;

/// What the gateway says to a token that is known and may not do this.
const KNOWN: &str = "the token is of acme/rocket only";

const WORKFLOW: &str = r#"
on: push
permissions: {contents: read, packages: write}
jobs:
  programs:
    runs-on: x
    steps:
      - run: |
          api=https://forge.example/api/v1/user/emails
          echo "curl $(curl -sS -H "Authorization: token $TOKEN" $api)"
          echo "wget $(wget -q -O - --content-on-error --header "Authorization: token $TOKEN" $api)"
          node --version
          node -e 'fetch("https://forge.example/api/v1/user/emails", {headers: {authorization: `token ${process.env.TOKEN}`}}).then((a) => a.text()).then((t) => console.log("node", t), (e) => console.log("node", e.cause ?? e))'
          cat > Ask.java <<'END'
          import java.net.*;
          class Ask {
            public static void main(String[] words) throws Exception {
              var asked = (HttpURLConnection) new URI("https://forge.example/api/v1/user/emails").toURL().openConnection();
              asked.setRequestProperty("Authorization", "token " + System.getenv("TOKEN"));
              asked.getResponseCode();
              System.out.println("java " + new String(asked.getErrorStream().readAllBytes()));
            }
          }
          END
          java Ask.java || true
          echo "login $(docker login forge.example -u acme -p "$TOKEN" 2>&1 | tail -n 1)"
        env: {TOKEN: "${{ github.token }}"}
  container:
    needs: programs
    runs-on: x
    container: {image: "tools:1"}
    steps:
      - run: env | grep -i 'cert\|_ca_\|proxy' | sort
        shell: sh
      - shell: sh
        run: |
          cat > ask.py <<'END'
          import os, urllib.request, urllib.error
          at = urllib.request.Request("https://forge.example/api/v1/user/emails", headers={"Authorization": "token " + os.environ["TOKEN"]})
          try: print(os.environ["NAME"], urllib.request.urlopen(at).read())
          except urllib.error.HTTPError as error: print(os.environ["NAME"], error.read().decode())
          except OSError as error: print(os.environ["NAME"], error)
          END
          python3 ask.py
        env: {TOKEN: "${{ github.token }}", NAME: inside}
      - uses: docker://tools:1
        with: {entrypoint: python3, args: ask.py}
        env: {TOKEN: "${{ github.token }}", NAME: action}
"#;

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_programs_and_containers_trust_the_forges_own_address() {
    let images = prepare();
    let machine = "image = \"full\"\nmemory = \"1GiB\"\ndisk = \"8GiB\"\n";
    let mut site = Site::with_services_on(machine);
    site.html_url = Some("https://forge.example/acme/rocket".to_owned());
    site.add_image("tools:1", &images);
    let (run, record) = site.run(WORKFLOW);
    let log = site.log(&run);
    assert_eq!(record["state"], "succeeded", "{record:#}\n{log}");
    let answer = format!(
        "{{\\\"documentation_url\\\":\\\"https://docs.github.com/rest\\\",\\\"message\\\":\\\"{KNOWN}"
    );
    for name in ["curl", "wget", "node", "java", "inside", "action"] {
        assert!(log.contains(&format!("{name} {answer}")), "{name}: {log}");
    }
    assert!(log.contains("login Login Succeeded"), "{log}");
}
