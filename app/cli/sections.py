"""The list of verbs as a person looks for one: by what it is for, each with its whole sentence."""

from importlib import import_module

import click

VERBS = {
    "acknowledge": "remarking:acknowledge_run",
    "agree": "opinions:agree",
    "attach": "attach:attach",
    "baseline": "baselines:baseline",
    "best": "best:best",
    "calibrate": "calibrate:calibrate",
    "check": "plans:check",
    "checks": "checks:checks",
    "compare": "comparing:compare",
    "delete": "library:delete",
    "export": "library:export",
    "facts": "hosts:facts",
    "heatmap": "heat:heatmap",
    "history": "history:history",
    "hosts": "hosts:hosts",
    "list": "library:list_runs",
    "noise": "noise:noise",
    "parse": "library:parse",
    "plan": "plans:plan",
    "quick": "runs:quick",
    "rounds": "rounds:rounds",
    "run": "runs:run",
    "salvage": "library:salvage",
    "scaling": "scaling:scaling",
    "second-opinion": "opinions:second_opinion",
    "show": "library:show",
}
"""Where in app.cli each verb is. Only the verb that is asked for is loaded: starting is part of every use."""

SECTIONS = {
    "Measure": ("quick", "facts", "plan", "check", "run", "attach", "calibrate"),
    "Hosts": ("hosts",),
    "What was measured": ("list", "show", "acknowledge", "compare", "baseline", "export", "delete"),
    "Look closer": ("history", "best", "noise", "scaling", "heatmap", "rounds", "second-opinion", "agree"),
    "Besides": ("checks", "parse", "salvage"),
}
"""The verbs of each section in the order of a first use; those that no section names follow in the last one."""

_WHOLE = 1000
"""Characters of a verb's sentence: all of them."""


class Sectioned(click.Group):
    """A group whose help lists its verbs by section, and that loads a verb when it is asked for."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return every verb."""
        return sorted({*VERBS, *super().list_commands(context)})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Return the verb `name`, or None where there is none."""
        if name not in VERBS:
            return super().get_command(context, name)
        module, _, attribute = VERBS[name].partition(":")
        command = getattr(import_module(f"app.cli.{module}"), attribute)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each section with its verbs, and the whole first sentence of each."""
        named = {name for names in SECTIONS.values() for name in names}
        others = tuple(name for name in self.list_commands(context) if name not in named)
        last = list(SECTIONS)[-1]
        for title, names in SECTIONS.items():
            rows = []
            for name in (*names, *others) if title == last else names:
                command = self.get_command(context, name)
                if command is not None and not command.hidden:
                    rows.append((name, command.get_short_help_str(_WHOLE)))
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
