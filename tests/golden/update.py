"""Write the golden files anew: `python -m tests.golden.update [CASE...]`. Look at the difference before committing it."""

from __future__ import annotations

import shutil
import sys

from tests.golden.cases import FOLDER, NAMES, STACKS, produce


def main(names: list[str]) -> None:
    for name in names:
        stack = STACKS / f"{name}.yaml"
        if stack.exists():
            shutil.copyfile(stack, FOLDER / name / "spec.yaml")
        for file, text in produce(name).items():
            path = FOLDER / name / file
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")
                print(path)


if __name__ == "__main__":
    main(sys.argv[1:] or NAMES)
