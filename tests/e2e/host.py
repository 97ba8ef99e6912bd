"""Capdeck in folders of its own."""

import contextlib
import os
import re
import subprocess

from downstreams import wait_for_line


class Host:
    """A Capdeck that shares nothing with the person's own; it works in the folder `work`."""

    def __init__(self, capdeck, root, work):
        self.capdeck, self.root, self.work = capdeck, root, root / work
        for folder in ("config", "state", "cache", "data", "home", work):
            (root / folder).mkdir(parents=True)

    def env(self):
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "CAPDECK_CONFIG_DIR": str(self.root / "config"),
            "CAPDECK_STATE_DIR": str(self.root / "state"),
            "CAPDECK_CACHE_DIR": str(self.root / "cache"),
            "CAPDECK_DATA_DIR": str(self.root / "data"),
            "NO_COLOR": "1",
        }

    @contextlib.contextmanager
    def serving(self):
        """`capdeck up` on a port of its own; gives its address."""
        process = subprocess.Popen(
            [self.capdeck, "up", "--port", "0", "--json"],
            env=self.env(),
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            yield wait_for_line(process.stdout, re.compile(r"http://127\.0\.0\.1:\d+"))[0]
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
