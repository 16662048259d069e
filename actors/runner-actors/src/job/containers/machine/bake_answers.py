"""What `docker buildx bake` answers without a build: the targets and variables of its files
(`--list`), and of Dockerfiles their stages, what they ask for and what is odd (`--call`).
"""

import json
import os
import re

import dockerfile
from hcl_values import Wrong

DOCS = "https://docs.docker.com/go/dockerfile/rule/"
# What BuildKit looks for and this does not: they need the images, or all of the shell's grammar.
NOT_LOOKED_AT = ("UndefinedVar", "InvalidDefaultArgInFrom", "InvalidBaseImagePlatform", "CopyIgnoredFile",
                 "InvalidDefinitionDescription", "ExposeProtoCasing", "ExposeInvalidFormat")
SECRET = re.compile(r"(?:^|_)(?:apikey|auth|credentials?|key|passwd|password|pword|secret|token)(?:$|_)", re.I)
PUBLIC = re.compile(r"(?:^|_)public(?:$|_)", re.I)


def table(rows):
    """Columns as Go's tab writer has them there: tabs, eight wide."""
    widths = [max(len(row[at]) for row in rows) // 8 * 8 + 8 for at in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [cell + "\t" * -(-(width - len(cell)) // 8) for cell, width in zip(row, widths)]
        print("".join(cells) + row[-1])


def asked(text, key, known):
    """`targets`, or `type=targets,format=json`: what, and in which form."""
    fields = dict(part.partition("=")[::2] for part in text.split(",") if "=" in part)
    plain = [part for part in text.split(",") if "=" not in part]
    what = fields.get(key) or (plain[0] if plain else "")
    form = fields.get("format", "table")
    if what not in known:
        raise Wrong(f'invalid {key} "{what}": {", ".join(known)}')
    return what, form


def descriptions(files, kind):
    made = {}
    for block in files.blocks:
        value = block.body.attributes.get("description")
        if block.kind == kind and value is not None:
            made[block.labels[0]] = value(files.scope)
    return made


def list_targets(files, form):
    entries, of_groups = [], descriptions(files, "group")
    for name, target in files.targets.items():
        entries.append({"name": name, "description": target.get("description") or ""})
    for name, members in files.groups.items():
        names, said = ", ".join(sorted(members)), of_groups.get(name, "")
        said = f"{said} ({names})" if said and names else said or names
        entries.append({"name": name, "description": said, "group": True})
    # One that begins so is for others to inherit.
    entries = [one for one in sorted(entries, key=lambda one: one["name"]) if not one["name"].startswith("_")]
    if form == "json":
        print(json.dumps([{key: value for key, value in one.items() if value} for one in entries], indent=2))
    else:
        table([("TARGET", "DESCRIPTION"), *((one["name"], one["description"]) for one in entries)])


def list_variables(files, form):
    said = files.descriptions
    rows, entries = [("VARIABLE", "TYPE", "VALUE", "DESCRIPTION")], []
    for name in sorted(files.variables):
        value = None
        if files.variables[name] is not None or name in files.environ:
            value = files.names[name]
        kind = kind_of(value)
        shown = None if value is None else value if isinstance(value, str) else json.dumps(value)
        rows.append((name, kind, "<null>" if shown is None else shown, said.get(name, "")))
        entry = {"name": name, "type": kind, "value": shown, "description": said.get(name)}
        entries.append({key: one for key, one in entry.items() if one not in (None, "")})
    if form == "json":
        print(json.dumps(entries, indent=2))
    else:
        table(rows)


def kind_of(value):
    """Its type where no `type` names it: of the usual ones."""
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, (int, float)) else "string" if isinstance(value, str) else ""


def answer(files, text):
    """`--list`."""
    what, form = asked(text, "type", ("targets", "variables"))
    (list_targets if what == "targets" else list_variables)(files, form)


