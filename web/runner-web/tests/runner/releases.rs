//! What popular actions ask of the forge, by the client of npm through the gateway: releases and
//! their files, labels, statuses, checks, contents, the files of a pull request.

use crate::gateway::{has, lines, stage_of, workflow};

const CLIENT: &str = r#"
import {getOctokit, context} from '@actions/github';
const {rest} = getOctokit(process.env.TOKEN);
const {repo} = context;
const tried = async (name, work) => {
  const answer = await work().catch((error) => error);
  console.log(`${name}: ${answer.status ?? ''} ${answer.message ?? ''}`);
  return answer.data ?? {};
};
const made = await tried('release', () => rest.repos.createRelease({...repo, tag_name: 'v1'}));
// As the machine has it; here the services are at another port.
const inside = 'http://127.0.0.1:3128/api/v1';
console.log(`upload through the gateway ${made.upload_url?.startsWith(inside)}`);
const anywhere = `${inside}/repos/${repo.owner}/${repo.repo}/releases/1/assets`;
const url = (made.upload_url ?? anywhere).replace(inside, process.env.GITHUB_API_URL);
const data = Buffer.from([0, 255, 10, 13, 128, 123]);
const headers = {'content-type': 'application/octet-stream'};
const release_id = made.id ?? 1;
await tried('asset', () => rest.repos.uploadReleaseAsset({
  ...repo, release_id, name: 'a b.bin', data, headers, url: `${url}{?name,label}`,
}));
// Larger than what is held in memory, and than what is accepted at all.
const large = Buffer.alloc(40 * 1024 * 1024, 7);
await tried('large', () => rest.repos.uploadReleaseAsset({
  ...repo, release_id, name: 'large.bin', data: large, headers, url: `${url}{?name,label}`,
}));
const address = new URL(`${url}?name=huge`);
const http = await import('node:http');
const huge = await new Promise((resolve) => {
  const asked = http.request(address, {method: 'POST', headers: {
    authorization: `token ${process.env.TOKEN}`, 'content-length': 3 * 1024 ** 3,
  }}, (answer) => resolve(answer.statusCode));
  asked.on('error', resolve);
  asked.flushHeaders();
});
console.log(`huge: ${huge}`);
const found = await tried('by tag', () => rest.repos.getReleaseByTag({...repo, tag: 'v1'}));
console.log(`files ${(found.assets ?? []).map((one) => `${one.name} ${one.size}`).join()}`);
const all = await tried('list', () => rest.repos.listReleases(repo));
console.log(`list leads to the gateway ${Array.isArray(all) && all.every((one) => one.upload_url === made.upload_url)}`);
const sha = context.sha;
await tried('status', () => rest.repos.createCommitStatus({...repo, sha, state: 'success', context: 'x'}));
await tried('labels', () => rest.issues.addLabels({...repo, issue_number: 7, labels: ['x']}));
await tried('check', () => rest.checks.create({...repo, name: 'x', head_sha: sha}));
await tried('contents', () => rest.repos.getContent({...repo, path: 'docs/a.md'}));
await tried('put', () => rest.repos.createOrUpdateFileContents({...repo, path: 'docs/a.md', message: 'm', content: 'eA=='}));
await tried('workflow', () => rest.repos.createOrUpdateFileContents({...repo, path: '.github/workflows/x.yml', message: 'm', content: 'eA=='}));
await tried('files', () => rest.pulls.listFiles({...repo, pull_number: 8}));
"#;

#[test]
fn i17_files_of_a_release_are_uploaded_through_the_gateway() {
    let stage = stage_of(CLIENT, |_| {});
    let (site, runner) = (&stage.site, &stage.runner);
    let sha = site.commit(&workflow(
        "permissions: {contents: write, statuses: write, issues: write, checks: write, pull-requests: read}",
    ));
    let run = runner.run("push", "d-1", &site.push(&sha));
    let record = runner.ended(&run);
    assert_eq!(
        record["state"],
        "succeeded",
        "{record:#} {}",
        runner.log(&run)
    );
    let said = lines(runner, &run);
    for line in [
        "release: 201",
        "upload through the gateway true",
        "asset: 201",
        "large: 201",
        "huge: 413",
        "by tag: 200",
        "files a b.bin 6,large.bin 41943040",
        "list: 200",
        "list leads to the gateway true",
        "status: 201",
        // Answers of the forge, which has none of these: they were passed on.
        "labels: 404 not found",
        "check: 404 not found",
        "contents: 404 not found",
        "put: 404 not found",
        "files: 200",
        "workflow: 403",
    ] {
        has(&said, line);
    }
    let releases = site.forge.releases("acme/rocket");
    assert_eq!(releases.len(), 1);
    let bytes = vec![0, 255, 10, 13, 128, 123];
    let large = vec![7; 40 << 20];
    let assets = [
        ("a b.bin".to_owned(), bytes),
        ("large.bin".to_owned(), large),
    ];
    assert!(releases[0].assets == assets, "other bytes came");
}

#[test]
fn i17_what_actions_ask_for_needs_its_permission() {
    let stage = stage_of(CLIENT, |_| {});
    let (site, runner) = (&stage.site, &stage.runner);
    let sha = site.commit(&workflow("permissions: {contents: read}"));
    let run = runner.run("push", "d-1", &site.push(&sha));
    runner.ended(&run);
    let said = lines(runner, &run);
    for line in [
        "release: 403",
        "asset: 403",
        "by tag: 404 not found",
        "list: 200",
        "status: 403",
        "labels: 403",
        "check: 403",
        "contents: 404 not found",
        "put: 403",
        "files: 403",
    ] {
        has(&said, line);
    }
    for permission in ["contents", "statuses", "issues", "checks"] {
        let words = format!("`{permission}: write`");
        let told = said.iter().any(|line| line.contains(&words));
        assert!(told, "{words}: {said:#?}");
    }
    assert!(site.forge.releases("acme/rocket").is_empty());
}
