#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""links.py SOURCE - every link between pages of the tree leads to a file, and to a heading of it if it names one."""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1]).resolve()
PAGES = ["*.md", "docs/**/*.md", "recipes/**/*.md", "src/**/README.md", "tools/*.md", "bench/*.md", "fuzz/*.md", "share/*.md"]


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M))


def anchors(path):
    """As GitHub makes them: lower case, no punctuation, a dash per space."""
    headings = re.findall(r"^#+ (.*)", re.sub(r"^ *```.*?^ *```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", h.strip().lower()).replace(" ", "-") for h in headings}


def fault(page, target, anchor):
    path = (page.parent / target).resolve() if target else page
    if not path.exists():
        return f"there is no {target}"
    if anchor and path.suffix == ".md" and anchor not in anchors(path):
        return f"{path.name} has no heading #{anchor}"
    return None


def main():
    wrong = checked = 0
    for page in sorted(p for pattern in PAGES for p in source.glob(pattern)):
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", without_code(page.read_text(encoding="utf-8"))):
            if not re.match(r"[a-z]+:", target):
                checked += 1
                why = fault(page, target, anchor)
                if why:
                    wrong += 1
                    print(f"{page.relative_to(source)}: {why}")
    print(f"{checked} links, {wrong} wrong")
    # The test itself: what it must find.
    for target, anchor in (("docs/NOTHING.md", ""), ("docs/SEARCH.md", "no-such-heading")):
        if not fault(source / "README.md", target, anchor):
            print(f"not found: {target}#{anchor}")
            wrong += 1
    return 1 if wrong or checked < 100 else 0


sys.exit(main())