class Stages:
    """A Dockerfile of a target, by its stages: `(name, image, instructions)`, each instruction with
    its line, its verb as it stands and the rest."""

    def __init__(self, text, name):
        self.text, self.file = text.replace("\r\n", "\n"), name
        self.first, self.all, line = [], [], 1
        try:
            for verb, rest, _, lines in dockerfile.instructions(self.text):
                here, line = line, line + len(lines)
                if not verb:
                    continue
                written = lines[0].split(None, 1)[0]
                if verb == "FROM":
                    words = [word for word in rest.split() if not word.startswith("--")]
                    called = words[2] if len(words) > 2 and words[1].lower() == "as" else ""
                    self.all.append((called, words[0] if words else "", [(here, written, rest)]))
                else:
                    (self.all[-1][2] if self.all else self.first).append((here, written, rest))
        except dockerfile.Wrong as error:
            raise Wrong(f"{name}: {error}") from None
        if not self.all:
            raise Wrong(f"{name}: it has no FROM")

    def described(self, line):
        """The comment before a stage or an argument: `# name …`, as BuildKit takes it."""
        before = self.text.split("\n")[line - 2].strip() if line > 1 else ""
        return before.removeprefix("#").strip() if before.startswith("#") else ""

    def about(self, name, line):
        said = self.described(line)
        return said.partition(" ")[2] if said.split(" ")[0].lower() == name.lower() and name else ""

    def built(self, target):
        """The stages that a target is made of, and its own name."""
        names = [name.lower() for name, _, _ in self.all]
        if target and target.lower() not in names:
            raise Wrong(f"{self.file}: target stage {target!r} could not be found")
        at = names.index(target.lower()) if target else len(self.all) - 1
        pending, made = [at], []
        while pending:
            one = pending.pop()
            if one in made:
                continue
            made.append(one)
            _, image, lines = self.all[one]
            text = " ".join([image, *(rest for _, _, rest in lines)])
            others = [image.lower()] + [found.lower() for found in re.findall(r"from=([\w.-]+)", text)]
            pending += [names.index(other) for other in others if other in names[:one]]
        return [self.all[one] for one in sorted(made)], self.all[at]


def targets_of(stages):
    made = []
    for at, (name, image, lines) in enumerate(stages.all):
        entry = {"name": name, "description": stages.about(name, lines[0][0]), "base": image}
        entry["default"] = at == len(stages.all) - 1
        made.append({key: value for key, value in entry.items() if value})
    return {"targets": made}


def outline_of(stages, target):
    given = target.get("args", {})
    built, own = stages.built(target.get("target") or "")
    made, first = {}, dict(argument(rest) for _, verb, rest in stages.first if verb.upper() == "ARG")
    lines = [one for _, _, inner in built for one in inner]
    for line, verb, rest in [*stages.first, *lines]:
        if verb.upper() == "ARG":
            name, value = argument(rest)
            value = given.get(name, first.get(name) if value is None else value)
            entry = {"name": name, "description": stages.about(name, line), "value": value}
            made[name] = {key: one for key, one in entry.items() if one not in (None, "")}
    mounts = [dict(part.partition("=")[::2] for part in found.split(","))
              for _, _, rest in lines for found in re.findall(r"--mount=(\S+)", rest)]

    def of(kind, default):
        found = {one.get("id") or os.path.basename(one.get("target", "")) or default: one
                 for one in mounts if one.get("type") == kind}
        return [{"name": name, **({"required": True} if "required" in one and one["required"] != "false" else {})}
                for name, one in found.items()]
    whole = {"name": own[0], "description": stages.about(own[0], own[2][0][0]), "args": list(made.values()),
             "secrets": of("secret", "secret"), "ssh": of("ssh", "default")}
    return {key: value for key, value in whole.items() if value}


def argument(rest):
    name, equals, value = rest.split(None, 1)[0].partition("=") if rest.split() else ("", "", "")
    return name, value.strip("\"'") if equals else None


