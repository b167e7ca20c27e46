"""The frameworks of the libraries' tests: the jars of each, with its dependencies, at two major versions."""

from __future__ import annotations

from pathlib import Path

from tests.maven import artifact

STACKS: dict[str, tuple[str, ...]] = {
    "h2": ("com.h2database:h2:2.5.252",),
    "hikari7": (
        "com.zaxxer:HikariCP:7.0.2",
        "org.slf4j:slf4j-api:2.0.17",
    ),
    "hikari3": (
        "com.zaxxer:HikariCP:3.4.5",
        "org.slf4j:slf4j-api:1.7.25",
    ),
    "tjdbc11": (
        "org.apache.tomcat:tomcat-jdbc:11.0.13",
        "org.apache.tomcat:tomcat-juli:11.0.13",
    ),
    "tjdbc8": (
        "org.apache.tomcat:tomcat-jdbc:8.5.100",
        "org.apache.tomcat:tomcat-juli:8.5.100",
    ),
    "okhttp5": (
        "com.squareup.okhttp3:okhttp-jvm:5.3.0",
        "com.squareup.okio:okio-jvm:3.16.2",
        "org.jetbrains.kotlin:kotlin-stdlib:2.2.21",
        "org.jetbrains:annotations:13.0",
    ),
    "okhttp3": (
        "com.squareup.okhttp3:okhttp:3.14.9",
        "com.squareup.okio:okio:1.17.2",
    ),
    "hc55": (
        "org.apache.httpcomponents.client5:httpclient5:5.5.1",
        "org.apache.httpcomponents.core5:httpcore5-h2:5.3.6",
        "org.apache.httpcomponents.core5:httpcore5:5.3.6",
        "org.slf4j:slf4j-api:1.7.36",
    ),
    "hc51": (
        "commons-codec:commons-codec:1.15",
        "org.apache.httpcomponents.client5:httpclient5:5.1.4",
        "org.apache.httpcomponents.core5:httpcore5-h2:5.1.5",
        "org.apache.httpcomponents.core5:httpcore5:5.1.5",
        "org.slf4j:slf4j-api:1.7.25",
    ),
    "logback15": (
        "ch.qos.logback:logback-classic:1.5.18",
        "ch.qos.logback:logback-core:1.5.18",
        "org.slf4j:jul-to-slf4j:2.0.17",
        "org.slf4j:slf4j-api:2.0.17",
    ),
    "logback12": (
        "ch.qos.logback:logback-classic:1.2.13",
        "ch.qos.logback:logback-core:1.2.13",
        "org.slf4j:jul-to-slf4j:1.7.36",
        "org.slf4j:slf4j-api:1.7.36",
    ),
    "log4j225": (
        "com.lmax:disruptor:3.4.4",
        "org.apache.logging.log4j:log4j-api:2.25.1",
        "org.apache.logging.log4j:log4j-core:2.25.1",
    ),
    "log4j217": (
        "com.lmax:disruptor:3.4.4",
        "org.apache.logging.log4j:log4j-api:2.17.1",
        "org.apache.logging.log4j:log4j-core:2.17.1",
    ),
    "tomcat11": (
        "org.apache.tomcat.embed:tomcat-embed-core:11.0.13",
        "org.apache.tomcat:tomcat-annotations-api:11.0.13",
    ),
    "jetty12": (
        "jakarta.servlet:jakarta.servlet-api:6.0.0",
        "org.eclipse.jetty.ee10:jetty-ee10-servlet:12.1.4",
        "org.eclipse.jetty:jetty-http:12.1.4",
        "org.eclipse.jetty:jetty-io:12.1.4",
        "org.eclipse.jetty:jetty-security:12.1.4",
        "org.eclipse.jetty:jetty-server:12.1.4",
        "org.eclipse.jetty:jetty-session:12.1.4",
        "org.eclipse.jetty:jetty-util:12.1.4",
        "org.slf4j:slf4j-api:2.0.17",
    ),
    "jetty120": (
        "jakarta.servlet:jakarta.servlet-api:6.0.0",
        "org.eclipse.jetty.ee10:jetty-ee10-servlet:12.0.16",
        "org.eclipse.jetty:jetty-http:12.0.16",
        "org.eclipse.jetty:jetty-io:12.0.16",
        "org.eclipse.jetty:jetty-security:12.0.16",
        "org.eclipse.jetty:jetty-server:12.0.16",
        "org.eclipse.jetty:jetty-session:12.0.16",
        "org.eclipse.jetty:jetty-util:12.0.16",
        "org.slf4j:slf4j-api:2.0.16",
    ),
    "undertow2": (
        "io.smallrye.common:smallrye-common-annotation:2.6.0",
        "io.smallrye.common:smallrye-common-constraint:2.6.0",
        "io.smallrye.common:smallrye-common-cpu:2.6.0",
        "io.smallrye.common:smallrye-common-function:2.6.0",
        "io.undertow:undertow-core:2.3.20.Final",
        "io.undertow:undertow-servlet:2.3.20.Final",
        "jakarta.annotation:jakarta.annotation-api:2.1.1",
        "jakarta.servlet:jakarta.servlet-api:6.0.0",
        "org.jboss.logging:jboss-logging:3.4.3.Final",
        "org.jboss.threads:jboss-threads:3.7.0.Final",
        "org.jboss.xnio:xnio-api:3.8.16.Final",
        "org.jboss.xnio:xnio-nio:3.8.16.Final",
        "org.wildfly.client:wildfly-client-config:1.0.1.Final",
        "org.wildfly.common:wildfly-common:1.5.4.Final",
    ),
    "jedis7": (
        "com.google.code.gson:gson:2.13.2",
        "org.apache.commons:commons-pool2:2.12.1",
        "org.json:json:20250517",
        "org.slf4j:slf4j-api:1.7.36",
        "redis.clients.authentication:redis-authx-core:0.1.1-beta2",
        "redis.clients:jedis:7.0.0",
    ),
    "jedis3": (
        "org.apache.commons:commons-pool2:2.11.1",
        "org.slf4j:slf4j-api:1.7.30",
        "redis.clients:jedis:3.10.0",
    ),
    "lettuce7": (
        "io.lettuce:lettuce-core:7.0.0.RELEASE",
        "io.netty:netty-buffer:4.2.4.Final",
        "io.netty:netty-codec-base:4.2.4.Final",
        "io.netty:netty-codec-dns:4.2.4.Final",
        "io.netty:netty-common:4.2.4.Final",
        "io.netty:netty-handler:4.2.4.Final",
        "io.netty:netty-resolver-dns:4.2.4.Final",
        "io.netty:netty-resolver:4.2.4.Final",
        "io.netty:netty-transport-native-unix-common:4.2.4.Final",
        "io.netty:netty-transport:4.2.4.Final",
        "io.projectreactor:reactor-core:3.6.6",
        "org.reactivestreams:reactive-streams:1.0.4",
        "org.slf4j:slf4j-api:1.7.36",
        "redis.clients.authentication:redis-authx-core:0.1.1-beta2",
    ),
    "lettuce5": (
        "io.lettuce:lettuce-core:5.3.7.RELEASE",
        "io.netty:netty-buffer:4.1.63.Final",
        "io.netty:netty-codec:4.1.63.Final",
        "io.netty:netty-common:4.1.63.Final",
        "io.netty:netty-handler:4.1.63.Final",
        "io.netty:netty-resolver:4.1.63.Final",
        "io.netty:netty-transport:4.1.63.Final",
        "io.projectreactor:reactor-core:3.3.16.RELEASE",
        "org.reactivestreams:reactive-streams:1.0.3",
    ),
    "caffeine3": (
        "com.github.ben-manes.caffeine:caffeine:3.2.3",
        "org.jspecify:jspecify:1.0.0",
    ),
    "caffeine2": (
        "com.github.ben-manes.caffeine:caffeine:2.9.3",
        "org.checkerframework:checker-qual:3.19.0",
    ),
}


def jars(*names: str) -> list[Path]:
    """The jars of these stacks, each once. Raises MissingArtifactError."""
    return [artifact(each) for each in dict.fromkeys(each for name in names for each in STACKS[name])]
