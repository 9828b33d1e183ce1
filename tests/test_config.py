"""cockpit.toml: what people write, and the one sentence they get for what is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cockpit.config import Config, ConfigError, NodeConfig, find, load

GOOD = """
version = 1
[cluster]
name = "lab"
[nodes.gpu1]
address = "10.0.0.1"
user = "me"
port = 2222
slots = 4
interface = "eth1"
python = "/opt/python"
workdir = "/work"
state_dir = "/scratch"
env = { HF_HOME = "/data/hf" }
[nodes."gpu2.lab"]
"""


def read(tmp_path: Path, text: str | bytes) -> Config:
    path = tmp_path / "cockpit.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load(path)


def test_everything_that_can_be_said(tmp_path: Path) -> None:
    config = read(tmp_path, GOOD)
    assert config.name == "lab"
    first, second = config.nodes
    env = {"HF_HOME": "/data/hf"}
    assert first == NodeConfig(
        "gpu1", "10.0.0.1", "me", 2222, 4, "eth1", "/opt/python", "/work", env, "/scratch"
    )
    assert second == NodeConfig("gpu2.lab", "gpu2.lab")


def test_a_mark_of_windows_editors_at_the_beginning_is_no_mistake(tmp_path: Path) -> None:
    assert read(tmp_path, b"\xef\xbb\xbf[nodes.a]\r\n").nodes == (NodeConfig("a", "a"),)


@pytest.mark.parametrize(
    ("text", "line", "cure"),
    [
        ("[nodes.a]\naddress = \u201c10.0.0.1\u201d", 2, 'typographic quotes: write " instead'),
        ("[nodes.a]\nuser = \u2018me\u2019", 2, 'typographic quotes: write " instead'),
        ('[nodes.a]\nworkdir = "C:\\Users\\me"', 2, "a backslash escapes"),
        ("[nodes.a]\nport = 022", 2, "a number may not begin with 0"),
        ("[nodes.a]\naddress = 10.0.0.1", 2, "put it in quotes"),
        ("[nodes.a]\naddress = gpu1.lab", 2, "put it in quotes"),
        ("[nodes.a]\naddress = gpu1", 2, "put it in quotes"),
        ("[nodes.a]\naddress = fe80::1", 2, "put it in quotes"),
        ('[nodes.a]\nuser = "x"\nuser = "y"', 3, "written twice"),
        ("[nodes.a]\n[nodes.b]\n[nodes.a]", 3, "written twice"),
        ("[nodes]\n\ngpu1.lab = {}", 3, 'write [nodes."gpu1.lab"]'),
        ("[nodes.gpu1.lab.example]\nport = 1", 1, 'write [nodes."gpu1.lab.example"]'),
        ("[nodes.a]\nadress = 'x'", 2, "did you mean `address`?"),
        ("[node.a]\naddress = 'x'", 1, "did you mean `nodes`?"),
        ("[cluster]\nnmae = 'x'\n[nodes.a]", 2, "did you mean `name`?"),
        ("[nodes.a]\nzzz = 1", 2, "known: address"),
        ("[nodes.a]\nport = '22'", 2, "must be a whole number"),
        ("[nodes.a]\nport = true", 2, "must be a whole number"),
        ("[nodes.a]\nport = 70000", 2, "between 1 and 65535"),
        ("[nodes.a]\nslots = 0", 2, "1 or more"),
        ("[nodes.a]\nuser = 5", 2, "must be text in quotes"),
        ("[nodes.a]\nuser = '-oProxyCommand=x'", 2, "not usable"),
        ("[nodes.a]\naddress = ' '", 2, "not usable"),
        ("[nodes.a]\n[nodes.a.env]\nN = 4", 3, "must be text in quotes"),
        ("[nodes.a]\n[nodes.a.env]\nN-M = '4'", 3, "not the name of a variable"),
        ("[nodes.a]\nenv = 'x'", 2, "must be a table"),
        ("[nodes.a]\nworkdir = 'work'", 2, "must be an absolute path"),
        ("[nodes.a]\nstate_dir = 'x'", 2, "must be an absolute path"),
        ("[nodes.'a b']", 1, "must match"),
        ("[cluster]\nname = '../x'\n[nodes.a]", 2, "must match"),
        ("nodes = 5", 1, "must be a table"),
        ("[nodes]\na = 5", 2, "must be a table"),
        ("version = 2\n[nodes.a]", 1, "this cockpit reads version 1"),
        ("[nodes.a]\nuser = 'x'\n[nodes.b]\nuser = 5", 4, "must be text in quotes"),
        ("[nodes.a\n", 1, ""),
    ],
)  # fmt: skip
def test_a_mistake_is_said_with_its_line_and_its_cure(
    tmp_path: Path, text: str, line: int, cure: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert re.match(rf"{re.escape(str(tmp_path))}/cockpit\.toml, line {line}: ", message), message
    assert cure in message
    assert "Traceback" not in message


def test_text_in_another_encoding_names_line_and_cure(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"line 3: not UTF-8.*save it as UTF-8"):
        read(tmp_path, "[nodes.a]\n\nworkdir = '/é'".encode("latin-1"))
    with pytest.raises(ConfigError, match="save it as UTF-8"):
        read(tmp_path, "[nodes.a]".encode("utf-16"))


def test_the_caret_stands_below_the_place(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, "[nodes.a]\nport = 022")
    _, line, caret, _ = str(caught.value).split("\n")
    assert line[caret.index("^")] in "02"


@pytest.mark.parametrize("text", ["", "[cluster]\nname = 'x'", "# nothing\n", "[nodes]"])
def test_an_inventory_without_nodes_says_how_to_get_some(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="cockpit init"):
        read(tmp_path, text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*missing\.toml"):
        load(tmp_path / "missing.toml")
    with pytest.raises(ConfigError, match="cannot read"):
        load(tmp_path)


def test_the_nearest_file_upwards_is_taken_then_the_persons_own(tmp_path: Path) -> None:
    deep = tmp_path / "project" / "a" / "b"
    deep.mkdir(parents=True)
    own = tmp_path / "home" / "cockpit" / "cockpit.toml"
    own.parent.mkdir(parents=True)
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "home")}
    assert find(deep, environ) is None
    own.touch()
    assert find(deep, environ) == own
    upwards = tmp_path / "project" / "cockpit.toml"
    upwards.touch()
    assert find(deep, environ) == upwards
