"""Which names say that their value is a credential."""

import pytest

from eqty_lineage.deepagents.discretion.names import (
    REDACTED,
    is_credential,
    may_stay,
    redact_command,
    redact_quoted,
    redact_text,
)


@pytest.mark.parametrize(
    "name",
    [
        *("api_key", "API-KEY", "apiKey", "openai.api_key", "X-Api-Key", "token", "accessToken", "refresh_token"),
        *("client_secret", "clientSecret", "passwords", "Authorization", "auth", "bearer", "credentials", "passphrase"),
        *(
            "api_keys",
            "access_tokens",
            "APIToken",
            "XAPIKey",
            "accesstoken",
            "PGPASSWORD",
            "SSHPASS",
            "db_pass",
            "creds",
        ),
        *("jwt", "Set-Cookie", "privateKey", "AWS_SECRET_ACCESS_KEY", "pwd", "relative/auth"),
    ],
)
def test_names_of_credentials(name: str):
    assert is_credential(name)


@pytest.mark.parametrize(
    "name",
    [
        "secretary",
        "next_page_token",
        "primary_key",
        "key_findings",
        "map_keys",
        "src/auth.py",
        "auth.json",
        "./auth",
        "author",
        "max_tokens",
        "keyboard",
        "monkey",
        "tokens",
        "tokenizer",
        "/src/auth.py",
        "content",
        "file_path",
        "",
    ],
)
def test_names_of_other_things(name: str):
    assert not is_credential(name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api_key", None),
        ("auth", True),
        ("token", ""),
        ("token", REDACTED),
        ("input_token_details", {"cache_read": 4, "audio": [0, None], "deep": {"x": 1.5}}),
        ("token_count", 12),
    ],
)
def test_values_that_are_no_credentials(name: str, value: object):
    assert may_stay(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api_key", "x"),
        ("token", 123456),
        ("input_token_details", {"cache_read": "secret"}),
        ("input_token_details", ["secret"]),
        ("token_count", "12"),
        ("password", 1234),
    ],
)
def test_values_that_may_be_credentials(name: str, value: object):
    assert not may_stay(name, value)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Client(api_key='sk 1', region='north')", f"Client(api_key={REDACTED}, region='north')"),
        ('{"password": "a b", "n": 1}', f'{{"password": {REDACTED}, "n": 1}}'),
        ("Authorization: Bearer abc.def next", f"Authorization: {REDACTED} next"),
        ("<Client token=abc>", f"<Client token={REDACTED}"),
        ("no names here", "no names here"),
        ("author=me", "author=me"),
        (
            "C(password=b'x y', token=['a', 'b'], key=Key('z'), auth={'a': 1})",
            f"C(password={REDACTED}, token={REDACTED}, key={REDACTED}, auth={REDACTED})",
        ),
        ("api_key" * 5_000, "api_key" * 5_000),
    ],
)
def test_what_an_object_says_of_itself_names_no_credentials(text: str, left: str):
    assert redact_text(text).removesuffix(">") == left.removesuffix(">")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("login with {'api_key': 'x', 'n': 'y'}", f"login with {{'api_key': '{REDACTED}', 'n': 'y'}}"),
        ('say {"token": "a\\"b"} now', f'say {{"token": "{REDACTED}"}} now'),
        ('connect(password="x", user="u")', f'connect(password="{REDACTED}", user="u")'),
        ("the password is x", "the password is x"),
    ],
)
def test_quoted_values_in_prose(text: str, left: str):
    assert redact_quoted(text) == left


def test_commands_and_addresses():
    assert redact_command("curl --token abc --max 3 -H 'Authorization: Bearer x.y' http://h/?key=z&n=1") == (
        f"curl --token {REDACTED} --max 3 -H 'Authorization: {REDACTED}' http://h/?key={REDACTED}&n=1"
    )
