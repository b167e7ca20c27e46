import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.NotSerializableException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.text.SimpleDateFormat;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.TimeZone;
import java.util.regex.Pattern;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** Work of the JDK in one thread, each kind a known number of times: patterns, objects as bytes, ciphers, processes, … */
public final class Computing {
    private static final List<ByteBuffer> KEPT = new ArrayList<>();

    private Computing() {}

    static final class Order implements Serializable {
        private static final long serialVersionUID = 1;
        final String[] lines = {"apples", "pears"};
    }

    static final class Broken implements Serializable {
        private static final long serialVersionUID = 1;
        final Object secret = new Object();
    }

    public static void main(String[] arguments) throws Exception {
        Gate.await();
        patterns();
        objects();
        processes();
        buffers(Path.of(arguments[0]));
        reflection();
        ciphers();
        dates();
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    private static void patterns() {
        int found = 0;
        for (int i = 0; i < 31; i++) {
            found += "order 4711 of today".matches("order \\d+ .*") ? 1 : 0;
        }
        Pattern slow = Pattern.compile("(a+)+b");
        for (int i = 0; i < 5; i++) {
            found += slow.matcher("a".repeat(20)).matches() ? 1 : 0;
        }
        if (found != 31) {
            throw new AssertionError(found);
        }
    }

    private static void objects() throws Exception {
        byte[] bytes = new byte[0];
        for (int i = 0; i < 13; i++) {
            bytes = written(new Order());
        }
        for (int i = 0; i < 17; i++) {
            try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
                in.readObject();
            }
        }
        for (int i = 0; i < 3; i++) {
            try {
                written(new Broken());
                throw new AssertionError("it was written");
            } catch (NotSerializableException e) {
                // the expected result
            }
        }
    }

    private static byte[] written(Object object) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(object);
        }
        return bytes.toByteArray();
    }

    /** 5 processes that succeed, 3 that fail, 2 that cannot be started. */
    private static void processes() throws Exception {
        for (int i = 0; i < 5; i++) {
            new ProcessBuilder("true", "--password", "swordfish").start().waitFor();
        }
        for (int i = 0; i < 3; i++) {
            Runtime.getRuntime().exec(new String[] {"sh", "-c", "exit 7"}).waitFor();
        }
        for (int i = 0; i < 2; i++) {
            try {
                new ProcessBuilder("/no/such/command").start();
                throw new AssertionError("it was started");
            } catch (IOException e) {
                // the expected result
            }
        }
    }

    /** 13 direct buffers, of which 2 stay; a file that is mapped 8 times, of which 5 stay. */
    private static void buffers(Path file) throws Exception {
        for (int i = 0; i < 11; i++) {
            ByteBuffer.allocateDirect(1009);
        }
        for (int i = 0; i < 2; i++) {
            KEPT.add(ByteBuffer.allocateDirect(10_007));
        }
        Files.write(file, new byte[4099]);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            for (int i = 0; i < 8; i++) {
                keep(i < 5, channel.map(FileChannel.MapMode.READ_ONLY, 0, 4099));
            }
        }
        System.gc();
        Thread.sleep(300);
    }

    public static int twice(int number) {
        return 2 * number;
    }

    private static void reflection() throws Exception {
        for (int i = 0; i < 7; i++) {
            Computing.class.getMethod("twice", int.class);
        }
        java.lang.reflect.Method length = String.class.getMethod("length");
        for (int i = 0; i < 37; i++) {
            length.invoke("text");
        }
        java.lang.reflect.Constructor<?> constructor = ArrayList.class.getConstructor();
        for (int i = 0; i < 11; i++) {
            constructor.newInstance();
        }
    }

    private static void ciphers() throws Exception {
        SecretKeySpec key = new SecretKeySpec(new byte[16], "AES");
        for (int i = 0; i < 7; i++) {
            Cipher weak = Cipher.getInstance("AES");
            weak.init(Cipher.ENCRYPT_MODE, key);
            weak.doFinal(new byte[101]);
        }
        for (int i = 0; i < 5; i++) {
            Cipher better = Cipher.getInstance("AES/CBC/PKCS5Padding");
            better.init(Cipher.ENCRYPT_MODE, key, new IvParameterSpec(new byte[16]));
            better.doFinal(new byte[1009]);
        }
        for (int i = 0; i < 13; i++) {
            MessageDigest.getInstance("MD5").digest(new byte[10]);
        }
        for (int i = 0; i < 3; i++) {
            MessageDigest.getInstance("SHA-256").digest(new byte[10]);
        }
        SecureRandom random = new SecureRandom();
        for (int i = 0; i < 17; i++) {
            random.nextBytes(new byte[19]);
        }
    }

    private static void dates() throws Exception {
        for (int i = 0; i < 19; i++) {
            new SimpleDateFormat("yyyy-MM-dd");
        }
        for (int i = 0; i < 11; i++) {
            DateTimeFormatter.ofPattern("HH:mm");
        }
        for (int i = 0; i < 5; i++) {
            Thread.sleep(2);
        }
        TimeZone.setDefault(TimeZone.getTimeZone("Asia/Tokyo"));
    }

    private static void keep(boolean stays, ByteBuffer buffer) {
        if (stays) {
            KEPT.add(buffer);
        }
    }
}
