"""The files of cluster/, checked by the tools that read them."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from seedwise.search.commands import search
from seedwise.search.commands.main import parser
from tests.conftest import ROOT

CLUSTER = ROOT / "cluster"
BIN = Path(sys.executable).parent


def documents():
    return list(yaml.safe_load_all((CLUSTER / "rayjob.yaml").read_text()))


def of_kind(kind, name):
    return next(
        document for document in documents() if document["kind"] == kind and document["metadata"]["name"] == name
    )


def test_all_files_name_one_version_of_ray_and_it_is_one_that_the_package_allows():
    versions = set()
    for path in CLUSTER.iterdir():
        versions.update(re.findall(r"\bray(?:Version)?(?:: ?|==)(\d+\.\d+\.\d+)", path.read_text()))
    (version,) = versions
    of_ray = [requirement for requirement in map(Requirement, requires("seedwise")) if requirement.name == "ray"]
    assert of_ray[0].specifier.contains(version)


def test_the_guide_names_every_file_and_its_commands_are_taken():
    guide = (ROOT / "docs" / "cluster.md").read_text()
    assert {path.name for path in CLUSTER.iterdir()} == set(re.findall(r"`cluster/([\w.]+)`", guide))
    commands = re.findall(r"seedwise ((?:search|resume|submit|job|track|status|report) [^`#\n]+)", guide)
    assert len(commands) > 10
    for line in commands:
        parser().parse_args(shlex.split(line))


@pytest.fixture(params=["aws", "local"])
def ray_up(request):
    return yaml.safe_load((CLUSTER / f"{request.param}.yaml").read_text())


def test_rays_own_validation_takes_the_file_and_refuses_a_misspelt_key(ray_up):
    from jsonschema import ValidationError
    from ray.autoscaler._private.util import prepare_config, validate_config

    validate_config(prepare_config(ray_up))
    with pytest.raises(ValidationError, match="idle_timeout"):
        validate_config(prepare_config({**ray_up, "idle_timeout": 5}))


def test_ray_start_knows_the_options_and_only_who_has_the_token_gets_in(ray_up):
    from ray.scripts.scripts import start

    heads, workers = ray_up["head_start_ray_commands"], ray_up["worker_start_ray_commands"]
    for line in (heads[-1], workers[-1]):
        mode, ray, verb, *options = shlex.split(line.rpartition("; ")[2])
        assert (mode, ray, verb) == ("RAY_AUTH_MODE=token", "ray", "start")
        parameters = start.make_context("start", options).params
        assert parameters["head"] == (line is heads[-1])
        assert not parameters["head"] or parameters["dashboard_host"] == "127.0.0.1"
    assert any(remote.endswith("/.ray/auth_token") for remote in ray_up["file_mounts"])


def test_in_the_cloud_no_run_is_on_the_head_and_some_workers_are_spot_machines():
    from ray.autoscaler._private.util import prepare_config

    cluster = prepare_config(yaml.safe_load((CLUSTER / "aws.yaml").read_text()))
    types = cluster["available_node_types"]
    assert types[cluster["head_node_type"]]["resources"] == {"CPU": 0}
    spot = {name for name, kind in types.items() if "InstanceMarketOptions" in kind["node_config"]}
    assert spot == {"gpu-spot"}
    assert cluster["max_workers"] == sum(kind["max_workers"] for kind in types.values())


# Fields of KubeRay's RayJob that we use, with their types, by its API reference (ray.io/v1). No package has the schema.
CLUSTER_SPEC = {
    "rayVersion": str,
    "authOptions": {"mode": str},
    "enableInTreeAutoscaling": bool,
    "autoscalerOptions": {"idleTimeoutSeconds": int},
    "headGroupSpec": {"rayStartParams": dict, "template": dict},
    "workerGroupSpecs": [
        {
            "groupName": str,
            "replicas": int,
            "minReplicas": int,
            "maxReplicas": int,
            "rayStartParams": dict,
            "template": dict,
        }
    ],
}
JOB_SPEC = {
    "entrypoint": str,
    "backoffLimit": int,
    "shutdownAfterJobFinishes": bool,
    "ttlSecondsAfterFinished": int,
    "rayClusterSpec": CLUSTER_SPEC,
}


def assert_typed(value, expected):
    if isinstance(expected, dict):
        assert set(value) == set(expected)
        for key in expected:
            assert_typed(value[key], expected[key])
    elif isinstance(expected, list):
        for item in value:
            assert_typed(item, expected[0])
    else:
        assert type(value) is expected


def pods():
    """Every pod template of the file as a resource of its own, Ray's included."""
    ray = of_kind("RayJob", "seedwise")["spec"]["rayClusterSpec"]
    groups = [ray["headGroupSpec"], *ray["workerGroupSpecs"]]
    templates = [document["spec"]["template"] for document in documents() if "template" in document.get("spec", {})]
    for template in [*templates, *(group["template"] for group in groups)]:
        yield {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "one"}, "template": template}


