# SPDX-License-Identifier: Apache-2.0
"""The program `invar` of a wheel, which lies in this package."""
import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "invar")
    if not os.path.exists(program):
        sys.exit("invar: this installation of the Python module has no program; install the package invar")
    os.execv(program, ["invar", *sys.argv[1:]])
