//! Images that a job pushes to the forge's own registry with its token, by the programs of the
//! image `full`: through the gateway to Debian's registry, and back.

use crate::lab::{prepare, registry};
use crate::site::Site;

const WORKFLOW: &str = r#"
on: push
permissions: {contents: read, packages: write}
jobs:
  images:
    runs-on: x
    env: {R: forge.example/acme}
    steps:
      - run: |
          echo "made in a job" > made; printf 'FROM scratch\nCOPY made /made\n' > Dockerfile
          echo "$TOKEN" | docker login forge.example --username acme --password-stdin
          docker build --quiet -t $R/tool:1 . > /dev/null
          docker push --quiet $R/tool:1 && echo "docker has pushed"
          docker buildx build --push --tag $R/tool:2 --metadata-file meta.json . > build.log 2>&1 || cat build.log
          python3 -c 'import json; print("digest", json.load(open("meta.json"))["containerimage.digest"][:7])'
          docker tag $R/tool:1 forge.example/other/tool:1
          docker push forge.example/other/tool:1 > out 2>&1 || echo "of another owner: $(tail -n 1 out)"
        env: {TOKEN: "${{ github.token }}"}
      - run: |
          podman build --quiet -t $R/tool:3 . > /dev/null
          echo "$TOKEN" | podman login forge.example --username acme --password-stdin
          podman push --quiet $R/tool:3 && echo "podman has pushed"
        env: {TOKEN: "${{ github.token }}"}
      - run: |
          docker rmi --force $(docker images --quiet) > /dev/null
          for one in 1 2 3; do
            docker pull --quiet $R/tool:$one > /dev/null && docker create --name c$one $R/tool:$one x > /dev/null
            docker cp c$one:/made - | tar -xO
          done
          # Each program has a file of its own.
          docker logout forge.example; podman logout forge.example
          docker pull $R/tool:1 > out 2>&1 || echo "nobody without a token"
"#;

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_images_are_pushed_to_the_forge_s_registry_with_the_token_of_the_job() {
    prepare();
    let folder = tempfile::tempdir().unwrap();
    let (_registry, address) = registry(folder.path());
    let machine = "image = \"full\"\nmemory = \"1GiB\"\ndisk = \"8GiB\"\n";
    let mut site = Site::with_services_on(machine);
    site.serve_registry(address);
    site.html_url = Some("https://forge.example/acme/rocket".to_owned());
    let (run, record) = site.run(WORKFLOW);
    let log = site.log(&run);
    assert_eq!(record["state"], "succeeded", "{record:#}\n{log}");
    for part in [
        "Login Succeeded!",
        "docker has pushed",
        "digest sha256:",
        "of another owner: Error",
        "podman has pushed",
        "nobody without a token",
    ] {
        assert!(log.contains(part), "{part} in {log}");
    }
    let shown = "\"text\":\"made in a job\"";
    assert_eq!(log.matches(shown).count(), 3, "{log}");
    let asked = site.asked();
    let images: Vec<_> = asked
        .iter()
        .filter(|(path, _)| path.starts_with("/v2/"))
        .collect();
    assert!(
        images
            .iter()
            .all(|(path, token)| *token && path.starts_with("/v2/acme/")),
        "{images:#?}"
    );
}
