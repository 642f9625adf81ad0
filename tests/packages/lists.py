#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lists.py SOURCE BUILD - the lists that packages are made from are true, as far as that can be seen without making one.

`./dev wheel`, `./dev deb` and `./dev fresh` make and try packages, which takes minutes.
"""
import fnmatch
import functools
import glob
import json
import os
import re
import subprocess
import sys
import unittest

SOURCE, BUILD = (os.path.abspath(one) for one in sys.argv[1:3])
MPI_PLUGIN = "invar_mpi.so"  # not installed by a build without MPI, and never in a wheel


def read(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
        return file.read()


def files(pattern):
    return {os.path.relpath(path, SOURCE) for path in glob.glob(os.path.join(SOURCE, pattern))}


def install_lists():
    """(package, pattern) for each line of debian/*.install."""
    for name in sorted(files("debian/*.install")):
        for line in read(name).splitlines():
            yield os.path.basename(name).removesuffix(".install"), line.split()[0]


@functools.lru_cache()
def installed():
    """What `meson install` makes, as Debian's packages have it: usr/bin/invar."""
    def meson(what):  # as `meson introspect --what` prints it
        with open(os.path.join(BUILD, "meson-info", f"intro-{what}.json"), encoding="utf-8") as file:
            return json.load(file)

    options = {one["name"]: one["value"] for one in meson("buildoptions")}
    paths = {"usr/" + os.path.relpath(path, options["prefix"]) for path in meson("installed").values()}
    # Where dpkg-dev is missing, Meson does not know Debian's folder of libraries, and has lib64.
    libraries = "usr/" + options["libdir"].strip("/") + "/"
    paths = {path.replace(libraries, "usr/lib/TRIPLET/", 1) if path.startswith(libraries) else path for path in paths}
    return paths | {"usr/lib/TRIPLET/invar/" + MPI_PLUGIN}


def packages_of(field, paragraph):
    """Names in a field of debian/control: alternatives too, without versions and profiles."""
    body = re.search(rf"^{field}:(.*?)(?=^\S|\Z)", paragraph, re.M | re.S).group(1)
    return set(re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9.+-]+)", body))


class Versions(unittest.TestCase):
    def setUp(self):
        self.version = subprocess.run([os.path.join(SOURCE, "tools/version")], check=True, text=True,
                                      stdout=subprocess.PIPE).stdout.strip()

    def test_debian_changelog(self):
        first = re.match(r"invar \((\S+)-\d+\) ", read("debian/changelog"))
        self.assertEqual(first and first.group(1), self.version)

    def test_pyproject_takes_that_of_meson(self):
        lines = read("pyproject.toml").splitlines()
        self.assertTrue('dynamic = ["version"]' in lines)
        self.assertFalse([line for line in lines if line.startswith("version")])

    def test_package_of_the_library_is_named_after_its_soname(self):
        major = self.version.split(".")[0]
        self.assertIn("libinvar.so." + major, {os.path.basename(path) for path in glob.glob(BUILD + "/src/libinvar.so.*")})
        self.assertIn("libinvar" + major, re.findall(r"^Package: (\S+)$", read("debian/control"), re.M))
        self.assertIn(f"debian/libinvar{major}.install", files("debian/*.install"))


class Debian(unittest.TestCase):
    def test_every_installed_file_is_in_one_package(self):
        lists = list(install_lists())
        for path in sorted(installed()):
            found = [package for package, pattern in lists if fnmatch.fnmatchcase(path, pattern)]
            self.assertEqual(len(found), 1, f"{path} is in {found or 'no package'}: see debian/*.install")

    def test_every_line_matches_a_file(self):
        paths = installed()
        for package, pattern in install_lists():
            found = fnmatch.filter(paths, pattern) if pattern.startswith("usr/") else files(pattern)
            self.assertTrue(found, f"debian/{package}.install: nothing is called {pattern}")

    def test_documents_exist(self):
        for name in files("debian/*.docs") | files("debian/*.examples"):
            for pattern in read(name).split():
                self.assertTrue(files(pattern), f"{name}: nothing is called {pattern}")

    def test_what_the_build_needs_is_what_dev_installs(self):
        listed = [line.split()[1] for line in read("tools/debian_packages.txt").splitlines() if line[0] != "#"]
        listed += re.search(r'^build_packages="(.*?)"', read("dev"), re.M | re.S).group(1).split()
        listed.remove("$library_packages")
        listed += re.findall(r'^(?:demo|test)_packages="(.*?)"', read("dev"), re.M)
        needed = packages_of("Build-Depends", read("debian/control"))
        always = {"g++", "gcc", "libc6-dev"}  # build-essential, which no package names
        extra = {"chrpath", "debhelper-compat", "dh-sequence-python3", "pkgconf", "python3",  # for packaging; with Meson
                 "libopenmpi-dev"}  # ./dev builds the plugin where it finds it
        self.assertEqual(needed - extra, set(listed) - always)

    def test_packages_of_libraries_that_are_opened_at_run_time(self):
        library = read("debian/control").split("\nPackage: libinvar0\n")[1].split("\n\n")[0]
        self.assertIn("libopenblas0", packages_of("Depends", library))
        self.assertIn("libarpack2", packages_of("Recommends", library))

    def test_tests(self):
        names = re.findall(r"^Tests: (.*)$", read("debian/tests/control"), re.M)
        self.assertEqual({"debian/tests/" + name for name in names}, files("debian/tests/*") - {"debian/tests/control"})
        for name in [*names, "../rules"]:
            self.assertTrue(os.access(os.path.join(SOURCE, "debian/tests", name), os.X_OK), name)


class Mpi(unittest.TestCase):
    def test_is_switched_on_where_its_plugin_is_packed_and_else_off(self):
        self.assertTrue("-Dmpi=enabled" in read("debian/rules"))
        self.assertTrue("-Dmpi=disabled" in read("tools/make_wheel"))


class Wheel(unittest.TestCase):
    def test_every_file_of_the_module(self):
        listed = set(re.findall(r"'(invar/[^']+)'", read("python/meson.build")))
        found = {os.path.relpath(path, "python") for path in files("python/invar/*.py*") | {"python/invar/py.typed"}}
        self.assertEqual(listed, {path for path in found if "__pycache__" not in path})

    def test_libraries_that_are_opened_at_run_time(self):
        opened = {}
        for name in files("src/**/*.c") | files("src/*/*.c"):
            text = read(name)
            if re.search(r"#define LIBRARY", text):
                own, system = re.findall(r'#define LIBRARY "?([^"\s]+)', text)
                opened[system] = own
            elif MPI_PLUGIN not in text and name != "src/encoders/onnx_session.c":
                self.assertFalse("dlopen(" in text, f"{name} opens a library that a wheel does not have")
        # onnx_session.c is not in a wheel: the module has the package onnxruntime instead.
        self.assertTrue("-Donnxruntime=disabled" in read("tools/make_wheel"))
        listed = dict(re.findall(r'"(lib\S+)": "(lib\S+)"', re.search(r"OPENED = \{.*?\}", read("tools/make_wheel"), re.S).group()))
        self.assertEqual(opened, listed)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
