import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Date;
import java.util.concurrent.CountDownLatch;

/** Objects whose methods do harm when a probe calls them: they run code that counts, wait, or take all memory. */
public class Treacherous {
    static int ran;

    static final class Text implements CharSequence {
        public int length() {
            ran++;
            return 4;
        }

        public char charAt(int index) {
            ran++;
            return 't';
        }

        public CharSequence subSequence(int start, int end) {
            ran++;
            return this;
        }

        public String toString() {
            ran++;
            return "text";
        }

        public boolean equals(Object other) {
            ran++;
            return true;
        }

        public int hashCode() {
            ran++;
            return 1;
        }
    }

    static final class Number extends BigInteger {
        Number(String digits) {
            super(digits);
        }

        public int signum() {
            ran++;
            return super.signum();
        }

        public int intValue() {
            ran++;
            return super.intValue();
        }

        public long longValue() {
            ran++;
            return super.longValue();
        }

        public double doubleValue() {
            ran++;
            return super.doubleValue();
        }

        public int bitLength() {
            ran++;
            return super.bitLength();
        }

        public String toString() {
            ran++;
            return super.toString();
        }

        public BigInteger abs() {
            ran++;
            return super.abs();
        }
    }

    static final class Moment extends Date {
        public long getTime() {
            ran++;
            return 0;
        }
    }

    static class Held {
        String string = "some text";
        String long1 = repeated('a', 1 << 20);
        String long2 = repeated('a', 1 << 19) + "b";
        String tooLong = repeated('a', (1 << 20) + 1);
        Object text = new Text();
        BigDecimal wide = new BigDecimal("1E300000000");
        BigDecimal tiny = new BigDecimal("1E-300000000");
        BigDecimal over = new BigDecimal(new Number("123456789012345678901234567890"), 2);
        BigInteger number = new Number("123456789012345678901234567890");
        BigInteger power = BigInteger.ONE.shiftLeft(1 << 20);
        Path path = Paths.get("/some/path/of/names");
        Date date = new Moment();
    }

    static String repeated(char c, int count) {
        char[] characters = new char[count];
        java.util.Arrays.fill(characters, c);
        return new String(characters);
    }

    static int look(Held held) {
        return 1;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        final Held held = new Held();
        final CountDownLatch taken = new CountDownLatch(1);
        Thread holder = new Thread(() -> {
            synchronized (held.path) {
                taken.countDown();
                while (true) {
                    try {
                        Thread.sleep(Long.MAX_VALUE);
                    } catch (InterruptedException again) {
                        continue;
                    }
                }
            }
        });
        holder.setDaemon(true);
        holder.start();
        taken.await();
        ran = 0;
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            look(held);
            System.out.println("ran " + ran);
        }
    }
}
