#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes text files as C arrays: embed.py OUT.c NAME FILE [NAME FILE …]."""
import sys


def main():
    out, *pairs = sys.argv[1:]
    with open(out, 'w', encoding='ascii') as f:
        f.write('#include "report/html.h"\n')
        for name, path in zip(pairs[::2], pairs[1::2]):
            with open(path, 'rb') as text:
                numbers = ','.join(map(str, text.read() + b'\0'))
            f.write(f'const char {name}[] = {{{numbers}}};\n')


main()
