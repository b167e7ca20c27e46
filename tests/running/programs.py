"""Real programs whose output is the same each time, with their files and commands."""

from __future__ import annotations

import hashlib
import os
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tests.jdks import cache, compiled, java, locked
from tests.maven import H2, artifact

SOURCES = Path(__file__).parent / "programs"

GROOVY = ("org.apache.groovy:groovy:4.0.29",)
CLOJURE = ("org.clojure:clojure:1.12.0", "org.clojure:spec.alpha:0.5.238", "org.clojure:core.specs.alpha:0.4.74")
JRUBY = ("org.jruby:jruby-complete:9.4.9.0",)
KOTLIN_LIBRARY = ("org.jetbrains.kotlin:kotlin-stdlib:2.0.21", "org.jetbrains:annotations:13.0")
KOTLIN = (
    "org.jetbrains.kotlin:kotlin-compiler-embeddable:2.0.21",
    *KOTLIN_LIBRARY,
    "org.jetbrains.kotlin:kotlin-script-runtime:2.0.21",
    "org.jetbrains.kotlin:kotlin-reflect:1.6.10",
    "org.jetbrains.kotlin:kotlin-daemon-embeddable:2.0.21",
    "org.jetbrains.intellij.deps:trove4j:1.0.20200330",
    "org.jetbrains.kotlinx:kotlinx-coroutines-core-jvm:1.6.4",
)
TOMCAT = ("org.apache.tomcat.embed:tomcat-embed-core:10.1.33", "org.apache.tomcat:tomcat-annotations-api:10.1.33")
NETTY = tuple(
    f"io.netty:netty-{name}:4.1.115.Final"
    for name in ("common", "buffer", "transport", "codec", "codec-http", "handler", "resolver")
)
LUCENE = ("org.apache.lucene:lucene-core:9.12.0", "org.apache.lucene:lucene-analysis-common:9.12.0")
COMMONS_LANG_SOURCES = "org.apache.commons:commons-lang3:3.17.0:jar:sources"


@dataclass(frozen=True)
class Program:
    """``main``: a class, or the arguments for ``java`` that replace the class. ``classpath``: directories and jars.

    ``modules``: modules of the JDK that are woven, too. ``results``: a pattern for the files that are the same after
    each run.
    """

    main: str
    arguments: tuple[str, ...]
    classpath: tuple[Path, ...]
    flags: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    results: str = ""


def _java(name: str, *libraries: str, flags: tuple[str, ...] = ()) -> Program:
    jars = tuple(map(artifact, libraries))
    return Program(name, (), (compiled([SOURCES / f"{name}.java"], classpath=jars), *jars), flags)


def javac_of_a_library() -> Program:
    """The compiler of a JDK, which compiles the sources of commons-lang3."""
    sources = cache() / "sources" / "commons-lang3"
    with locked("sources"):
        if not sources.exists():
            with zipfile.ZipFile(artifact(COMMONS_LANG_SOURCES)) as jar:
                names = [name for name in jar.namelist() if name.endswith(".java")]
                jar.extractall(sources.with_suffix(".partial"), names)
            sources.with_suffix(".partial").rename(sources)
    files = sorted(map(str, sources.rglob("*.java")))
    arguments = ("-nowarn", "-Xlint:none", "-g", "-d", "classes", *files)
    return Program("-m jdk.compiler/com.sun.tools.javac.Main", arguments, (), (), ("jdk.compiler",), "classes/**/*")


def kotlinc() -> Program:
    """The Kotlin compiler with a program."""
    library = os.pathsep.join(str(artifact(jar)) for jar in KOTLIN_LIBRARY)
    arguments = ("-no-stdlib", "-no-reflect", "-cp", library, "-d", "classes", str(SOURCES / "program.kt"))
    jars = tuple(map(artifact, KOTLIN))
    return Program("org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", arguments, jars, results="classes/**/*")


def kotlin() -> Program:
    """The program compiled by the Kotlin compiler, with the Kotlin library."""
    return Program("ProgramKt", (), (kotlin_classes(SOURCES / "program.kt"), *map(artifact, KOTLIN_LIBRARY)))


def kotlin_classes(source: Path, *classpath: Path) -> Path:
    """The directory with the classes of a file. The file may use the classes of ``classpath`` and of the Kotlin
    library."""
    classpath = (*classpath, *map(artifact, KOTLIN_LIBRARY))
    key = hashlib.sha256(repr(list(map(str, classpath))).encode() + source.read_bytes()).hexdigest()[:32]
    out = cache() / "classes" / f"kotlin-{key}"
    with locked("kotlin"):
        if not out.exists():
            results = out.with_suffix(".partial")
            compiler = kotlinc()
            options = ("-no-stdlib", "-no-reflect", "-jvm-target", "11", "-nowarn", "-d", str(results))
            paths = (os.pathsep.join(map(str, jars)) for jars in (compiler.classpath, classpath))
            command = [str(java(17)), "-cp", next(paths), compiler.main, *options, "-cp", next(paths), str(source)]
            subprocess.run(command, check=True, timeout=600)
            results.rename(out)
    return out


def h2() -> Program:
    return _java("H2Script", H2)


def tomcat() -> Program:
    return _java("TomcatRoundTrip", *TOMCAT)


def netty() -> Program:
    return _java("NettyRoundTrip", *NETTY)


def lucene() -> Program:
    without_time = "-Djava.util.logging.SimpleFormatter.format=%4$s: %5$s%n"
    return _java("LuceneSearch", *LUCENE, flags=(without_time,))


def groovy() -> Program:
    script = str(SOURCES / "program.groovy")
    return Program("groovy.ui.GroovyMain", (script,), tuple(map(artifact, GROOVY)))


def clojure() -> Program:
    return Program("clojure.main", (str(SOURCES / "program.clj"),), tuple(map(artifact, CLOJURE)))


def jruby() -> Program:
    return Program("org.jruby.Main", (str(SOURCES / "program.rb"),), tuple(map(artifact, JRUBY)))
