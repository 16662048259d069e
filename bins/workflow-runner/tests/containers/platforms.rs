//! Images of other processors, built and run by emulators; lists of images; bake.

use crate::lab::{Lab, of_job, prepare};
use crate::stage::in_order;

const WORKFLOW: &str = r#"
on: push
env: {R: "localhost:5000"}
jobs:
  images:
    runs-on: ubuntu-latest
    services:
      registry:
        image: tools:1
        ports: ["5000:5000"]
        entrypoint: /bin/sh
        command: "-c 'printf \"version: 0.1\\nlog: {level: error}\\nstorage: {filesystem: {rootdirectory: /r}}\\nhttp: {addr: \\\":5000\\\"}\\n\" > /c.yml; exec docker-registry serve /c.yml'"
    steps:
      - uses: actions/checkout@v4
      - run: |
          python3 programs.py && chmod 755 hello-*
          docker pull --quiet tonistiigi/binfmt:latest
          docker run --rm --privileged tonistiigi/binfmt:latest --install all | grep -c qemu-
          docker buildx create --use --name many; docker buildx inspect --bootstrap | grep Platforms
      - run: |
          docker buildx build --platform linux/amd64,linux/arm64 -t $R/hello:1 -t $R/hello:2 --push --metadata-file meta.json . > build.log 2>&1 || cat build.log
          docker buildx imagetools inspect $R/hello:2 | grep Platform: | sort
          told=$(python3 -c 'import json; print(json.load(open("meta.json"))["containerimage.digest"])')
          case "$told" in sha256:*) [ "$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' $R/hello:1)" = "$told" ] && echo the digest is told ;; esac
          for one in amd64 arm64; do docker run --rm --quiet --platform linux/$one $R/hello:1; done
      - run: |
          digests=
          for one in amd64 arm64; do
            docker buildx build --platform linux/$one --output type=image,name=$R/apart,push-by-digest=true,push=true --metadata-file $one.json . > build.log 2>&1 || cat build.log
            digests="$digests $R/apart@$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["containerimage.digest"])' $one.json)"
          done
          docker buildx imagetools create -t $R/apart:latest $digests 2> /dev/null
          docker run --rm --quiet --platform linux/arm64 $R/apart:latest; echo together
      - run: |
          BASE=$R/hello:1 docker buildx bake --push > bake.log 2>&1 || cat bake.log
          docker create --name made --platform linux/arm64 $R/baked:arm64 > /dev/null; docker cp made:/made made.txt; cat made.txt
          docker buildx build --platform linux/amd64,linux/arm64 -o files --build-arg BASE=$R/hello:1 -f cross.Dockerfile . > build.log 2>&1 || cat build.log
          ls files; qemu-aarch64-static files/linux_arm64/hello
"#;

/// Two programs that say which processor they are of, since Debian's image has no compiler for
/// both.
const PROGRAMS: &str = r#"
import struct

def program(machine, code, text):
    head = struct.pack('<16sHHIQQQIHHHHHH', b'\x7fELF\x02\x01\x01' + bytes(9), 2, machine, 1, 0x400078,
                       64, 0, 0, 64, 56, 1, 0, 0, 0)
    size = 120 + len(code) + len(text)
    return head + struct.pack('<IIQQQQQQ', 1, 5, 0, 0x400000, 0x400000, size, size, 4096) + code + text

# write(1, text, 8); exit(0)
arm = struct.pack('<8I', 0xd2800020, 0x100000e1, 0xd2800102, 0xd2800808, 0xd4000001, 0xd2800000,
                  0xd2800ba8, 0xd4000001)
amd = bytes.fromhex('bf01000000488d3515000000ba08000000b8010000000f0531ffb83c0000000f05')
open('hello-arm64', 'wb').write(program(0xb7, arm, b'aarch64\n'))
open('hello-amd64', 'wb').write(program(0x3e, amd, b'x86_64 \n'))
"#;

const DOCKERFILE: &str = "FROM scratch\nARG TARGETARCH\nCOPY hello-$TARGETARCH /hello\nRUN [\"/hello\"]\nCMD [\"/hello\"]\n";

/// Its first stage is of the machine's own platform, whatever the second one is.
const CROSS: &str = "ARG BASE\nFROM --platform=$BUILDPLATFORM tools:1 AS build\nARG TARGETARCH\nRUN echo \"$(uname -m) made it for $TARGETARCH\" > /made\nFROM ${BASE}\nCOPY --from=build /made /made\n";

const BAKE: &str = r#"
variable "BASE" {}
target "default" {
  name = "for-${one}"
  matrix = { one = ["amd64", "arm64"] }
  dockerfile = "baked.Dockerfile"
  contexts = { made = "target:made-${one}" }
  platforms = ["linux/${one}"]
  tags = ["localhost:5000/baked:${one}"]
}
target "made" {
  name = "made-${one}"
  matrix = { one = ["amd64", "arm64"] }
  dockerfile = "cross.Dockerfile"
  args = { BASE = BASE }
  platforms = ["linux/${one}"]
}
"#;

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_images_of_other_processors_are_built_pushed_and_run() {
    prepare();
    let lab = Lab::new();
    lab.add_images(&["tools:1"]);
    let baked = "FROM made\nCOPY hello-amd64 /own\n";
    let (code, said) = lab.exec(&[
        (".github/workflows/ci.yml", WORKFLOW),
        ("programs.py", PROGRAMS),
        ("Dockerfile", DOCKERFILE),
        ("cross.Dockerfile", CROSS),
        ("baked.Dockerfile", baked),
        ("docker-bake.hcl", BAKE),
    ]);
    assert_eq!(code, Some(0), "{said}");
    let lines = [
        "5",
        "linux/arm64, linux/arm, linux/ppc64le, linux/riscv64, linux/s390x",
        "Platform:  linux/amd64",
        "Platform:  linux/arm64",
        "the digest is told",
        "x86_64",
        "aarch64",
        "aarch64",
        "together",
        "x86_64 made it for arm64",
        "linux_amd64",
        "linux_arm64",
        "aarch64",
    ];
    in_order(&of_job(&said, "images"), &lines);
}
