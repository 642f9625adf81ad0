#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""grow.py INVAR_H GROWN_H - the header of a later library: every struct has more members.

Writes GROWN_H, in which each struct that the header defines has two more members at its
end. A program that was compiled against INVAR_H must work with a library of GROWN_H, as
long as the struct is read by pointer or passed with its size.
"""
import re
import sys

EXPECTED = {"invar_hooks", "invar_option", "invar_column", "invar_metric", "invar_value", "invar_encoder_callback"}


def main():
    text = open(sys.argv[1]).read()
    grown = []

    def grow(match):
        grown.append(match.group(1))
        return "\tconst char *grown_text;\n\tunsigned char grown_bytes[200];\n" + match.group(0)

    text = re.sub(r"^\} (invar_\w+);$", lambda m: grow(m) if is_struct(text, m.group(1)) else m.group(0),
                  text, flags=re.M)
    missing = EXPECTED - set(grown)
    if missing:
        sys.exit(f"grow.py: found no struct {', '.join(sorted(missing))} in {sys.argv[1]}")
    open(sys.argv[2], "w").write("#define INVAR_GROWN 1\n" + text)


def is_struct(text, name):
    return f"typedef struct {name} {{" in text


main()
