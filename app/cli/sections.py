"""The list of verbs as a person looks for one: by what it is for, each with its whole sentence."""

import click

SECTIONS = {
    "Measure": ("quick", "facts", "plan", "check", "run", "attach", "calibrate"),
    "Hosts": ("hosts",),
    "What was measured": ("list", "show", "compare", "baseline", "export", "delete"),
    "Look closer": ("history", "best", "noise", "scaling", "heatmap", "rounds", "second-opinion", "agree"),
    "Besides": ("checks", "parse", "salvage"),
}
"""The verbs of each section in the order of a first use; those that no section names follow in the last one."""

_WHOLE = 1000
"""Characters of a verb's sentence: all of them."""


class Sectioned(click.Group):
    """A group whose help lists its verbs by section."""

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
