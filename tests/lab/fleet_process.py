"""A process that runs a fleet study: to be killed, or to run beside another.

Usage: fleet_process.py LIBRARY HOSTS STUDY.
"""

import sys
from pathlib import Path

from app.library_location import location_of
from app.services import Workstation
from tests.lab_sshd import AnsweringAsker


def main(library: str, hosts: str, study: str) -> None:
    """Run the study to its end."""
    Workstation(location_of(library), Path(hosts)).fleet_runner(study, AnsweringAsker()).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
