"""The files to deploy workers with: by linters and schemas that exist offline, and by what the programs in them are."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import compose_spec
import kubernetes_validate
import pytest
from jsonschema import Draft202012Validator
from typer.main import get_command

from bench.scale_model import measured
from strands_cli.cli.commands.ages import age_in_seconds
from strands_cli.cli.program import program
from strands_cli.store_place import is_address, secret_reference, without_password
from tests.docs.pages import CLONE
from tests.yaml_texts import read_yaml

pytestmark = pytest.mark.deploy

DEPLOY = CLONE / "examples" / "deploy"
MANIFESTS = sorted(path for path in (DEPLOY / "kubernetes").glob("*.yaml") if path.name != "kustomization.yaml")
# Versions of Kubernetes in use when this was written.
KUBERNETES = ("1.32", "1.37")
# Of one worker when many runs begin at once: 11 of the queues, 2 for their numbers, 5 of the store, 2 for its lock and
# what it recovers.
MOST_CONNECTIONS = 20
# What Postgres has for all who are no superusers, unless its settings were changed; some for other commands.
ADMITTED = 100 - 3 - 10
KEDA = ("ScaledObject", "TriggerAuthentication")
SCHEMAS = json.loads((Path(__file__).parent / "keda.schema.json").read_text(encoding="utf-8"))
SECRET_NAMES = re.compile(r"KEY|PASSWORD|SECRET|TOKEN", re.IGNORECASE)
HADOLINT = str(Path(sys.executable).with_name("hadolint"))


def manifest(name: str) -> Any:
    return read_yaml((DEPLOY / "kubernetes" / f"{name}.yaml").read_text(encoding="utf-8"))


def compose() -> Any:
    return read_yaml((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


def pods() -> Iterator[tuple[str, Any]]:
    """Yield the specification of each pod that the manifests make."""
    for path in MANIFESTS:
        document = read_yaml(path.read_text(encoding="utf-8"))
        spec = document.get("spec", {})
        spec = spec.get("jobTemplate", {}).get("spec", spec)
        if "template" in spec:
            yield path.name, spec["template"]["spec"]


def containers() -> Iterator[tuple[str, Any, Any]]:
    for name, pod in pods():
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            yield f"{name}:{container['name']}", pod, container


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yield the words after `strands` of each container."""
    for name, service in compose()["services"].items():
        if "build" in service:
            yield f"compose.yaml:{name}", service["command"]
    for name, _, container in containers():
        yield name, container["args"]


def option(words: list[str], name: str) -> str:
    return next(word.partition("=")[2] for word in words if word.startswith(f"{name}="))


def lint(path: Path) -> list[Any]:
    ran = subprocess.run([HADOLINT, "--format", "json", str(path)], capture_output=True, text=True, check=False)
    return list(json.loads(ran.stdout))


# The image.


def test_the_container_file_has_no_finding_of_hadolint(tmp_path: Path) -> None:
    assert lint(DEPLOY / "Containerfile") == []
    broken = tmp_path / "Containerfile"
    broken.write_text("FROM python\nRUN cd /x && pip install strands-cli\n", encoding="utf-8")
    assert {"DL3006", "DL3013"} <= {one["code"] for one in lint(broken)}


def test_the_image_is_pinned_and_runs_as_a_user_without_rights() -> None:
    lines = [line for line in (DEPLOY / "Containerfile").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    bases = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert bases
    assert all(re.fullmatch(r"[\w./-]+:\d+\.\d+\.\d+[\w.-]*", base) for base in bases), bases
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[-1]), "Kubernetes compares numbers with runAsNonRoot"
    given = " ".join(line for line in lines if line.startswith(("ENV", "ARG")))
    assert not SECRET_NAMES.search(given)
    assert not [line for line in lines if line.startswith("ADD ")]


def test_the_image_has_this_version_of_each_distribution() -> None:
    pinned = dict(re.findall(r"^(strands-[\w-]+)(?:\[[\w,-]+\])?==([\d.]+)$", requirements(), re.M))
    assert {"strands-cli", "strands-cli-workers", "strands-cli-postgres"} <= pinned.keys()
    for name, version in pinned.items():
        folder = CLONE if name == "strands-cli" else CLONE / "packages" / name
        module = "__about__.py" if name == "strands-cli" else "__init__.py"
        package = folder / "src" / name.replace("-", "_") / module
        assert f'__version__ = "{version}"' in package.read_text(encoding="utf-8"), name
    extras = re.findall(r"^strands-cli\[([\w,-]+)\]", requirements(), re.M)[0].split(",")
    project = tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras) <= project["optional-dependencies"].keys()


