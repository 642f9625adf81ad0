# SPDX-License-Identifier: Apache-2.0
"""What the module believes about functions and structs is what include/invar.h says."""
import ctypes
import os
import re
import unittest

from invar import _library

with open(os.path.join(os.environ["INVAR_SOURCE"], "include/invar.h")) as file:
    HEADER = re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.S)
HEADER = re.sub(r"^#(.*\\\n)*.*$", "", HEADER, flags=re.M)


def kind_of(text):
    """The letter of a C type, as in PROTOTYPES."""
    text = " ".join(text.split())
    if "[" in text or "**" in text.replace("* ", "*") or text.count("*") > 1:
        return "p"
    if "*" in text:
        return "s" if re.match(r"const char \*", text) else "O" if "const invar_option *" in text else "p"
    for pattern, letter in (("invar_status", "S"), ("uint64_t", "U"), ("int64_t", "U"), ("uint32_t", "u"), ("int32_t", "l"),
                            ("size_t", "z"), ("double", "d"), ("unsigned", "u"), ("invar_dtype", "i"), ("int", "i"),
                            ("void", "-")):
        if re.match(pattern + r"\b", text.replace("const ", "")):
            return letter
    raise AssertionError(text)


def prototype(name):
    found = re.search(r"INVAR_API\s+([^;]*?)\binvar_%s\(([^;]*)\)\s*;" % name, HEADER)
    assert found, name
    arguments = [one.strip() for one in found.group(2).split(",")]
    kinds = [] if arguments == ["void"] else [kind_of(one) for one in arguments]
    return kind_of(found.group(1).strip() + (" " if "*" not in found.group(1) else "")), kinds


def members(name):
    body = re.search(r"typedef struct %s \{(.*?)\n\} %s;" % (name, name), HEADER, re.S).group(1)
    found = []
    for line in body.split(";"):
        function = re.search(r"\(\*(\w+)\)", line)
        if function:
            found.append(function.group(1))
        elif line.strip():
            found += [re.search(r"(\w+)(\[\w+\])?\s*$", part).group(1) for part in line.split(",")]
    return found


class Header(unittest.TestCase):
    def test_prototypes(self):
        for name, kinds in _library.PROTOTYPES.items():
            result, arguments = prototype(name)
            with self.subTest(name):
                self.assertEqual(kinds[0], result)
                # An array, a string with an unknown end or an out-pointer is any pointer to us.
                given = ["p" if ours == "p" and theirs in "sO" else theirs for ours, theirs in zip(kinds[1:], arguments)]
                self.assertEqual(list(kinds[1:]), given)
                self.assertEqual(len(kinds) - 1, len(arguments))

    def test_structs(self):
        for struct, name in ((_library.Option, "invar_option"), (_library.Hooks, "invar_hooks"),
                             (_library.EncoderCallback, "invar_encoder_callback"), (_library.TsneRows, "invar_tsne_rows")):
            self.assertEqual([field for field, _ in struct._fields_], members(name), name)
        self.assertEqual(ctypes.sizeof(_library.Hooks), 5 * ctypes.sizeof(ctypes.c_void_p))

    def test_statuses(self):
        body = re.search(r"typedef enum invar_status \{(.*?)\}", HEADER, re.S).group(1)
        words = [word.strip() for word in body.split(",")]
        self.assertEqual(len(words) - 1, len(_library.ERRORS))
        self.assertEqual(words[_library.UseError.status], "INVAR_E_USE")
        self.assertEqual(words[_library.CANCELLED], "INVAR_E_CANCELLED")
        self.assertEqual(words[_library.OutOfMemoryError.status], "INVAR_E_NOMEM")


if __name__ == "__main__":
    unittest.main()
