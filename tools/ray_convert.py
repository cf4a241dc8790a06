#!/usr/bin/env python3
"""Runs the jobs of `hexlane convert --plan` on a Ray cluster.

    hexlane convert MODEL -o PKG --soc SM8550,SM8650 --plan jobs.json
    tools/ray_convert.py jobs.json                      a Ray of this machine's own
    tools/ray_convert.py --address HOST:6379 A.json B.json

Several plans may be given. What is made is the same, byte for byte, as the plain commands make.
Every machine needs the same files at the same paths: the program, the model, the output's folder.
A job runs where the memory that it asks for is free; one whose machine is lost runs again
elsewhere and goes on after what was finished. The exit code is 1 when a job failed.

Needs Ray: python3 -m venv DIR; DIR/bin/pip install the [ray] packages of tools/python-packages.txt
(bench/ray.sh does so). It is not part of what tools/setup.sh installs.
"""

import argparse
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time

try:
    import ray
except ModuleNotFoundError:
    ray = None  # said when it is needed: --help needs none

RETRIES = 2  # of a job whose machine was lost


def end_with_parent():
    """The job's command is interrupted when its Ray worker is gone."""
    ctypes.CDLL(None).prctl(1, signal.SIGINT)  # PR_SET_PDEATHSIG


def run_job(job, *_finished):
    start = time.monotonic()
    done = subprocess.run(
        job["command"], capture_output=True, text=True, errors="replace", preexec_fn=end_with_parent
    )
    if done.returncode != 0:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr.strip()}")
    missing = [path for path in job["outputs"] if not os.path.exists(path)]
    if missing:
        raise RuntimeError(f"{socket.gethostname()} does not see {missing[0]}: is it on a shared file system?")
    return {"host": socket.gethostname(), "seconds": time.monotonic() - start}


def read_plan(path):
    try:
        with open(path, encoding="utf-8") as file:
            plan = json.load(file)
        if plan["format"] != 1:
            sys.exit(f"{path}: want a plan of format 1, got {plan['format']}")
        ids = {job["id"] for job in plan["jobs"]}
        for job in plan["jobs"]:
            unknown = set(job["dependencies"]) - ids
            if unknown:
                sys.exit(f"{path}: job {job['id']} waits for {unknown.pop()}, which is no job of the plan")
            if not isinstance(job["memory_bytes"], int) or not isinstance(job["command"], list):
                sys.exit(f"{path}: job {job['id']} has no command, or no memory_bytes")
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"{path} is not a plan of hexlane convert --plan: {type(error).__name__}: {error}")
    return plan


def check_memory(plans):
    """Ray waits for ever for memory that no machine has."""
    most = max(node["Resources"].get("memory", 0) for node in ray.nodes() if node["Alive"])
    for plan in plans:
        for job in plan["jobs"]:
            if job["memory_bytes"] > most:
                sys.exit(
                    f"{job['id']} needs {job['memory_bytes'] >> 20} MiB, and the largest machine "
                    f"gives {int(most) >> 20} MiB: plan with less --memory, or add a machine"
                )


def submit(plan):
    """id -> reference; in the plan's order, in which dependencies come first."""
    references = {}
    for job in plan["jobs"]:
        task = ray.remote(run_job).options(
            num_cpus=1, memory=job["memory_bytes"], max_retries=RETRIES, name=job["id"]
        )
        references[job["id"]] = task.remote(job, *(references[id] for id in job["dependencies"]))
    return references


def report(name, reference):
    """Whether the job succeeded."""
    try:
        done = ray.get(reference)
        print(f"{name}: {done['seconds']:.1f} s on {done['host']}", flush=True)
        return True
    except ray.exceptions.RayTaskError as error:
        print(f"{name}: {error.cause}", file=sys.stderr)
    except ray.exceptions.RayError as error:
        print(f"{name}: {error}", file=sys.stderr)
    return False


def collect(plans):
    names, failed = {}, 0
    for plan in plans:
        for id, reference in submit(plan).items():
            names[reference] = f"{os.path.basename(plan['package'])} {id}"
    waiting = list(names)
    while waiting:
        ready, waiting = ray.wait(waiting)
        failed += sum(not report(names[reference], reference) for reference in ready)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plans", nargs="+", metavar="JOBS.json")
    parser.add_argument("--address", help="of a running cluster; otherwise Ray runs here")
    parser.add_argument("--workers", type=int, help="jobs at a time where Ray runs here (default: processors)")
    arguments = parser.parse_args()
    plans = [read_plan(path) for path in arguments.plans]
    if ray is None:
        sys.exit("Ray is not installed here: bench/ray.sh does so, or install the [ray] packages of tools/python-packages.txt")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if arguments.address:
        ray.init(address=arguments.address, log_to_driver=False)
    else:
        ray.init(num_cpus=arguments.workers, include_dashboard=False, log_to_driver=False)
    check_memory(plans)
    sys.exit(1 if collect(plans) else 0)


if __name__ == "__main__":
    main()
