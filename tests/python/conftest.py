# SPDX-License-Identifier: Apache-2.0
"""conftest.py - for `pytest tests/python`: the module of this clone with the library of build-checked or build, or an
installed one (pip install .). `./dev test` runs the same files without pytest and says which build it means."""
import os
import shutil
import sys
import sysconfig

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def use_build():
    for build in ("build-checked", "build"):
        program = os.path.join(SOURCE, build, "src/cli/invar")
        if os.path.exists(program):
            os.environ["INVAR_PROGRAM"] = program
            os.environ["INVAR_LIBRARY"] = os.path.join(SOURCE, build, "src/libinvar.so.0")
            # Also for the programs that tests start.
            os.environ["PYTHONPATH"] = os.path.join(SOURCE, "python")
            sys.path.insert(0, os.environ["PYTHONPATH"])
            return True
    return False


os.environ.setdefault("INVAR_SOURCE", SOURCE)
if "INVAR_PROGRAM" not in os.environ and not use_build():
    installed = shutil.which("invar", path=sysconfig.get_path("scripts")) or shutil.which("invar")
    if installed is None:
        sys.exit("no build of invar; run './dev build' or 'pip install .' first")
    os.environ["INVAR_PROGRAM"] = installed
