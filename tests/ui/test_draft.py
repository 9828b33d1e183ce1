"""The form's text becomes a request, or says field by field what to write instead."""

from __future__ import annotations

import pytest

from cockpit.core.command import default_name
from cockpit.core.request import BadRequest
from cockpit.ui.draft import Draft, draft_of, problems, request_of
from tests.ui.lab import job, run_id


def test_a_job_survives_the_way_into_the_form_and_back() -> None:
    request = job(3).request
    assert request_of(draft_of(request), run_id(3), "me") == request


def test_a_draft_without_a_name_is_called_like_its_script() -> None:
    draft = Draft(command="python -u src/train_gpt.py --lr 3e-4")
    assert request_of(draft, run_id(1)).name == "train_gpt"
    assert default_name(("./-weird name!",)) == "weird-name"
    assert default_name(("-m", "package.train")) == "package.train"


def test_torchruns_own_options_say_the_shape_where_the_form_does_not() -> None:
    draft = Draft(command="torchrun --nnodes 2 --nproc-per-node=4 train.py")
    request = request_of(draft, run_id(1), here="/work")
    assert (request.shape, request.submitted_from) == ("2x4", "/work")
    assert request_of(Draft(command=draft.command, gpus="8"), run_id(1)).shape == "2x8"


def test_a_job_like_another_runs_where_that_one_ran() -> None:
    request = request_of(Draft(command="train.py"), run_id(1), here="/elsewhere")
    again = request_of(draft_of(request), run_id(2), here="/here")
    assert (again.workdir, again.submitted_from) == (None, "/elsewhere")


def test_an_empty_form_says_what_is_missing() -> None:
    assert set(problems(Draft())) == {"command"}


def test_each_wrong_field_says_what_to_write() -> None:
    draft = Draft(
        command="echo 'open", nodes="two", gpus="0", workdir="relative", env="A B=1", name="-x"
    )
    wrong = problems(draft)
    assert set(wrong) == {"command", "nodes", "gpus", "workdir", "env", "name"}
    assert "'two' is not a whole number" in wrong["nodes"]
    assert "KEY=value" in wrong["env"]
    with pytest.raises(BadRequest):
        request_of(draft, run_id(1))


def test_setup_lines_and_quoted_values_are_split_as_a_shell_would() -> None:
    draft = Draft(command="train.py", env="A='1 2' B=x=y", setup="module load cuda; ulimit -n 9")
    request = request_of(draft, run_id(1))
    assert request.env == {"A": "1 2", "B": "x=y"}
    assert request.setup == ("module load cuda", "ulimit -n 9")
