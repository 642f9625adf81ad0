# SPDX-License-Identifier: Apache-2.0
"""encoders.py - images per second through ViTs and ResNet-50: invar against PyTorch and ONNX Runtime.

Random weights, the same file for all; from prepared tensors to features. A peer
runs at its best: every variant is tried at several batches (torch.compile, which takes
long to start, at eager's best batch alone), PyTorch's also with an allocator that keeps
memory; the fastest of each peer then runs in turn with invar, at the peer's batch, and
with the machine's peak. The share of the peak counts the multiply-adds of convolutions,
linear layers and attention.

Then the time from the start of a process to the first feature, and peak memory; and,
as a section of its own, the time of one image (`--one`: this alone).

`--bfloat16` measures that precision alone, at batch 8: invar's beside its float32, beside
PyTorch's bfloat16 by its fastest variant, and beside ONNX Runtime's float32; of ResNets also
invar's int8.

`--quick` takes one round and two batches; `--nets vit_small_patch8:96` runs a part; so does
`--networks dinov3_small:224,siglip_base:224,hf_resnet50:224`, the networks of transformers.
"""

import importlib.metadata
import os
import statistics
import subprocess
import sys
import time

import numpy as np
import torch
from safetensors.torch import save_file

import common

sys.path.insert(0, os.path.join(common.HERE, "peers"))
import encoder_nets  # noqa: E402

TITLES = {("vit_small_patch8", 96): "ViT-S/8 at 96", ("vit_tiny_patch16", 224): "ViT-Ti/16 at 224",
          ("vit_base_patch16", 224): "ViT-B/16 at 224", ("resnet50", 96): "ResNet-50 at 96",
          ("resnet50", 224): "ResNet-50 at 224"}
TODAY = {("dinov3_small", 224): "DINOv3 ViT-S/16 at 224", ("siglip_base", 224): "SigLIP ViT-B/16 at 224",
         ("hf_resnet50", 224): "ResNet-50 of transformers at 224"}  # with --networks
ONE_TITLES = {("resnet18", 224): "ResNet-18 at 224", ("resnet50", 224): "ResNet-50 at 224",
              ("resnet50", 96): "ResNet-50 at 96", ("vit_small_patch16", 224): "ViT-S/16 at 224",
              ("vit_base_patch16", 224): "ViT-B/16 at 224"}
BATCHES, MOST_GMAC = (1, 8, 16, 32, 64), 150  # in a batch: some seconds at most
SPEED = 60  # GMAC a second, about; for how many batches make a second
FIRST = (("vit_small_patch8", 96), ("vit_base_patch16", 224), ("resnet50", 224))
ROUNDS, FIRST_ROUNDS = 9, 3
SHARES = "Shares count the multiply-adds of direct sums; computing 3x3 convolutions in tiles needs fewer, so they can exceed 100 %."
FASTEST = ("PyTorch, fastest rounds", "ONNX Runtime, fastest rounds")


def title_of(net):
    return {**TITLES, **TODAY}[net.name, net.side]


