"""Every public name of the package says what it does, in the module and in its types."""

import ast
import inspect
from pathlib import Path

import heliograph_client

assert heliograph_client.__version__.count(".") == 2, heliograph_client.__version__

bare = []
for name in heliograph_client.__all__:
    thing = getattr(heliograph_client, name)
    members = inspect.getmembers(thing) if inspect.isclass(thing) else []
    if name != "__version__" and not thing.__doc__:
        bare.append(name)
    # What Python's own classes have is documented there.
    own = [(member, value) for member, value in members if not member.startswith("_") and member in vars(thing)]
    bare += [f"{name}.{member}" for member, value in own if not value.__doc__]
assert not bare, f"without a docstring: {bare}"

types = ast.parse((Path(heliograph_client.__file__).parent / "_native.pyi").read_text())
functions = (ast.FunctionDef, ast.AsyncFunctionDef)
for node in ast.walk(types):
    if isinstance(node, ast.ClassDef):
        here = {part.name for part in node.body if isinstance(part, functions)}
        bare += [f"{node.name}.{part.name}" for part in node.body
                 if isinstance(part, functions) and not part.name.startswith("_") and not ast.get_docstring(part)]
        there = {member for member in vars(getattr(heliograph_client, node.name)) if not member.startswith("_")}
        assert there <= here or node.name == "HeliographError", f"{node.name}: {there - here} have no types"
assert not bare, f"without a docstring in the types: {bare}"
print("documented")