def requirements() -> str:
    return (DEPLOY / "requirements.txt").read_text(encoding="utf-8")


def test_the_first_program_gives_keys_in_files_as_variables(tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "store_password", "notes"):
        (tmp_path / name).write_text(f"value of {name}\n", encoding="utf-8")
    (tmp_path / "strands").write_text('#!/bin/sh\necho "$OPENAI_API_KEY|${store_password:-}|$*"\n', encoding="utf-8")
    (tmp_path / "strands").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SECRETS_DIRECTORY": str(tmp_path)}
    words = [str(DEPLOY / "start"), "worker", "--queue=a b"]
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == "value of OPENAI_API_KEY||worker --queue=a b\n"


# What runs in it.


@pytest.mark.parametrize(("place", "words"), [*commands()], ids=lambda value: value if isinstance(value, str) else None)
def test_every_command_has_its_options(place: str, words: list[str]) -> None:
    command, rest = get_command(program), list(words)
    while hasattr(command, "get_command"):
        name = rest.pop(0)
        command = command.get_command(command.context_class(command), name)
        assert command is not None, f"{place}: there is no command {name}"
    command.make_context(words[0], rest)


def test_a_worker_is_not_killed_while_it_drains() -> None:
    worker = compose()["services"]["worker"]
    assert age_in_seconds(worker["stop_grace_period"], "") > drain(worker["command"])
    pod = manifest("worker")["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > drain(pod["containers"][0]["args"])


def drain(words: list[str]) -> float:
    return age_in_seconds(option(words, "--drain-timeout"), "--drain-timeout")


def test_variables_are_those_that_something_reads() -> None:
    page = (CLONE / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")
    services = compose()["services"].values()
    given = {name for service in services if "build" in service for name in service["environment"]}
    given |= {each["name"] for _, _, container in containers() for each in container.get("env", ())}
    assert "STRANDS_STORE" in given
    assert [name for name in given if f"`{name}`" not in page] == []


def test_addresses_have_references_in_place_of_passwords() -> None:
    addresses = [
        service["environment"]["STRANDS_STORE"] for service in compose()["services"].values() if "build" in service
    ]
    addresses.append(manifest("config-map")["data"]["STRANDS_STORE"])
    for address in addresses:
        assert is_address(address)
        assert secret_reference(address) == (
            "{file:/run/secrets/store_password}",
            "file",
            "/run/secrets/store_password",
        )
        assert without_password(address) == address


def test_the_policies_and_the_workflow_are_valid(tmp_path: Path) -> None:
    shown = manifest("config-map")["data"]
    assert read_yaml(shown["policy.yaml"]) == read_yaml((DEPLOY / "policy.yaml").read_text(encoding="utf-8"))
    (tmp_path / "digest.yaml").write_text(shown["digest.yaml"], encoding="utf-8")
    shutil.copy(DEPLOY / "policy.yaml", tmp_path / "strands-policy.yaml")
    for words in (["validate"], ["explain", "policy", "native:calculator"]):
        command = [sys.executable, "-m", "strands_cli", *words, "digest.yaml"]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr


# Compose.


def test_the_compose_file_fits_the_specification() -> None:
    checked = compose_spec.PyCompose.from_json(json.dumps(compose()))
    for check in (
        checked.validate_networks,
        checked.validate_secrets,
        checked.validate_volumes,
        checked.validate_configs,
    ):
        check()
    broken = compose()
    broken["services"]["worker"]["secrets"].append("no-such-secret")
    with pytest.raises(ValueError, match="no-such-secret"):
        compose_spec.PyCompose.from_json(json.dumps(broken)).validate_secrets()


def test_services_of_ours_have_no_rights_and_write_nowhere_else() -> None:
    for name, service in compose()["services"].items():
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert re.search(r":\d+\.\d+", service["image"]), f"{name}: a version"
        for variable, value in service["environment"].items():
            assert not SECRET_NAMES.search(variable) or variable.endswith("_FILE"), (name, variable, value)
        if "build" in service:
            assert service["read_only"] is True, name
            assert not service.get("ports"), name


# Kubernetes.


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_manifests_fit_the_schemas_of_kubernetes(path: Path) -> None:
    document = read_yaml(path.read_text(encoding="utf-8"))
    if document["kind"] in KEDA:
        Draft202012Validator(SCHEMAS[document["kind"]]).validate(document)
        return
    for version in KUBERNETES:
        kubernetes_validate.validate(document, version, strict=True)


def test_the_schemas_find_a_misspelt_field() -> None:
    document = manifest("worker")
    document["spec"]["template"]["spec"]["containers"][0]["livenessProb"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="livenessProb"):
        kubernetes_validate.validate(document, KUBERNETES[-1], strict=True)
    scaled = manifest("scaled-object")
    scaled["spec"]["triggers"][0]["metadata"]["targetQuery"] = "1"
    assert not Draft202012Validator(SCHEMAS["ScaledObject"]).is_valid(scaled)


def test_the_kustomization_has_every_manifest_and_pins_the_image() -> None:
    kustomization = manifest("kustomization")
    assert sorted(kustomization["resources"]) == [path.name for path in MANIFESTS]
    (image,) = kustomization["images"]
    assert {container["image"] for _, _, container in containers()} == {image["name"]}
    assert f"strands-cli[openai,otel]=={image['newTag']}\n" in requirements()


@pytest.mark.parametrize(
    ("place", "pod", "container"), [*containers()], ids=lambda value: value if isinstance(value, str) else ""
)
def test_containers_run_as_a_user_without_rights_on_a_read_only_system(place: str, pod: Any, container: Any) -> None:
    context = container["securityContext"]
    assert context["readOnlyRootFilesystem"] is True
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    user = next(line for line in (DEPLOY / "Containerfile").read_text().splitlines() if line.startswith("USER "))
    assert f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" == user.split()[1]
    assert {"cpu", "memory"} <= container["resources"]["limits"].keys()
    assert container["resources"]["requests"]


@pytest.mark.parametrize(
    ("place", "pod", "container"), [*containers()], ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_containers_mount_and_read_exists(place: str, pod: Any, container: Any) -> None:
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    secret, config = manifest("secret"), manifest("config-map")
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    assert {mount["name"] for mount in mounts.values()} <= volumes.keys()
    for mount in mounts.values():
        volume = volumes[mount["name"]]
        assert mount.get("readOnly") or "emptyDir" in volume, f"{place}: {mount}"
        if "secret" in volume:
            assert volume["secret"]["secretName"] == secret["metadata"]["name"]
            assert {item["key"] for item in volume["secret"].get("items", ())} <= secret["stringData"].keys()
        if "configMap" in volume:
            assert volume["configMap"]["name"] == config["metadata"]["name"]
    for each in container.get("env", ()):
        source = each.get("valueFrom", {}).get("configMapKeyRef")
        assert source is None or (source["name"] == config["metadata"]["name"] and source["key"] in config["data"])
    for word in container["args"]:
        path = word.partition("=")[2]
        if path.startswith("/"):
            assert Path(path).parent.as_posix() in mounts, f"{place}: {word} is in no volume"
    assert pod["serviceAccountName"] == manifest("service-account")["metadata"]["name"]


def test_the_secret_has_no_value() -> None:
    assert set(manifest("secret")["stringData"].values()) == {"REPLACE-ME"}


def test_selectors_select_the_workers() -> None:
    labels = manifest("worker")["spec"]["template"]["metadata"]["labels"]
    assert manifest("worker")["spec"]["selector"]["matchLabels"] == labels
    assert manifest("disruption-budget")["spec"]["selector"]["matchLabels"] == labels


def test_workers_are_scaled_by_what_each_takes_and_as_far_as_there_are_connections() -> None:
    scaled = manifest("scaled-object")["spec"]
    assert scaled["scaleTargetRef"]["name"] == manifest("worker")["metadata"]["name"]
    assert "replicas" not in manifest("worker")["spec"]
    words = manifest("worker")["spec"]["template"]["spec"]["containers"][0]["args"]
    (trigger,) = scaled["triggers"]
    assert trigger["metadata"]["targetQueryValue"] == option(words, "--concurrency")
    assert f"queue_name = '{option(words, '--queue')}'" in trigger["metadata"]["query"]
    assert measured().connections <= MOST_CONNECTIONS
    assert scaled["maxReplicaCount"] * MOST_CONNECTIONS <= ADMITTED, "else the last worker to start finds none free"
    authentication = manifest("trigger-authentication")
    assert trigger["authenticationRef"]["name"] == authentication["metadata"]["name"]
    (reference,) = authentication["spec"]["secretTargetRef"]
    assert reference["key"] in manifest("secret")["stringData"]
