"""The libraries of the corpus, by what is odd about their bytecode. Pinned in ``tests/*artifacts.sha256``."""

from __future__ import annotations

from dataclasses import dataclass

SCALA_2 = "org.scala-lang:scala-library:2.13.15"
SCALA_3 = "org.scala-lang:scala3-library_3:3.5.2"
KOTLIN = "org.jetbrains.kotlin:kotlin-stdlib:2.0.21"
GROOVY = "org.apache.groovy:groovy:4.0.24"
OLD_GROOVY = "org.codehaus.groovy:groovy-all:2.4.21"
SERVLETS = ("javax.servlet:servlet-api:2.4", "javax.servlet:jsp-api:2.0")
SLF4J = "org.slf4j:slf4j-api:2.0.16"
GUAVA = "com.google.guava:guava:33.3.1-jre"
SPRING = tuple(
    f"org.springframework:spring-{part}:6.1.14" for part in ("core", "jcl", "beans", "aop", "context", "expression")
)


@dataclass(frozen=True)
class Library:
    """``jars`` are woven, ``needs`` are there for linking. ``step``: of a huge one every so manieth class gets all
    points at once."""

    name: str
    jars: tuple[str, ...]
    needs: tuple[str, ...] = ()
    step: int = 1


def _library(name: str, *jars: str, needs: tuple[str, ...] = (), step: int = 1) -> Library:
    return Library(name, jars, needs, step)


OTHER_LANGUAGES = (
    _library("scala-2.13", SCALA_2),
    _library("scala-3", SCALA_3, needs=(SCALA_2,)),
    _library("scala-3-compiler", "org.scala-lang:scala3-compiler_3:3.5.2", needs=(SCALA_3, SCALA_2)),
    _library(
        "cats",
        "org.typelevel:cats-core_3:2.12.0",
        needs=("org.typelevel:cats-kernel_3:2.12.0", SCALA_3, SCALA_2),
    ),
    _library("pekko", "org.apache.pekko:pekko-actor_2.13:1.1.2", needs=(SCALA_2, "com.typesafe:config:1.4.3")),
    _library("kotlin", KOTLIN),
    _library("kotlin-coroutines", "org.jetbrains.kotlinx:kotlinx-coroutines-core-jvm:1.9.0", needs=(KOTLIN,)),
    _library("okhttp", "com.squareup.okhttp3:okhttp:4.12.0", needs=("com.squareup.okio:okio-jvm:3.9.1", KOTLIN)),
    _library("groovy", GROOVY),
    _library("groovy-2", OLD_GROOVY),
    _library("gpars", "org.codehaus.gpars:gpars:1.2.1", needs=(OLD_GROOVY,)),
    _library("spock", "org.spockframework:spock-core:2.3-groovy-4.0", needs=(GROOVY,)),
    _library("clojure", "org.clojure:clojure:1.12.0", "org.clojure:spec.alpha:0.5.238"),
    _library("jruby", "org.jruby:jruby-base:9.4.9.0"),
    _library("jython", "org.python:jython-standalone:2.5.3"),
    _library("frege", "com.theoryinpractise.frege:frege:3.21.586-g026e8d7", step=3),
    _library("ceylon", "org.ceylon-lang:ceylon.language:1.3.3"),
    _library("common-lisp", "org.abcl:abcl:1.9.2"),
    _library("golo", "org.eclipse.golo:golo:3.3.0"),
    _library("mirah", "org.mirah:mirah:0.2.1"),
    _library("javascript", "org.mozilla:rhino:1.7.15"),
    _library("nashorn", "org.openjdk.nashorn:nashorn-core:15.4"),
    _library("fortran", "net.sourceforge.f2j:arpack_combined_all:0.1"),
)