def found_in(stages):
    """What BuildKit's checks say of it, as far as the file alone tells: rule, line, what."""
    made, names = [], {}
    alike = {"lower": 0, "upper": 0}
    for _, verb, _ in [*stages.first, *(one for _, _, lines in stages.all for one in lines)]:
        alike["lower"] += verb.islower()
        alike["upper"] += verb.isupper()
    usual = str.lower if alike["lower"] > alike["upper"] else str.upper
    arguments = {argument(rest)[0] for _, verb, rest in stages.first if verb.upper() == "ARG"}
    for name, image, lines in stages.all:
        line, verb, rest = lines[0]
        if name:
            if name != name.lower():
                made.append(("StageNameCasing", line, f"Stage name '{name}' should be lowercase"))
            if name.lower() in names:
                made.append(("DuplicateStageName", line, f"Duplicate stage name {name!r}, stage names should be unique"))
            if name.lower() in ("context", "scratch"):
                made.append(("ReservedStageName", line, f"Stage name should not use the same name as reserved stage {name!r}"))
            word = re.search(r"\s(as)\s", rest, re.I)
            if word and word[1].isupper() != verb.isupper():
                made.append(("FromAsCasing", line, f"'{word[1]}' and '{verb}' keywords' casing do not match"))
            names[name.lower()] = line
        for variable in re.findall(r"\$\{?(\w+)", image):
            if variable not in arguments and not variable.startswith(("TARGET", "BUILD")):
                made.append(("UndefinedArgInFrom", line, f"FROM argument '{variable}' is not declared"))
        if re.match(r"--platform=\$\{?TARGETPLATFORM\}?\s", rest):
            made.append(("RedundantTargetPlatform", line, "Setting platform to predefined $TARGETPLATFORM in FROM is "
                         "redundant as this is the default behavior"))
        last = {"CMD": None, "ENTRYPOINT": None, "HEALTHCHECK": None}
        based = any(image.lower() == other for other in names)
        placed = based
        for line, verb, rest in lines[1:]:
            upper = verb.upper()
            if upper in last:
                if last[upper]:
                    made.append(("MultipleInstructionsDisallowed", last[upper], f"Multiple {upper} instructions should "
                                 "not be used in the same stage because only the last one will be used"))
                last[upper] = line
            if upper == "WORKDIR":
                if not placed and not rest.startswith(("/", "$", '"/')):
                    made.append(("WorkdirRelativePath", line, f"Relative workdir {rest!r} can have unexpected results if "
                                 "the base image changes"))
                placed = True
            made += of_instruction(line, upper, rest)
    for line, verb, rest in [*stages.first, *(one for _, _, lines in stages.all for one in lines)]:
        if verb != usual(verb):
            made.append(("ConsistentInstructionCasing", line, f"Command '{verb}' should match the case of the command "
                         f"majority ({'lowercase' if usual is str.lower else 'uppercase'})"))
    return sorted(without_skipped(stages.text, made), key=lambda one: (one[1], one[0]))


def of_instruction(line, verb, rest):
    if verb == "MAINTAINER":
        yield "MaintainerDeprecated", line, "Maintainer instruction is deprecated in favor of using label"
    if verb in ("ENV", "LABEL") and len(rest.split()) > 1 and "=" not in rest.split()[0]:
        yield ("LegacyKeyValueFormat", line, f'"{verb} key=value" should be used instead of legacy "{verb} key value" '
               "format")
    if verb in ("CMD", "ENTRYPOINT") and not rest.startswith("["):
        yield ("JSONArgsRecommended", line, f"JSON arguments recommended for {verb} to prevent unintended behavior related "
               "to OS signals")
    if verb in ("ARG", "ENV"):
        names = re.findall(r"(?:^|\s)(\w+)=", rest) or rest.split()[:1]
        for name in names:
            if SECRET.search(name) and not PUBLIC.search(name):
                yield ("SecretsUsedInArgOrEnv", line, f'Do not use ARG or ENV instructions for sensitive data ({verb} '
                       f'"{name}")')


