"""Is this a release? Builds sdist and wheel, installs each into an empty environment and uses it from there.

    python tools/release_check.py             both; some minutes
    python tools/release_check.py --kind wheel
    python tools/release_check.py --kind wheel --python python3.10 --python python3.13

Nothing of the source tree can be imported: the commands run in a temporary folder. Exit code 1 if one fails.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

# what is shipped must load, judge a face and know its own numbers
_MODELS = """
import sys
import skimage.data
from facereject import FaceRejector, __file__, __version__
from facereject.faces.models.storage import pretrained_models
from facereject.faces.weights import WeightsError

assert "site-packages" in __file__, __file__
for name in pretrained_models():
    try:
        faces = FaceRejector.pretrained(name)(skimage.data.astronaut())
    except WeightsError as error:
        print(f"{name}: {error}")
        continue
    assert len(faces) == 1, (name, faces)
    print(f"{__version__} {name}: {faces[0]!r}")
assert not [module for module in sys.modules if module.startswith("lightgbm")]
"""

_PHOTO = "import skimage.data, PIL.Image; PIL.Image.fromarray(skimage.data.astronaut()).save('photo.jpg')"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", choices=("sdist", "wheel", "both"), default="both")
    parser.add_argument(
        "--python", action="append", help="interpreter to install into; may be given several times"
    )
    options = parser.parse_args()
    kinds = ("sdist", "wheel") if options.kind == "both" else (options.kind,)
    with tempfile.TemporaryDirectory(prefix="facereject-release-") as folder:
        built = build(Path(folder))
        failed = 0
        for kind in kinds:
            print(f"== {kind}: {built[kind].name}, {built[kind].stat().st_size / 1e6:.2f} MB", flush=True)
            for number, python in enumerate(options.python or [sys.executable]):
                failed += not check(kind, built[kind], Path(folder, f"{kind}{number}"), python)
    print("failed" if failed else "this is a release")
    return 1 if failed else 0


def build(folder: Path) -> dict[str, Path]:
    """The sdist of what git knows, and the wheel that comes out of that sdist."""
    source = folder / "source"
    # files that lie about uncommitted must not make a release work
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(source)], check=True)
    tools = folder / "tools"
    venv.create(tools, with_pip=True)
    run(tools, folder, "-m", "pip", "install", "--quiet", "build")
    run(tools, folder, "-m", "build", "--outdir", str(folder / "dist"), str(source))
    shutil.rmtree(source)
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    (wheel,) = (folder / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    strange = [name for name in names if not name.startswith(("facereject/", "facereject-"))]
    if strange:
        raise SystemExit(f"{wheel.name} holds what is not the package: {', '.join(strange[:5])}")
    return {"sdist": sdist, "wheel": wheel}


def check(kind: str, package: Path, folder: Path, interpreter: str) -> bool:
    """Whether the package installs into an empty environment and does its main jobs there."""
    folder.mkdir()
    environment = folder / "environment"
    subprocess.run([interpreter, "-m", "venv", str(environment)], env=clean(), check=True)
    command = str(environment / "bin" / "facereject")
    python = str(environment / "bin" / "python")
    steps = [
        [python, "--version"],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(package)],
        [python, "-m", "pip", "check"],
        [command, "--version"],
        [command, "demo", "--quiet"],
        [python, "-c", _PHOTO],
        [command, "score", "photo.jpg", "--output", "faces.csv"],
        [command, "info"],
        [python, "-c", _MODELS],
    ]
    for step in steps:
        # -c programs are long; their first words say which one it is
        shown = " ".join(Path(word).name if word == step[0] else word.strip().split("\n")[0] for word in step)
        done = subprocess.run(step, cwd=folder, env=clean(), capture_output=True, text=True)
        print(f"{'ok    ' if done.returncode == 0 else 'FAILED'} {kind}: {shown[:100]}", flush=True)
        if done.returncode:
            print(done.stdout[-2000:], done.stderr[-2000:], sep="\n")
            return False
        if step[-1] == "--version":
            print("      ", done.stdout.strip().split("\n")[0])
    return (folder / "faces.csv").read_text(encoding="utf-8").count("\n") == 2


def run(environment: Path, folder: Path, *words: str) -> None:
    subprocess.run([str(environment / "bin" / "python"), *words], cwd=folder, env=clean(), check=True)


def clean() -> dict[str, str]:
    """The environment without what could bring the source tree back."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }


if __name__ == "__main__":
    sys.exit(main())
