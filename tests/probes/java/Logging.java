import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.ConfigurationSource;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.Property;
import org.slf4j.LoggerFactory;
import org.slf4j.bridge.SLF4JBridgeHandler;

/** Messages of Logback, Log4j 2 and java.util.logging to appenders that count, one of which is slow. */
public final class Logging {
    private static final String LOG4J = "<Configuration status='OFF'><Loggers><Root level='INFO'/>"
            + "<Logger name='stock.Service' level='INFO'/><AsyncLogger name='stock.Async' level='INFO'/>"
            + "</Loggers></Configuration>";

    private Logging() {}

    /** An appender of Logback. */
    private static final class Appended extends AppenderBase<ILoggingEvent> {
        final AtomicInteger count = new AtomicInteger();

        @Override
        protected void append(ILoggingEvent message) {
            count.incrementAndGet();
            if (message.getLoggerName().equals("orders.Audit")) {
                sleep(300);
            }
        }
    }

    /** An appender of Log4j 2. */
    private static final class Counting extends AbstractAppender {
        final AtomicInteger count = new AtomicInteger();

        Counting() {
            super("counting", null, null, true, Property.EMPTY_ARRAY);
        }

        @Override
        public void append(LogEvent message) {
            count.incrementAndGet();
        }
    }

    /** A handler of java.util.logging. */
    private static final class Handled extends Handler {
        int count;

        @Override
        public void publish(LogRecord message) {
            count++;
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }

    public static void main(String[] arguments) throws Exception {
        Appended appended = new Appended();
        LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
        context.reset();
        appended.setContext(context);
        appended.start();
        context.getLogger(Logger.ROOT_LOGGER_NAME).addAppender(appended);
        context.getLogger(Logger.ROOT_LOGGER_NAME).setLevel(Level.INFO);
        Counting counting = new Counting();
        counting.start();
        org.apache.logging.log4j.core.LoggerContext log4j = Configurator.initialize(
                Logging.class.getClassLoader(),
                new ConfigurationSource(new ByteArrayInputStream(LOG4J.getBytes())));
        log4j.getConfiguration().getRootLogger().addAppender(counting, null, null);
        log4j.getConfiguration().getLoggerConfig("stock.Async").addAppender(counting, null, null);
        log4j.updateLoggers();
        Handled handled = new Handled();
        java.util.logging.Logger.getLogger("").addHandler(handled);
        java.util.logging.Logger.getLogger("").removeHandler(java.util.logging.Logger.getLogger("").getHandlers()[0]);
        Gate.await();
        logback(LoggerFactory.getLogger("orders.Service"), LoggerFactory.getLogger("orders.Audit"));
        log4j();
        jul(java.util.logging.Logger.getLogger("billing.Service"));
        log4j.stop();
        System.out.println("handled " + appended.count + " " + counting.count + " " + handled.count);
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    private static void logback(org.slf4j.Logger orders, org.slf4j.Logger audit) {
        for (int i = 0; i < 41; i++) {
            orders.info("order {} placed", i);
            orders.debug("order {} of a level that is off", i);
        }
        for (int i = 0; i < 13; i++) {
            orders.warn("not delivered {}", i, new IOException("refused"));
        }
        for (int i = 0; i < 2; i++) {
            audit.error("slow");
        }
    }

    private static void log4j() {
        for (int i = 0; i < 37; i++) {
            LogManager.getLogger("stock.Service").info("{} in stock", i);
        }
        for (int i = 0; i < 7; i++) {
            LogManager.getLogger("stock.Service").error("no stock", new IOException("refused"));
        }
        for (int i = 0; i < 19; i++) {
            LogManager.getLogger("stock.Async").warn("reserved {}", i);
        }
        for (int i = 0; i < 5; i++) {
            LogManager.getLogger("other").debug("a level that is off");
        }
    }

    private static void jul(java.util.logging.Logger billing) {
        for (int i = 0; i < 29; i++) {
            billing.log(java.util.logging.Level.WARNING, "bill {0}", i);
            billing.log(new LogRecord(java.util.logging.Level.FINE, "a level that is off"));
        }
        for (int i = 0; i < 3; i++) {
            billing.log(java.util.logging.Level.SEVERE, "unpaid", new IOException("refused"));
        }
        SLF4JBridgeHandler.install();
        for (int i = 0; i < 11; i++) {
            billing.info("bridged");
        }
    }

    private static void sleep(int milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