@pytest.mark.parametrize("version", ["1.28", "newest"])
def test_every_resource_and_pod_is_valid_in_kubernetes_strict_schemas(version):
    kubernetes = pytest.importorskip("kubernetes_validate", reason="pip install -e .[test]")
    version = kubernetes.latest_version() if version == "newest" else version
    known = [document for document in documents() if document["kind"] != "RayJob"]
    assert len(known) + 1 == len(documents())
    for document in [*known, *pods()]:
        kubernetes.validate(document, version, strict=True)
    misspelt = {**known[0], "spec": {**known[0]["spec"], "port": []}}
    with pytest.raises(kubernetes.ValidationError):
        kubernetes.validate(misspelt, version, strict=True)


def test_rays_autoscaler_reads_gpu_workers_and_a_head_without_runs_out_of_the_job():
    from ray.autoscaler._private.kuberay.autoscaling_config import _derive_autoscaling_config_from_ray_cr

    spec = of_kind("RayJob", "seedwise")["spec"]
    assert_typed(spec, JOB_SPEC)
    custom_resource = {"metadata": {"name": "seedwise", "namespace": "default"}, "spec": spec["rayClusterSpec"]}
    types = _derive_autoscaling_config_from_ray_cr(custom_resource)["available_node_types"]
    assert types["headgroup"]["resources"]["CPU"] == 0
    assert types["gpu"]["resources"] == {"CPU": 8, "GPU": 1, "memory": 32 << 30}
    assert (types["gpu"]["min_workers"], types["gpu"]["max_workers"]) == (1, 8)


def test_the_job_calls_a_search_that_our_own_command_line_takes():
    name, *arguments = shlex.split(of_kind("RayJob", "seedwise")["spec"]["entrypoint"])
    options = parser().parse_args(arguments)
    assert (name, options.command, options.address) == ("seedwise", search.run, "auto")
    head = of_kind("RayJob", "seedwise")["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    mounts = {mount["mountPath"] for mount in head["containers"][0]["volumeMounts"]}
    assert {str(options.out.parent), str(Path(options.spec).parent)} <= mounts
    (uri,) = [change.removeprefix("tracking.uri=") for change in options.set if change.startswith("tracking.uri=")]
    service = of_kind("Service", "mlflow")
    assert uri == f"http://mlflow:{service['spec']['ports'][0]['port']}"


def test_passwords_are_by_reference_alone_and_everything_that_is_referred_to_is_there():
    text = (CLUSTER / "rayjob.yaml").read_text()
    assert not [document for document in documents() if document["kind"] == "Secret"]
    labels = []
    claims = {document["metadata"]["name"] for document in documents() if document["kind"] == "PersistentVolumeClaim"}
    for pod in pods():
        labels.append(pod["template"]["metadata"]["labels"])
        spec = pod["template"]["spec"]
        for variable in spec["containers"][0].get("env", []):
            if "PASSWORD" in variable["name"]:
                secret = variable["valueFrom"]["secretKeyRef"]
                assert f"create secret generic {secret['name']} --from-literal={secret['key']}=" in text
            assert not re.search(r"://\w+:[^$]", variable.get("value", ""))
        for volume in spec.get("volumes", []):
            if "configMap" in volume:
                assert f"create configmap {volume['configMap']['name']} " in text
            else:
                assert volume["persistentVolumeClaim"]["claimName"] in claims
    for document in documents():
        if document["kind"] in ("Service", "NetworkPolicy"):
            wanted = document["spec"].get("selector") or document["spec"]["podSelector"]["matchLabels"]
            assert any(wanted.items() <= of_pod.items() for of_pod in labels)


def test_mlflow_knows_the_options_of_its_server():
    from mlflow.cli import server

    (container,) = of_kind("Deployment", "mlflow")["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["mlflow", "server"]
    options = server.make_context("server", list(container["args"])).params
    assert (options["port"], options["artifacts_destination"]) == (5000, "/artifacts")
    assert "mlflow:5000" in options["allowed_hosts"].split(",")


@pytest.mark.parametrize(("linter", "name"), [("hadolint", "Dockerfile"), ("shellcheck", "slurm.sh")])
def test_the_cluster_files_pass_their_linters(linter, name):
    program = shutil.which(linter, path=f"{BIN}{os.pathsep}{os.environ['PATH']}")
    if not program:
        pytest.skip(f"{linter} is not installed: pip install -e .[test]")
    subprocess.run([program, str(CLUSTER / name)], check=True)


def test_the_image_has_every_package():
    copied = re.findall(r"^COPY --chown=\S+ (.+) \S+$", (CLUSTER / "Dockerfile").read_text(), re.MULTILINE)
    names = {name for line in copied for name in line.split()}
    packages = re.search(r"find_packages\(include=\[(.+)\]\)", (ROOT / "setup.py").read_text()).group(1)
    assert {name.strip('"*') for name in packages.split(", ")} <= names
    assert all((ROOT / name).exists() for name in names)
