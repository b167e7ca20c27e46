import java.io.File;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.net.URL;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Shows values of the JDK to a probe, and prints Java's own text of each. */
public final class Known {
    private Known() {}

    static final class Refused extends IllegalStateException {
        private static final long serialVersionUID = 1L;
        final int code;

        Refused(String message, int code) {
            super(message);
            this.code = code;
        }
    }

    static void take(Object value) {}

    public static void main(String[] arguments) throws Exception {
        Object[] values = {
            new BigDecimal("0"), new BigDecimal("-12.50"), new BigDecimal("1E+9"), new BigDecimal("0.0000001"),
            new BigDecimal("0.000001"), new BigDecimal("1e-400"),
            BigInteger.ZERO, BigInteger.valueOf(-7), BigInteger.TWO.pow(200).negate(),
            UUID.fromString("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"), new UUID(0, 1),
            LocalDate.of(2026, 2, 3), LocalTime.of(7, 5), LocalTime.of(7, 5, 9), LocalTime.of(7, 5, 9, 120_000_000),
            LocalTime.of(7, 5, 9, 120_400), LocalTime.of(23, 59, 0, 7), LocalDateTime.of(2026, 2, 3, 4, 5),
            Instant.EPOCH, Instant.ofEpochSecond(1_790_000_000L, 5_000_000), Instant.ofEpochSecond(-1, 999_999_999),
            new URL("http://user@acme.com:8080/a/b?c=d#e"), new URL("file:/tmp/x"), URI.create("urn:isbn:1"),
            URI.create("http://acme.com/?q=%20"), new File("/tmp/a b"), new File(""), Path.of("/etc"), Path.of(""),
            new AtomicInteger(-3), new AtomicLong(1L << 40), new AtomicBoolean(true),
            new IllegalStateException("no"), new IllegalStateException(),
        };
        Gate.await();
        for (Object value : values) {
            take(value);
            System.out.println("value " + value);
        }
        take(new Refused("by the bank", 51));
        System.out.println("done");
        Gate.pass();
    }
}
