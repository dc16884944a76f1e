"""Generated C of many robots in one program, compiled strictly and run under sanitizers."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.model.code.code_request import CodeRequest
from dynid.model.code.functions import Function
from dynid.model.code.template_values import library_files, shared_values

GCC = shutil.which("gcc")
GXX = shutil.which("g++")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
NO_COMPILER = "needs gcc, which is not installed"

HEAD = """
#include <stdio.h>
#include <stdlib.h>
static double *room(size_t count)
{
    double *made = malloc(count * sizeof *made);
    if (made == NULL) exit(1);
    return made;
}
static double *taken(size_t count)
{
    double *made = room(count);
    if (fread(made, sizeof *made, count, stdin) != count) exit(2);
    return made;
}
static void put(const double *values, size_t count)
{
    if (fwrite(values, sizeof *values, count, stdout) != count) exit(3);
}
"""

Outputs = dict[str, dict[str, list[Array]]]
"""For each robot and function its outputs, each of shape (samples, elements)."""


def run_in_c(
    requests: Mapping[str, CodeRequest], inputs: Mapping[str, Mapping[str, Array]], folder: Path, level: str = "-O0"
) -> Outputs:
    """Compile the functions of robots, and run them on inputs by robot and name."""
    assert GCC is not None
    assert all(key == request.prefix for key, request in requests.items())
    made: dict[str, list[Function]] = {}
    main = [HEAD]
    data: list[Array] = []
    calls = []
    for p, request in requests.items():
        values, functions = shared_values(request)
        made[p] = functions
        for name, text in library_files(values).items():
            (folder / name).write_text(text, encoding="ascii")
        for function in functions:
            given = [inputs[p][name] for name, _ in function.inputs]
            data += given
            calls.append(_call(p, function, len(given[0])))
            main.append(_declaration(p, function))
    main += ["int main(void)", "{", *calls, "    return 0;", "}"]
    (folder / "main.c").write_text("\n".join(main) + "\n")
    sources = ["main.c", *(name for p in requests for name in (f"{p}.c", f"{p}_samples.c"))]
    subprocess.run([GCC, *STRICT, *SANITIZED, level, *sources, "-o", "program", "-lm"], cwd=folder, check=True)
    stream = np.concatenate([np.ravel(x) for x in data]).astype(float).tobytes()
    done = subprocess.run([str(folder / "program")], input=stream, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return _split(np.frombuffer(done.stdout), made, inputs)


def _declaration(p: str, function: Function) -> str:
    pointers = ["const double *"] * len(function.inputs) + ["double *"] * len(function.outputs)
    return f"void {p}_{function.name}_samples({', '.join(['size_t', *pointers])});"


def _call(p: str, function: Function, count: int) -> str:
    """Read the inputs of all samples, run, and write the outputs; each array has memory of its own."""
    names = [name for name, _ in (*function.inputs, *function.outputs)]
    lines = [f"double *{name} = taken({count * size});" for name, size in function.inputs]
    lines += [f"double *{name} = room({count * size});" for name, size in function.outputs]
    lines += [f"{p}_{function.name}_samples({count}, {', '.join(names)});"]
    lines += [f"put({name}, {count * size});" for name, size in function.outputs]
    lines += [f"free({name});" for name in names]
    return "\n".join(["    {", *(f"        {line}" for line in lines), "    }"])


def _split(flat: Array, made: Mapping[str, list[Function]], inputs: Mapping[str, Mapping[str, Array]]) -> Outputs:
    found: Outputs = {}
    at = 0
    for p, functions in made.items():
        found[p] = {}
        for function in functions:
            count, outputs = len(inputs[p]["q"]), []
            for _, size in function.outputs:
                outputs.append(flat[at : at + count * size].reshape(count, size))
                at += count * size
            found[p][function.name] = outputs
    assert at == len(flat)
    return found