class Network:
    """One of the networks with its files, made once and kept in the build."""

    def __init__(self, options, name, side):
        self.options, self.name, self.side = options, name, side
        self.gmac, self.is_vit = encoder_nets.GMAC[name, side], encoder_nets.NETS[name][0] == "vit"
        self.folder = os.path.join(options.build, "encoders")
        os.makedirs(self.folder, exist_ok=True)
        self.weights = self.at("safetensors")
        if not os.path.exists(self.weights):
            torch.manual_seed(1)
            save_file(encoder_nets.make(name, side).state_dict(), self.weights + ".part")
            os.rename(self.weights + ".part", self.weights)

    def at(self, ending):
        return os.path.join(os.path.abspath(self.folder), "%s_%d.%s" % (self.name, self.side, ending))

    def onnx(self, form):
        path = self.at(form + ".onnx")
        if not os.path.exists(path):
            subprocess.run([sys.executable, os.path.join(common.HERE, "peers", "export_onnx.py"), self.name,
                            str(self.side), self.weights, path + ".part", form], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            os.rename(path + ".part", path)
        return path

    def batches(self):
        fitting = [n for n in BATCHES if n * self.gmac <= MOST_GMAC]
        return fitting[:2] if self.options.quick else fitting

    def asker(self, program, batch, file, variant, seconds=1.0):
        """A function: seconds per image."""
        count = max(1, round(seconds * SPEED / self.gmac / batch))
        line = "encode %s %d %d %d %s %s" % (self.name, self.side, batch, count, file, variant)
        return lambda: program.ask(line) / count / batch

    def asker_of(self, peer, program, batch, variant, seconds=1.0):
        if peer == "onnx":
            return self.asker(program, batch, self.onnx(variant), "plain", seconds)
        return self.asker(program, batch, self.weights, variant.removesuffix(KEPT), seconds)


# ---- The peers at their best -------------------------------------------------------

SCRIPTS = {"torch": "torch_encoders.py", "onnx": "onnx_encoders.py"}
KEPT = "+kept"  # freed memory stays with the process, in huge pages
KEEPING = {"MALLOC_MMAP_THRESHOLD_": "33554432", "MALLOC_TRIM_THRESHOLD_": "8589934592",
           "MALLOC_TOP_PAD_": "268435456", "THP_MEM_ALLOC_ENABLE": "1"}
COMPILED = "compile-frozen" + KEPT


def variants(peer, net):
    if peer == "onnx":
        return ("traced", "attention") if net.is_vit else ("traced",)
    return ("eager", "eager" + KEPT) if net.is_vit else ("eager", "channels-last", "channels-last" + KEPT)


def program_of(options, peer, variant):
    return common.peer_program(options, SCRIPTS[peer], KEEPING if variant.endswith(KEPT) else None)


def two_best(times):
    return list(dict.fromkeys(batch for _, batch in sorted(times, key=times.get)))[:2]


def try_batches(options, net, peer):
    """{(variant, batch): seconds per image}, and a program that has compiled the network."""
    times, compiled = {}, None
    for variant in variants(peer, net):
        program = program_of(options, peer, variant)
        for batch in two_best(times) if variant.endswith(KEPT) else net.batches():
            times[variant, batch] = net.asker_of(peer, program, batch, variant, 0.5)()
        program.close()
    if peer == "torch" and not options.no_compile:
        batch = min(times, key=times.get)[1]
        compiled = program_of(options, peer, COMPILED)
        measure = net.asker_of(peer, compiled, batch, COMPILED, 0.5)
        times[COMPILED, batch] = min(measure(), measure())
    return times, compiled


def best_of(options, net, peer):
    """(variant, batch), a program for it that has run nothing else, and the trials."""
    times, program = try_batches(options, net, peer)
    best = min(times, key=times.get)
    if program and best[0] != COMPILED:
        program.close()
        program = None
    return best, program or program_of(options, peer, best[0]), times


# ---- In turn -----------------------------------------------------------------------


def compare(options, net):
    """The rounds of all sides, the trials, and peak memory."""
    best, programs, trials, sides = {}, {}, {}, {}
    for peer in SCRIPTS:
        best[peer], programs[peer], trials[peer] = best_of(options, net, peer)
        sides[peer] = net.asker_of(peer, programs[peer], best[peer][1], best[peer][0])
    for batch in {batch for _, batch in best.values()}:
        programs["invar", batch] = common.invar_program(options)
        sides["invar", batch] = net.asker(programs["invar", batch], batch, net.weights, "")
    for measure in list(sides.values()):
        measure()  # compiles, packs
    sides["peak"] = lambda: common.measure_peak(options)
    seen = common.rounds_in_turn(options.rounds, sides)
    memory = {side: program.peak_megabytes() for side, program in programs.items()}
    for program in programs.values():
        program.close()
    return {"net": net, "seen": seen, "best": best, "trials": trials, "memory": memory}


def speed_row(one):
    net, seen, best = one["net"], one["seen"], one["best"]
    found = common.medians(seen)
    share = lambda seconds: "%.0f %%" % (100 * 2 * net.gmac / seconds / found["peak"])
    row = [title_of(net)]
    fastest = min(found["invar", batch] for _, batch in best.values())
    for peer in SCRIPTS:
        batch = best[peer][1]
        own, theirs = found["invar", batch], found[peer]
        row += ["%d" % batch, "%.1f" % (1 / own), "%.1f" % (1 / theirs), "%.2f" % (theirs / own),
                "%.2f" % (theirs / fastest)]
    row += [common.fastest_ratio(seen, peer, ("invar", best[peer][1])) for peer in SCRIPTS]
    return row + [share(fastest), share(found["torch"]), share(found["onnx"]), "%.0f" % found["peak"]]


def trial_rows(one):
    net = one["net"]
    for peer, label in (("torch", "PyTorch"), ("onnx", "ONNX Runtime")):
        times = one["trials"][peer]
        for variant in dict.fromkeys(v for v, _ in times):
            cells = ["%.1f" % (1 / times[variant, n]) if (variant, n) in times else "" for n in BATCHES]
            yield [title_of(net), "%s, %s" % (label, variant), *cells]


# ---- The first feature ---------------------------------------------------------------


def first_feature(options, net):
    """A row: both sides from nothing to one feature in a file, and how far they differ."""
    image, threads = os.path.join(net.folder, "one.npy"), str(options.threads)
    out = {side: os.path.join(net.folder, side + ".npy") for side in ("invar", "torch")}
    np.save(image, np.random.default_rng(0).standard_normal((1, 3, net.side, net.side), dtype="f4"))
    commands = {
        "invar": [os.path.join(options.build, "src", "cli", "invar"), "features", image, "-o", out["invar"],
                  "--weights", net.weights, "--threads", threads, "-q"],
        "torch": [sys.executable, os.path.join(common.HERE, "peers", "torch_first.py"), net.name, str(net.side),
                  net.weights, image, out["torch"], threads]}
    seen = {side: [] for side in commands}
    for number in range(1 if options.quick else 1 + FIRST_ROUNDS):
        for side in seen:
            if os.path.exists(out[side]):
                os.remove(out[side])
            seen[side].append(common.watch(commands[side]))
    median = lambda side, i: statistics.median(pair[i] for pair in seen[side][-FIRST_ROUNDS:])
    ours, theirs = np.load(out["invar"]), np.load(out["torch"])
    gap = np.abs(ours - theirs).max() / np.abs(theirs).max()
    return [title_of(net), "%.2f s" % median("invar", 0), "%.2f s" % median("torch", 0),
            "%.1f" % (median("torch", 0) / median("invar", 0)), "%.0f MB" % median("invar", 2),
            "%.0f MB" % median("torch", 2), "%.0e" % gap]


# ---- One image -------------------------------------------------------------------------


def one_variants(options, peer, net):
    if peer == "onnx":
        return variants(peer, net)
    found = ["eager" + KEPT] if net.is_vit else ["eager", "channels-last" + KEPT]
    return found if options.no_compile else found + [COMPILED]


def best_for_one(options, net, peer):
    """(variant, a program for it that is ready, {variant: seconds}); each program runs one variant alone."""
    programs, times = {}, {}
    for variant in one_variants(options, peer, net):
        programs[variant] = program_of(options, peer, variant)
        measure = net.asker_of(peer, programs[variant], 1, variant, 0.3)
        measure()
        times[variant] = common.settled(measure)
    best = min(times, key=times.get)
    for variant, program in programs.items():
        if variant != best:
            program.close()
    return best, programs[best], times


def compare_one(options, net):
    best, programs, trials = {}, {"invar": common.invar_program(options)}, {}
    sides = {"invar": net.asker(programs["invar"], 1, net.weights, "", 0.4)}
    for peer in SCRIPTS:
        best[peer], programs[peer], trials[peer] = best_for_one(options, net, peer)
        sides[peer] = net.asker_of(peer, programs[peer], 1, best[peer], 0.4)
    for measure in sides.values():
        measure()
    sides["peak"] = lambda: common.measure_peak(options)
    seen = common.rounds_in_turn(options.rounds, sides)
    for program in programs.values():
        program.close()
    return {"net": net, "seen": seen, "best": best, "trials": trials}


def one_row(one):
    net, seen, found = one["net"], one["seen"], common.medians(one["seen"])
    own, row = found["invar"], [ONE_TITLES[net.name, net.side], "%.1f ms" % (1e3 * found["invar"])]
    for peer in SCRIPTS:
        row += ["%.1f ms" % (1e3 * found[peer]), one["best"][peer], "%.2f" % (found[peer] / own)]
    row += [common.fastest_ratio(seen, peer, "invar") for peer in SCRIPTS]
    share = lambda seconds: "%.0f %%" % (100 * 2 * net.gmac / seconds / found["peak"])
    return row + [share(own), share(found["torch"]), share(found["onnx"]), "%.0f" % found["peak"]]


def one_trials(one):
    for peer, label in (("torch", "PyTorch"), ("onnx", "ONNX Runtime")):
        for variant, seconds in one["trials"][peer].items():
            yield [ONE_TITLES[one["net"].name, one["net"].side], "%s, %s" % (label, variant), "%.1f ms" % (1e3 * seconds)]


def one_page(options, all_found):
    body = "torch %s, onnxruntime %s; float32. From one prepared tensor to its feature, on %d threads, in a process that " \
           "holds the network: medians of %d rounds in turn, and the ratio of each side's fastest round, each peer by its " \
           "fastest variant, %.1f s after the one before, whose threads may spin. %s\n\n" % (
               torch.__version__.split("+")[0], importlib.metadata.version("onnxruntime"), options.threads,
               options.rounds, common.SETTLE, SHARES)
    body += common.table(["network", "invar", "PyTorch", "variant", "times faster", "ONNX Runtime", "variant",
                          "times faster", *FASTEST, "invar, of peak", "PyTorch, of peak", "ONNX Runtime, of peak",
                          "peak GFLOP/s"], [one_row(one) for one in all_found])
    body += "\n\nAt 96 pixels one image is bound by reading the weights, 94 MB for 1.5 GFLOP, and 4 times as many where 3x3 " \
            "convolutions are computed in tiles, which pays off in batches; the bits are those of a batch, so the kernels are too."
    return body, common.table(["network", "variant", "one image"], [row for one in all_found for row in one_trials(one)])


def measure_one(options, keys):
    all_found = []
    for key in keys:
        start = time.time()
        all_found.append(compare_one(options, Network(options, *key)))
        print("one image: %s (%.0f s)" % (one_row(all_found[-1]), time.time() - start), file=sys.stderr, flush=True)
    common.report(options, "one-image", "One image", *one_page(options, all_found))


# ---- bfloat16 ----------------------------------------------------------------------------

HALF_BATCH = 8
HALF_TITLES = {**{key: TITLES[key] for key in (("vit_base_patch16", 224), ("vit_small_patch8", 96), ("resnet50", 224))},
               ("resnet18", 224): "ResNet-18 at 224"}


def half_variants(options, net):
    layouts = ("eager" + KEPT,) if net.is_vit else ("channels-last" + KEPT,)
    compiled = () if options.no_compile else (COMPILED,)
    return ["%s:%s" % (how, form) for how in ("autocast", "bfloat16") for form in layouts + compiled]


def try_half(options, net):
    """{(peer, variant): seconds per image} at HALF_BATCH."""
    times = {}
    for peer, names in (("torch", half_variants(options, net)), ("onnx", variants("onnx", net))):
        for variant in names:
            program = program_of(options, peer, variant)
            measure = net.asker_of(peer, program, HALF_BATCH, variant, 0.5)
            measure()
            times[peer, variant] = min(measure(), measure())
            program.close()
    return times


def compare_half(options, net):
    trials = try_half(options, net)
    best = {peer: min((v for p, v in trials if p == peer), key=lambda v: trials[peer, v]) for peer in SCRIPTS}
    programs, sides = [], {}
    for name, variant in (("float32", ""), ("bfloat16", "bfloat16"), ("int8", "int8"))[:2 if net.is_vit else 3]:
        programs.append(common.invar_program(options))
        sides[name] = net.asker(programs[-1], HALF_BATCH, net.weights, variant)
    for peer in SCRIPTS:
        programs.append(program_of(options, peer, best[peer]))
        sides[peer] = net.asker_of(peer, programs[-1], HALF_BATCH, best[peer])
    for measure in sides.values():
        measure()
    seen = common.rounds_in_turn(options.rounds, sides)
    for program in programs:
        program.close()
    return {"net": net, "seen": seen, "best": best, "trials": trials}


def half_row(one):
    net, seen, found = one["net"], one["seen"], common.medians(one["seen"])
    own = found["bfloat16"]
    int8 = [""] * 5 if net.is_vit else ["%.1f" % (1 / found["int8"]), *[
        cell for side in ("bfloat16", "torch")
        for cell in ("%.2f" % (found[side] / found["int8"]), common.fastest_ratio(seen, side, "int8"))]]
    return [HALF_TITLES[net.name, net.side], "%.1f" % (1 / own), *[
        cell for side in ("float32", *SCRIPTS)
        for cell in ("%.1f" % (1 / found[side]), "%.2f" % (found[side] / own), common.fastest_ratio(seen, side, "bfloat16"))],
        one["best"]["torch"], *int8]


def half_page(options, all_found):
    body = "torch %s, onnxruntime %s. Images per second at batch %d, medians of %d rounds in turn, and how many times as fast " \
           "invar's bfloat16 is, by medians and by each side's fastest round; PyTorch by the fastest of `torch.autocast` and a " \
           "network converted to bfloat16, eager and compiled. ONNX Runtime's CPU provider has no bfloat16 products: " \
           "float32. int8 is invar's, beside the bfloat16 of both.\n\n" % (
               torch.__version__.split("+")[0], importlib.metadata.version("onnxruntime"), HALF_BATCH, options.rounds)
    body += common.table(["network", "invar, bfloat16", *[
        cell for side in ("invar, float32", "PyTorch, bfloat16", "ONNX Runtime, float32")
        for cell in (side, "times", "fastest rounds")], "PyTorch's variant", "invar, int8", "times invar's", "fastest rounds",
        "times PyTorch's", "fastest rounds"], [half_row(one) for one in all_found])
    return body, "Images per second at batch %d:\n\n" % HALF_BATCH + common.table(["network", "variant", ""], [
        [HALF_TITLES[one["net"].name, one["net"].side], "%s, %s" % side, "%.1f" % (1 / seconds)]
        for one in all_found for side, seconds in one["trials"].items()])


def measure_half(options, keys):
    all_found = []
    for key in keys:
        start = time.time()
        all_found.append(compare_half(options, Network(options, *key)))
        print("bfloat16: %s (%.0f s)" % (half_row(all_found[-1]), time.time() - start), file=sys.stderr, flush=True)
    common.report(options, "bfloat16", "Encoders in bfloat16", *half_page(options, all_found))


# ---- The page ------------------------------------------------------------------------


def memory_row(one):
    net, memory = one["net"], one["memory"]
    own = max(value for side, value in memory.items() if side[0] == "invar")
    return [title_of(net), "%.0f MB" % own, "%.0f MB" % memory["torch"], "%.0f MB" % memory["onnx"]]


def page(options, all_found, firsts):
    body = "torch %s, onnxruntime %s; float32. Images a second, medians of %d rounds in turn, each peer at its best " \
           "batch and variant, invar at the same batch, and in the column \"at best\" at the better of the two batches; " \
           "\"fastest rounds\" is the ratio of each side's fastest. %s\n\n" % (
               torch.__version__.split("+")[0], importlib.metadata.version("onnxruntime"), options.rounds, SHARES)
    body += common.table(["network", "batch", "invar", "PyTorch", "times faster", "at best", "batch", "invar",
                          "ONNX Runtime", "times faster", "at best", *FASTEST, "invar, of peak", "PyTorch, of peak",
                          "ONNX Runtime, of peak", "peak GFLOP/s"], [speed_row(one) for one in all_found])
    body += "\n\nPeak memory of these processes (PyTorch's with its settings for speed):\n\n"
    body += common.table(["network", "invar", "PyTorch", "ONNX Runtime"], [memory_row(one) for one in all_found])
    if firsts:
        body += "\n\nFrom the start of a process to the feature of one image in a file (weights in the page cache), " \
                "and that feature's largest difference over its largest number:\n\n"
        body += common.table(["network", "invar", "PyTorch, eager", "times faster", "invar, peak memory",
                              "PyTorch, peak memory", "difference"], firsts)
    return body, "Images a second by batch:\n\n" + common.table(
        ["network", "variant", *map(str, BATCHES)], [row for one in all_found for row in trial_rows(one)])


def chosen(text, titles):
    known = {"%s:%d" % key: key for key in titles}
    for word in text.split(","):
        if word not in known:
            sys.exit("encoders.py: there is no network '%s'; there are: %s" % (word, ",".join(known)))
        yield known[word]


def names_of(titles):
    return ",".join("%s:%d" % key for key in titles)


def main():
    options = common.arguments(__doc__, nets="", networks="", quick=False, no_compile=False, one=False, bfloat16=False)
    options.nets = options.nets or options.networks
    partial = options.quick or options.no_compile or options.nets
    if options.rounds == 9:
        options.rounds = 1 if options.quick else ROUNDS
    if options.write and partial:
        sys.exit("encoders.py: --write replaces the whole section; leave out --quick, --no-compile and --nets")
    if options.one:
        return measure_one(options, chosen(options.nets or names_of(ONE_TITLES), ONE_TITLES))
    if options.bfloat16:
        return measure_half(options, chosen(options.nets or names_of(HALF_TITLES), HALF_TITLES))
    networks = [Network(options, *key) for key in chosen(options.nets or names_of(TITLES), {**TITLES, **TODAY})]
    all_found = []
    for net in networks:
        start = time.time()
        all_found.append(compare(options, net))
        print("%s: %s (%.0f s)" % (title_of(net), speed_row(all_found[-1])[1:], time.time() - start),
              file=sys.stderr, flush=True)
    firsts = [first_feature(options, net) for net in networks if (net.name, net.side) in FIRST]
    common.report(options, "encoders", "Encoders", *page(options, all_found, firsts))
    if not options.nets:
        measure_one(options, ONE_TITLES)
        measure_half(options, HALF_TITLES)


if __name__ == "__main__":
    main()
