"""Where the workstation keeps what belongs to the user."""

from pathlib import Path

from platformdirs import PlatformDirs

_DIRECTORIES = PlatformDirs("benchwright", appauthor=False)


def store_path() -> Path:
    """Return where runs are kept."""
    return Path(_DIRECTORIES.user_data_dir) / "runs.sqlite3"


def hosts_path() -> Path:
    """Return the file of saved hosts."""
    return Path(_DIRECTORIES.user_config_dir) / "hosts.toml"


def consent_path() -> Path:
    """Return the file that remembers which content of plans the user has agreed to."""
    return Path(_DIRECTORIES.user_state_dir) / "consent"


def window_path() -> Path:
    """Return the file of what the window remembers."""
    return Path(_DIRECTORIES.user_config_dir) / "window.ini"


def own_directories() -> tuple[Path, ...]:
    """Return every directory that is Benchwright's own; each may be missing."""
    return tuple(dict.fromkeys(path().parent for path in (store_path, hosts_path, consent_path, log_path)))


def log_path() -> Path:
    """Return the log file; tracebacks go there and nowhere else."""
    return Path(_DIRECTORIES.user_log_dir) / "benchwright.log"


def reports_path() -> Path:
    """Return the folder that reports go to where no other is named."""
    return Path(_DIRECTORIES.user_documents_dir) / "Benchwright"
