"""The folder that a run writes into, on this machine or behind an address; every file in it is whole or not there.

Object stores show a file when it is complete; so does a rename. Knows what it is called and nothing of what is in it.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracerank.errors import UsageError
from tracerank.readers.files.remote import address, is_remote, store_of, told_of
from tracerank.runs.atomic import replacing


class Place:
    """A folder by its name."""

    def __init__(self, name: str) -> None:
        self.is_remote = is_remote(name)
        self.name = address(name).rstrip("/") if self.is_remote else str(Path(name).absolute())

    def at(self, name: str) -> str:
        """The whole name of a file in it."""
        return f"{self.name}/{name}"

    def exists(self, name: str) -> bool:
        if not self.is_remote:
            return Path(self.at(name)).exists()
        with told_of(self.at(name)):
            files, path = store_of(self.at(name))
            files.invalidate_cache()  # another worker may have written it
            return bool(files.exists(path))

    def names(self, folder: str = "") -> list[str]:
        """The files of a folder in it, at any depth, by their names in this place; drafts are none."""
        if not self.is_remote:
            top = Path(self.at(folder))
            found = (path.relative_to(self.name) for path in top.rglob("*") if path.is_file())
            return sorted(str(path) for path in found if not path.name.startswith("."))
        with told_of(self.name):
            files, path = store_of(self.name)
            files.invalidate_cache()
            below = f"{path}/{folder}".rstrip("/")
            named = files.find(below) if files.exists(below) else []
            return sorted(str(one).removeprefix(f"{path}/") for one in named)

    def read(self, name: str) -> bytes:
        if not self.is_remote:
            return Path(self.at(name)).read_bytes()
        with told_of(self.at(name)):
            files, path = store_of(self.at(name))
            return bytes(files.cat_file(path))

    @contextmanager
    def draft(self, name: str) -> Iterator[Path]:
        """A file on this machine that gets the name when the block ends well."""
        if not self.is_remote:
            target = Path(self.at(name))
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                with replacing(target) as path:
                    yield path
            except OSError as error:
                raise UsageError(f"{target}: cannot be written ({error.strerror or error})") from None
            return
        with tempfile.TemporaryDirectory(prefix="tracerank-") as folder:
            path = Path(folder) / Path(name).name
            yield path
            with told_of(self.at(name)):
                files, target_path = store_of(self.at(name))
                files.put_file(str(path), target_path)

    def write(self, name: str, data: bytes) -> None:
        with self.draft(name) as path:
            path.write_bytes(data)

    def remove(self, name: str) -> None:
        """A file, or a folder with all that is in it; what is not there is gone already."""
        if not self.is_remote:
            path = Path(self.at(name)) if name else Path(self.name)
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            return
        whole = self.at(name) if name else self.name
        with told_of(whole):
            files, target = store_of(whole)
            files.invalidate_cache()
            if files.exists(target):
                files.rm(target, recursive=True)
