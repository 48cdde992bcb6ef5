"""Which tracerank this is."""

from importlib import metadata


def installed_version() -> str:
    """The version that is installed; says so where the code runs without installation."""
    try:
        return metadata.version("tracerank")
    except metadata.PackageNotFoundError:
        return "not installed as a package"