def without_skipped(text, found):
    """`# check=skip=Rule,Other` or `skip=all` at the top."""
    skipped = re.search(r"^#\s*check\s*=\s*(?:.*;)?\s*skip=([\w,]+)", text.split("\nFROM")[0], re.M | re.I)
    names = skipped[1].split(",") if skipped else []
    return [one for one in found if "all" not in names and one[0] not in names]


def rule_page(rule):
    return DOCS + re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=JSON)(?=[A-Z])", "-", rule).lower() + "/"


def show(what, made, stages):
    """One answer for people."""
    if what == "targets":
        rows = [("TARGET", "DESCRIPTION")]
        for one in made["targets"]:
            name = one.get("name") or "(default)" if one.get("default") else one.get("name", "")
            name = f"{name} (default)" if one.get("default") and one.get("name") else name
            rows.append((name, one.get("description", "")))
        table(rows)
    elif what == "outline":
        if made.get("name") or made.get("description"):
            print(f"TARGET:      {made.get('name') or '(default)'}")
            print(*[f"DESCRIPTION: {made['description']}"] if made.get("description") else [], sep="\n")
        if made.get("args"):
            table([("BUILD ARG", "VALUE", "DESCRIPTION"),
                   *((one["name"], one.get("value", ""), one.get("description", "")) for one in made["args"])])
            print()
        for key, title in (("secrets", "SECRET"), ("ssh", "SSH")):
            if made.get(key):
                table([(title, "REQUIRED"),
                       *((one["name"], "true" if one.get("required") else "") for one in made[key])])
                print()
    else:
        found = made["warnings"]
        count = len(found)
        if not count:
            print("Check complete, no warnings found.")
            return
        print(f"Check complete, {count} warning{'s have' if count > 1 else ' has'} been found!")
        lines = stages.text.split("\n")
        for one in found:
            line = one["location"]["ranges"][0]["start"]["line"]
            print(f"\nWARNING: {one['ruleName']} - {one['url']}\n{one['detail']}\n{stages.file}:{line}")
            print("-" * 20)
            for at in range(max(1, line - 2), min(len(lines), line + 2) + 1):
                print(f"{at:4} | {'>>>' if at == line else '   '} {lines[at - 1]}")
            print("-" * 20)


def of_target(what, stages, target):
    if what == "targets":
        return targets_of(stages)
    if what == "outline":
        return outline_of(stages, target)
    warnings = []
    for rule, line, detail in found_in(stages):
        place = {"line": line, "character": 0}
        warnings.append({"ruleName": rule, "url": rule_page(rule), "detail": detail,
                         "location": {"ranges": [{"start": place, "end": place}]}})
    return {"warnings": warnings}


def dockerfile_of(name, target, at):
    """The Dockerfile of a target: its text and its name. `at` is where a path of it lies."""
    if target.get("dockerfile-inline") is not None:
        return Stages(target["dockerfile-inline"], "Dockerfile")
    named = target.get("dockerfile", "Dockerfile")
    context = at(target.get("context", "."))
    if named.startswith("cwd://"):
        path = named.removeprefix("cwd://")
    else:
        path = named if os.path.isabs(named) else os.path.join(context, named)
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            return Stages(file.read(), os.path.basename(path))
    except OSError as error:
        raise Wrong(f"target {name}: {path}: {error.strerror}") from None


def call(text, targets, printed, at):
    """`--call`: the exit code. `printed` are the targets and groups as `--print` has them."""
    what, form = asked(text, "method", ("check", "lint", "outline", "targets"))
    what = "check" if what == "lint" else what
    made, code, is_first = {}, 0, True
    for name in sorted(targets):
        stages = dockerfile_of(name, targets[name], at)
        made[name] = of_target(what, stages, targets[name])
        code = 1 if made[name].get("warnings") else code
        if form != "json":
            print(*[] if is_first else [""], name, *filter(None, [targets[name].get("description")]), "", sep="\n")
            show(what, made[name], stages)
            is_first = False
    if form == "json":
        whole = json.loads(printed)
        whole["target"] = {name: {"build": one, what: made[name]} for name, one in whole["target"].items()}
        print(json.dumps(whole, indent=2))
    return code
