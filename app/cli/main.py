"""The command benchwright: its verbs by section; without a verb, the window."""

from importlib import import_module

import click

from app.cli.common import LibraryLocation, print_note, report_errors, start_log
from app.command_hints import use_library
from app.library_location import Location, ServerUrl, absolute
from app.paths import secure_private_directories
from app.services import Workstation

VERBS = {
    "acknowledge": "library:acknowledge_run",
    "agree": "studies:agree",
    "attach": "runs:attach",
    "baseline": "baselines:baseline",
    "best": "studies:best",
    "burst": "studies:burst",
    "calibrate": "calibrate:calibrate",
    "check": "plans:check",
    "checks": "checks:checks",
    "compare": "studies:compare",
    "annotate": "run_list:annotate",
    "delete": "run_list:delete",
    "export": "exchange:export",
    "facts": "hosts:facts",
    "fleet": "fleet:fleet",
    "gate": "gate:gate",
    "heatmap": "studies:heatmap",
    "history": "studies:history",
    "hosts": "hosts:hosts",
    "inventory": "inventory:inventory",
    "investigation": "investigation:investigation",
    "import": "exchange:import_runs",
    "library": "library_maintenance:library",
    "list": "run_list:list_runs",
    "mappings": "mappings:mappings",
    "margins": "margins:margins",
    "noise": "studies:noise",
    "judge": "judge:judge",
    "parse": "library:parse",
    "plan": "plans:plan",
    "profile": "profiles:profile",
    "queue": "queue:queue",
    "quick": "runs:quick",
    "rejudge": "rejudge:rejudge",
    "rounds": "studies:rounds",
    "run": "runs:run",
    "restore": "run_list:restore",
    "sameness": "sameness:sameness",
    "salvage": "library:salvage",
    "scaling": "studies:scaling",
    "sample-size": "sample_size:sample_size_command",
    "schema": "schema:schema_command",
    "searches": "run_list:searches",
    "sessions": "sessions:sessions",
    "second-opinion": "runs:second_opinion",
    "show": "library:show",
    "store": "store:store",
    "worker": "worker:worker",
}
"""Module and function of each verb in app.cli, imported on use to keep start-up short."""

SECTIONS = {
    "Measure": ("quick", "facts", "plan", "check", "run", "gate", "queue", "sessions", "attach", "calibrate"),
    "Fleets": ("inventory", "sameness", "fleet", "worker"),
    "Hosts": ("hosts",),
    "Results": (
        "list",
        "show",
        "rejudge",
        "acknowledge",
        "annotate",
        "compare",
        "baseline",
        "export",
        "import",
        "mappings",
        "investigation",
        "library",
        "store",
        "delete",
        "restore",
        "searches",
    ),
    "Analysis": (
        "margins",
        "sample-size",
        "history",
        "best",
        "noise",
        "scaling",
        "burst",
        "profile",
        "heatmap",
        "rounds",
        "second-opinion",
        "agree",
    ),
    "Other": ("checks", "judge", "parse", "salvage", "schema"),
}
"""The verbs of each section in the order of a first use; the last section adds the verbs that none names."""

_COMMAND_LINE = click.core.ParameterSource.COMMANDLINE

_UNLIMITED = 1000
"""Characters of a verb's help line, more than any has."""


class Sectioned(click.Group):
    """Command group with its verbs in sections, each imported on use."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return every verb."""
        return sorted({*VERBS, *super().list_commands(context)})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Return the verb `name`, or None if it does not exist."""
        if name not in VERBS:
            return super().get_command(context, name)
        module, _, attribute = VERBS[name].partition(":")
        command = getattr(import_module(f"app.cli.{module}"), attribute)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each section with its verbs and the first sentence of their help."""
        named = {name for names in SECTIONS.values() for name in names}
        others = tuple(name for name in self.list_commands(context) if name not in named)
        last = list(SECTIONS)[-1]
        for title, names in SECTIONS.items():
            rows = []
            for name in (*names, *others) if title == last else names:
                command = self.get_command(context, name)
                if command is not None and not command.hidden:
                    rows.append((name, command.get_short_help_str(_UNLIMITED)))
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


@click.group(cls=Sectioned, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--store",
    type=LibraryLocation(),
    envvar="BENCHWRIGHT_STORE",
    show_envvar=True,
    help="Library to use instead of your own: a file, or postgresql+psycopg://USER@HOST/DATABASE.",
)
@click.version_option(package_name="benchwright", prog_name="benchwright")
@click.pass_context
@report_errors
def benchwright(context: click.Context, store: Location | None) -> None:
    """Benchmark Linux hosts, and get a verdict on each result.

    Without a verb, open the window; without a display, benchmark this computer and write the report.
    """
    start_log()
    secure_private_directories()
    if store is not None and context.invoked_subcommand is None:
        store = absolute(store)  # the window's proposed commands must work in any folder
    if isinstance(store, ServerUrl) and store.secrets and context.get_parameter_source("store") is _COMMAND_LINE:
        print_note(
            "The password in --store is visible to all accounts of this computer (ps). Use benchwright store login, "
            "~/.pgpass or PGPASSWORD."
        )
    without_verb = context.obj
    workstation = Workstation(store)
    context.obj = workstation
    context.call_on_close(workstation.close)
    use_library(store, benchwright.list_commands(context))
    context.call_on_close(lambda: use_library(None, ()))
    if context.invoked_subcommand is None:
        without_verb(workstation)
