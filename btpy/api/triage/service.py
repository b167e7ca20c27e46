"""The description of a service: its main class, its JVM, and the frameworks that are loaded in it."""

from __future__ import annotations

import re

from btpy.api.session import BaseSession
from btpy.dataclass import dataclass
from btpy.model.patterns import ClassPatternKind
from btpy.wire.messages import Pattern

FRAMEWORKS = {
    "Spring Boot": "org.springframework.boot.SpringApplication",
    "Spring MVC": "org.springframework.web.servlet.DispatcherServlet",
    "Spring WebFlux": "org.springframework.web.reactive.DispatcherHandler",
    "Quarkus": "io.quarkus.runtime.Quarkus",
    "Micronaut": "io.micronaut.context.ApplicationContext",
    "Vert.x": "io.vertx.core.Vertx",
    "Play": "play.api.Application",
    "Tomcat": "org.apache.catalina.connector.CoyoteAdapter",
    "Jetty": "org.eclipse.jetty.server.Server",
    "Undertow": "io.undertow.server.Connectors",
    "Netty": "io.netty.channel.nio.NioEventLoop",
    "HttpServer of the JDK": "sun.net.httpserver.ServerImpl",
    "Hibernate": "org.hibernate.internal.SessionImpl",
    "MyBatis": "org.apache.ibatis.session.defaults.DefaultSqlSession",
    "jOOQ": "org.jooq.impl.DefaultDSLContext",
    "HikariCP": "com.zaxxer.hikari.pool.HikariPool",
    "Tomcat JDBC pool": "org.apache.tomcat.jdbc.pool.ConnectionPool",
    "PostgreSQL driver": "org.postgresql.jdbc.PgConnection",
    "MySQL driver": "com.mysql.cj.jdbc.ConnectionImpl",
    "MariaDB driver": "org.mariadb.jdbc.Connection",
    "Oracle driver": "oracle.jdbc.driver.OracleDriver",
    "SQL Server driver": "com.microsoft.sqlserver.jdbc.SQLServerConnection",
    "H2": "org.h2.jdbc.JdbcConnection",
    "HttpClient of the JDK": "jdk.internal.net.http.HttpClientImpl",
    "OkHttp": "okhttp3.OkHttpClient",
    "Apache HttpClient 5": "org.apache.hc.client5.http.impl.classic.InternalHttpClient",
    "Apache HttpClient 4": "org.apache.http.impl.client.InternalHttpClient",
    "Kafka producer": "org.apache.kafka.clients.producer.KafkaProducer",
    "Kafka consumer": "org.apache.kafka.clients.consumer.KafkaConsumer",
    "RabbitMQ client": "com.rabbitmq.client.impl.AMQConnection",
    "Lettuce": "io.lettuce.core.RedisClient",
    "Jedis": "redis.clients.jedis.Connection",
    "MongoDB driver": "com.mongodb.client.internal.MongoClientImpl",
    "gRPC": "io.grpc.internal.ManagedChannelImpl",
    "Caffeine": "com.github.benmanes.caffeine.cache.BoundedLocalCache",
    "Jackson 2": "com.fasterxml.jackson.databind.ObjectMapper",
    "Jackson 3": "tools.jackson.databind.ObjectMapper",
    "Logback": "ch.qos.logback.classic.Logger",
    "Log4j 2": "org.apache.logging.log4j.core.Logger",
    "Reactor": "reactor.core.publisher.Flux",
    "Kotlin coroutines": "kotlinx.coroutines.BuildersKt",
    "Akka": "akka.actor.ActorSystemImpl",
    "Pekko": "org.apache.pekko.actor.ActorSystemImpl",
}
"""The frameworks by name, each with a class that a program loads only if it uses the framework."""


_VERSION = re.compile(r"-(\d[\w.]*)(?:-jre|-android)?\.jar[!/]*$")
"""The version in the path of a jar, which may be inside another jar:
``shop.jar!/BOOT-INF/lib/HikariCP-7.0.2.jar!/``."""


@dataclass(frozen=True, slots=True)
class Service:
    """``uptime``: seconds. ``frameworks``: the frameworks, with their versions if the names of their jars have them."""

    pid: int
    main: str
    java: str
    uptime: float
    frameworks: tuple[str, ...]


def describe(session: BaseSession) -> Service:
    """Raises TargetGone and ProtocolError."""
    patterns = tuple(Pattern(ClassPatternKind.EXACT, name) for name in FRAMEWORKS.values())
    sources = {class_.name: class_.code_source for class_ in session.classes.matching(patterns, 10 * len(patterns))}
    target = session.target
    return Service(
        target.pid,
        target.main,
        target.java_version,
        target.process.uptime,
        tuple(_with_version(framework, sources[name]) for framework, name in FRAMEWORKS.items() if name in sources),
    )


def _with_version(framework: str, code_source: str) -> str:
    version = _VERSION.search(code_source)
    return framework if version is None else f"{framework} {version[1]}"