OLD = (
    _library("ant", "ant:ant:1.5"),
    _library("antlr", "antlr:antlr:2.7.1"),
    _library("bcel", "bcel:bcel:5.0"),
    _library("beanshell", "bsh:bsh:1.3.0"),
    _library("bsf", "bsf:bsf:2.3.0"),
    _library("commons", "commons-collections:commons-collections:2.0", "commons-lang:commons-lang:1.0"),
    _library("crimson", "crimson:crimson:1.1.3"),
    _library("dom4j", "dom4j:dom4j:1.1"),
    _library("hsqldb-1", "hsqldb:hsqldb:1.8.0.10"),
    _library("jdom", "jdom:jdom:b7"),
    _library("junit", "junit:junit:3.7"),
    _library("jython-2.1", "jython:jython:2.1"),
    _library("log4j-1.1", "log4j:log4j:1.1.3"),
    _library("log4j-1.2", "log4j:log4j:1.2.17"),
    _library("mysql", "mysql:mysql-connector-java:2.0.14"),
    _library("regexp", "regexp:regexp:1.2"),
    _library("retroweaver", "net.sourceforge.retroweaver:retroweaver:2.0.7", needs=("asm:asm:2.2.3",)),
    _library("soap", "soap:soap:2.3", needs=SERVLETS),
    _library("struts", "struts:struts:1.0.2", needs=SERVLETS),
    _library("xerces", "xerces:xercesImpl:2.0.2"),
    _library("xerces-1", "xerces:xerces:1.2.3"),
)

IN_PRODUCTION = (
    _library("bouncy-castle", "org.bouncycastle:bcprov-jdk18on:1.79"),
    _library("byte-buddy", "net.bytebuddy:byte-buddy:1.15.10"),
    _library("cassandra", "org.apache.cassandra:cassandra-all:4.1.7", needs=(SLF4J, GUAVA)),
    _library("cglib", "cglib:cglib-nodep:3.3.0"),
    _library("derby", "org.apache.derby:derby:10.14.2.0"),
    _library("ecj", "org.eclipse.jdt:ecj:3.33.0"),
    _library(
        "flink",
        "org.apache.flink:flink-runtime:1.20.0",
        needs=("org.apache.flink:flink-core:1.20.0", SLF4J),
    ),
    _library("guava", GUAVA, needs=("com.google.guava:failureaccess:1.0.2",)),
    _library("h2", "com.h2database:h2:2.5.252"),
    _library(
        "hibernate",
        "org.hibernate.orm:hibernate-core:6.6.2.Final",
        needs=("jakarta.persistence:jakarta.persistence-api:3.1.0", "org.jboss.logging:jboss-logging:3.6.1.Final"),
    ),
    _library("hsqldb", "org.hsqldb:hsqldb:2.7.3"),
    _library(
        "jackson",
        "com.fasterxml.jackson.core:jackson-databind:2.18.1",
        needs=(
            "com.fasterxml.jackson.core:jackson-core:2.18.1",
            "com.fasterxml.jackson.core:jackson-annotations:2.18.1",
        ),
    ),
    _library("kafka", "org.apache.kafka:kafka-clients:3.8.1", needs=(SLF4J,)),
    _library("kotlin-compiler", "org.jetbrains.kotlin:kotlin-compiler-embeddable:2.0.21", needs=(KOTLIN,), step=11),
    _library("lucene", "org.apache.lucene:lucene-core:9.12.0"),
    _library("math", "org.apache.commons:commons-math3:3.6.1"),
    _library(
        "netty",
        *(f"io.netty:netty-{part}:4.1.115.Final" for part in ("common", "buffer", "transport", "codec", "codec-http")),
        needs=("io.netty:netty-handler:4.1.115.Final", "io.netty:netty-resolver:4.1.115.Final"),
    ),
    _library("proguard", "net.sf.proguard:proguard-base:6.2.2"),
    _library("protobuf", "com.google.protobuf:protobuf-java:4.28.3"),
    _library("spring", *SPRING),
    _library("spring-web", "org.springframework:spring-web:6.1.14", needs=SPRING),
    _library("tomcat", "org.apache.tomcat.embed:tomcat-embed-core:10.1.33"),
    _library(
        "aspectj-woven",
        "org.springframework:spring-aspects:6.1.14",
        needs=("org.aspectj:aspectjrt:1.9.22.1", *SPRING),
    ),
)

LIBRARIES = (*OLD, *OTHER_LANGUAGES, *IN_PRODUCTION)
