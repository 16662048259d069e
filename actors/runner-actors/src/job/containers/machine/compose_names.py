"""podman-compose, with networks called as Docker Compose calls them, `project_default`, and without
colours where nobody sees them."""

import re
import sys

import podman_compose


def network_name(compose, network, external):
    return network if external else f"{compose.project_name}_{network}"


def plain(*words, **options):
    text = (re.sub(r"\x1b\[[0-9;]*m", "", str(word)) for word in words)
    print(*text, **options)


podman_compose.default_network_name_for_project = network_name
if not sys.stdout.isatty():
    podman_compose.print = plain
sys.argv[0] = "docker compose"
podman_compose.main()
