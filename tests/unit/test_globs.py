"""Which paths a content policy withholds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqty_lineage.deepagents.discretion import globs
from eqty_lineage.deepagents.discretion.globs import PatternError, Policy


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (".env*", "/.env"),
        (".env*", ".env"),
        (".env*", "/a/b/.env.local"),
        (".env*", "/.env.d/x"),
        ("*.pem", "/TLS/Server.PEM"),
        ("*.key", "C:\\keys\\server.key"),
        ("*credentials*", "/credentials/aws.json"),
        ("**/.ssh/**", "/home/x/.ssh/config"),
        ("**/.ssh/**", "~/.ssh/id"),
        ("**/.ssh/**", "/.ssh/a/b"),
        ("**/.ssh/**", "/.ssh"),
        ("/data/*.csv", "/data/x.csv"),
        ("data/*.csv", "/a/data/x.csv"),
        ("data/*.csv", "./data/x.csv"),
        ("/**", "/anything/at/all"),
        ("[ab].txt", "/b.txt"),
        ("[!a].txt", "/b.txt"),
        ("[]].txt", "/].txt"),
        ("ros\u00e9.txt", "/rose\u0301.txt"),
        ("a?c", "/abc"),
        ("payroll/", "/app/payroll/2026/jan.csv"),
        ("/payroll/", "/payroll/x"),
    ],
)
def test_what_fits(pattern: str, path: str):
    assert Policy([pattern]).fits(path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (".env*", "/env"),
        ("*.pem", "/pem"),
        ("**/.ssh/**", "/home/ssh/config"),
        ("/data/*.csv", "/a/data/x.csv"),
        ("/data/*.csv", "/data/deeper/x.csv"),
        ("data/*.csv", "/mydata/x.csv"),
        ("[!a].txt", "/a.txt"),
        ("*.key", "/" + "x" * 5_000 + ".key"),
        (".env*", ""),
    ],
)
def test_what_does_not(pattern: str, path: str):
    assert not Policy([pattern]).fits(path)


@pytest.mark.parametrize(
    "patterns",
    [
        ["["],
        ["[a"],
        ["a[b/c]"],
        [""],
        [" "],
        ["/"],
        [3],
        [None],
        "*.pem",
        b"*.pem",
        7,
        None,
        ["a**b"],
        ["***"],
        ["../x"],
        ["./x"],
        ["a\\b"],
        ["!x"],
        ["~/x"],
        ["{a,b}"],
        ["a\0"],
    ],
)
def test_malformed_patterns_are_refused(patterns: Any):
    with pytest.raises(PatternError):
        Policy(patterns)


def test_the_default_is_a_policy():
    assert Policy().patterns == globs.DEFAULT


def test_what_a_command_names():
    policy = Policy()
    assert policy.path_in("cat /app/.env | head") == "/app/.env"
    assert policy.path_in("cp 'my credentials.json' x") == "credentials.json"
    assert policy.path_in("openssl rsa -in=server.key") == "server.key"
    assert policy.path_in("ls -la /app") is None


@given(st.text(alphabet="/.abk*\\ env", max_size=30))
def test_any_path_can_be_asked_about_twice(path: str):
    policy = Policy()
    assert policy.fits(path) == policy.fits(path) == Policy().fits(path)


def test_what_is_remembered_is_bounded():
    policy = Policy()
    for number in range(10_000):
        policy.fits(f"/{number}")
    assert policy.fits("/.env")
    assert len(policy._known) <= 4_096
