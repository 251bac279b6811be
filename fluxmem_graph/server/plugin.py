"""Builds the procedure plugin: generated Java, compiled by the Eclipse compiler, packed into one jar."""

import hashlib
import os
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from fluxmem_graph.errors import ServerError
from fluxmem_graph.server.artifacts import resolve_ecj, server_jars
from fluxmem_graph.server.procedure_source import generate_sources
from fluxmem_graph.statements import load_catalogue

JAR_NAME: Final = "fluxmem-procedures.jar"

_COMPILER: Final = "org.eclipse.jdt.internal.compiler.batch.Main"
# Not --release: that needs a file which Java runtimes without a compiler lack.
_OPTIONS: Final = ("-21", "-proc:none", "-encoding", "UTF-8")
_FINGERPRINT: Final = "META-INF/fluxmem-fingerprint"
_TIMEOUT_S: Final = 300


def build_plugin(output_dir: Path, java: Path) -> Path:
    """Return the jar that publishes every procedure, built into a folder unless it is there already.

    `java` is the executable of a Java 21 or newer. Raises StatementError and ServerError.
    """
    sources = generate_sources(load_catalogue().procedures)
    class_path = sorted(server_jars())
    jar = output_dir / JAR_NAME
    fingerprint = _fingerprint(sources, class_path)
    if plugin_fingerprint(jar) != fingerprint:
        compile_plugin(jar, sources, fingerprint, java=java, compiler=resolve_ecj(), class_path=class_path)
    return jar


def plugin_fingerprint(jar: Path) -> str | None:
    """Return what a jar was built from, as a hash; None when it is missing or not one of ours."""
    try:
        with zipfile.ZipFile(jar) as archive:
            return archive.read(_FINGERPRINT).decode("ascii")
    except (OSError, KeyError, zipfile.BadZipFile):
        return None


def _fingerprint(sources: Mapping[str, str], class_path: Sequence[Path]) -> str:
    """The sources hold all that the files and the generator say, the jar names the server's version."""
    parts = [*_OPTIONS, *(jar.name for jar in class_path), *(f"{n}\n{t}" for n, t in sorted(sources.items()))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def compile_plugin(
    jar: Path,
    sources: Mapping[str, str],
    fingerprint: str,
    *,
    java: Path,
    compiler: Path,
    class_path: Sequence[Path],
) -> None:
    """Compile sources, by file name, into a jar; an older jar is replaced only when all went well.

    Raises ServerError with what the compiler said.
    """
    with tempfile.TemporaryDirectory(prefix="fluxmem-plugin-") as name:
        source_dir, class_dir = Path(name, "source"), Path(name, "classes")
        source_dir.mkdir()
        class_dir.mkdir()
        for file_name, text in sources.items():
            (source_dir / file_name).write_text(text, encoding="ascii")
        _run_compiler(java, compiler, class_path, source_dir, class_dir)
        _pack(jar, class_dir, fingerprint)


def _run_compiler(
    java: Path, compiler: Path, class_path: Sequence[Path], source_dir: Path, class_dir: Path
) -> None:
    command = [str(java), "-cp", str(compiler), _COMPILER, *_OPTIONS]
    command += [
        "-nowarn",
        "-cp",
        os.pathsep.join(map(str, class_path)),
        "-d",
        str(class_dir),
        str(source_dir),
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerError(f"can't compile the procedures: {error}; check the Java runtime {java}") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise ServerError(f"can't compile the procedures with {java}; the compiler said:\n{said}")


def _pack(jar: Path, class_dir: Path, fingerprint: str) -> None:
    """Write the jar; equal input gives equal bytes."""
    contents = {
        "META-INF/MANIFEST.MF": b"Manifest-Version: 1.0\n\n",
        _FINGERPRINT: fingerprint.encode("ascii"),
    }
    for path in sorted(class_dir.rglob("*.class")):
        contents[path.relative_to(class_dir).as_posix()] = path.read_bytes()
    jar.parent.mkdir(parents=True, exist_ok=True)
    # A running server may have the older jar open: it keeps that one until it restarts.
    part = jar.with_name(f"{jar.name}.{os.getpid()}.part")
    with zipfile.ZipFile(part, "w") as archive:
        for name, data in contents.items():
            archive.writestr(zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0)), data)
    part.replace(jar)
