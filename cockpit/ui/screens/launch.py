"""A new job: what to run and where, with the exact commands as they would be run."""

from __future__ import annotations

import getpass
import os
from dataclasses import replace

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static
from textual.widgets.input import Selection

from cockpit.core.allocate import Shortage, allocate
from cockpit.core.cluster import Cluster
from cockpit.core.command import replaced
from cockpit.core.launch_plan import preview
from cockpit.core.request import BadRequest, Request
from cockpit.core.text import visible
from cockpit.ui.actions import Context, bindings
from cockpit.ui.draft import LABELS, Draft, problems, request_of
from cockpit.ui.model import Model
from cockpit.ui.screens.frame import Framed

SHOWN_RUN = "<run id>"
"""Stands for the run id that is made when the job is queued."""
SOON_S = 0.1
"""Seconds after a key until the commands are those of what was typed."""


class Field(Input):
    """One line of the form; all of it is selected, and its beginning shown, when it is entered."""

    def __init__(self, typed: str, hint: str, name: str) -> None:
        super().__init__(typed, placeholder=hint, id=name, compact=True, select_on_focus=False)
        self.selection = Selection(len(typed), 0)

    def on_focus(self, event: events.Focus) -> None:
        if not event.from_app_focus:
            self.selection = Selection(len(self.value), 0)


class LaunchScreen(Framed):
    """The form to the left or above, the commands to the right or below."""

    CONTEXTS = (Context.FORM,)
    BINDINGS = bindings(Context.FORM)
    AUTO_FOCUS = "#command"
    DEFAULT_CSS = """
    LaunchScreen #sides { layout: horizontal; height: 1fr; }
    LaunchScreen #form { width: 1fr; padding: 0 1; height: 100%; scrollbar-gutter: stable; }
    LaunchScreen #preview { width: 1fr; padding: 0 1; height: 100%; border-left: solid $panel; }
    LaunchScreen.-narrow #sides { layout: vertical; }
    LaunchScreen.-narrow #form { width: 100%; height: auto; max-height: 65%; }
    LaunchScreen.-narrow #preview { width: 100%; height: 1fr; border: none;
        border-top: solid $panel; }
    LaunchScreen .row { height: 1; }
    LaunchScreen .label { width: 13; color: $text-muted; }
    LaunchScreen Input { width: 1fr; }
    LaunchScreen .wrong { color: $error; height: auto; display: none; padding-left: 13; }
    """

    class Submitted(Message):
        """The form was right and the person wants the job queued."""

        def __init__(self, draft: Draft, request: Request) -> None:
            super().__init__()
            self.draft = draft
            self.request = request

    class Left(Message):
        """The person went back; the form is to be kept."""

        def __init__(self, draft: Draft) -> None:
            super().__init__()
            self.draft = draft

    def __init__(self, model: Model, draft: Draft) -> None:
        super().__init__(model)
        self._draft = draft
        self._shown = ""
        self._later: Timer | None = None
        """Looks at what was typed in the meantime."""

    def body(self) -> ComposeResult:
        with Container(id="sides"):
            with VerticalScroll(id="form", can_focus=False):
                for field, typed in self._fields():
                    label, hint = LABELS[field]
                    with Horizontal(classes="row"):
                        yield Static(label, classes="label", markup=False)
                        yield Field(typed, hint, field)
                    yield Static("", id=f"wrong-{field}", classes="wrong", markup=False)
            with VerticalScroll(id="preview"):
                yield Static(id="commands")

    def _fields(self) -> list[tuple[str, str]]:
        return list(self._draft.typed.items())

    def on_resize(self) -> None:
        self.set_class(self.size.width < 110, "-narrow")

    def show(self, cluster: Cluster) -> None:
        """The nodes and what is free on them may have changed."""
        self._preview()

    @on(Input.Changed)
    def _typed(self) -> None:
        """A look costs more than a key, so that keys typed fast share one."""
        self._later = self._later or self.set_timer(SOON_S, self._preview)

    def _read(self) -> Draft:
        typed = {field: self.query_one(f"#{field}", Input).value for field in LABELS}
        return replace(self._draft, **typed)

    def _preview(self) -> None:
        """Of what stands in the form now."""
        if self._later is not None:
            self._later.stop()
        self._later, self._draft = None, self._read()
        wrong = problems(self._draft)
        for field in LABELS:
            line = self.query_one(f"#wrong-{field}", Static)
            message = wrong.get(field, "")
            is_untouched = field == "command" and not self._draft.command
            line.display = bool(message) and not is_untouched
            if line.display and line.content != f"✗ {visible(message)}":
                line.update(f"✗ {visible(message)}")
        text = self._commands(wrong)
        if text.markup != self._shown:
            self._shown = text.markup
            self.query_one("#commands", Static).update(text)

    def _commands(self, wrong: dict[str, str]) -> Content:
        if wrong:
            first = next(field for field in LABELS if field in wrong)
            label, words = LABELS[first][0], visible(wrong[first])
            return Content.styled(f"Not ready: {label}: {words}", "$warning")
        cluster = self.model.cluster
        try:
            request = request_of(self._draft, SHOWN_RUN, here=os.getcwd())
            lines = preview(cluster, request)
        except BadRequest as error:
            return Content.styled(f"✗ {visible(str(error))}", "$error")
        placed = allocate(cluster, request)
        if isinstance(placed, Shortage):
            place = Content.styled(visible(f"It would wait: {placed.reason}"), "$warning")
        else:
            nodes = ", ".join(part.node for part in placed)
            place = Content.styled(visible(f"It fits now, on {nodes}."), "$success")
        named = "" if self._draft.name else " (from the command)"
        words = f"{request.name}{named}, {request.shape}: these commands would run"
        head = Content.styled(visible(words), "bold")
        told = replaced(request.argv, request.nodes, request.gpus)
        notes = [Content.styled(visible(line), "$warning") for line in told]
        return Content("\n").join([place, *notes, head, *(Content(visible(one)) for one in lines)])

    def action_next_field(self) -> None:
        """Keys typed ahead reach the last field before the job is queued."""
        if self.focused is not None and self.focused.id == list(LABELS)[-1]:
            self.focused.call_later(self.action_submit)
        else:
            self.focus_next(Input)

    def action_submit(self) -> None:
        self._preview()
        wrong = problems(self._draft)
        if wrong:
            self.query_one(f"#{next(field for field in LABELS if field in wrong)}").focus()
            self.app.bell()
            return
        try:
            request = request_of(self._draft, self.model.new_run(), getpass.getuser(), os.getcwd())
        except BadRequest:
            self.app.bell()  # The preview says why.
            return
        self.post_message(self.Submitted(self._draft, request))

    def action_back(self) -> None:
        self.post_message(self.Left(self._read()))
