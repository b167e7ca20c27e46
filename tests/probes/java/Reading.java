import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Files of a directory, each read or written in one way, with a known number of bytes. */
public final class Reading {
    private Reading() {}

    public static void main(String[] arguments) throws Exception {
        Path directory = Path.of(arguments[0]);
        // Some JDKs load this class with the first channel; on a busy machine its first calls might run before it is woven.
        Class.forName("sun.nio.ch.FileChannelImpl");
        Gate.await();
        stream(directory.resolve("stream.dat").toString());
        random(directory.resolve("random.dat").toString());
        channel(directory.resolve("channel.dat"));
        Files.write(directory.resolve("whole.dat"), new byte[1013]);
        for (int i = 0; i < 11; i++) {
            Files.readAllBytes(directory.resolve("whole.dat"));
        }
        for (int i = 0; i < 3; i++) {
            try (FileInputStream none = new FileInputStream(directory.resolve("missing.dat").toString())) {
                throw new IllegalStateException("it exists");
            } catch (IOException e) {
                // the expected result
            }
        }
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    /** Writes 13 + 31 × 17 + 7 bytes, and reads 5 of them singly and the others in arrays. */
    private static void stream(String path) throws IOException {
        try (FileOutputStream out = new FileOutputStream(path)) {
            out.write(new byte[13]);
            for (int i = 0; i < 31; i++) {
                out.write(new byte[23], 3, 17);
            }
            for (int i = 0; i < 7; i++) {
                out.write(i);
            }
        }
        try (FileInputStream in = new FileInputStream(path)) {
            for (int i = 0; i < 5; i++) {
                in.read();
            }
            byte[] buffer = new byte[101];
            while (in.read(buffer) > 0) {
                in.read(buffer, 1, 100);
            }
        }
    }

    /** Writes 19 × 29 bytes, and reads the first 37 bytes. */
    private static void random(String path) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            for (int i = 0; i < 19; i++) {
                file.write(new byte[29]);
            }
            file.seek(0);
            file.readFully(new byte[37]);
        }
    }

    /** Writes 43 × 41 bytes, forces them to disk 5 times, and reads 3 × 47 bytes. */
    private static void channel(Path path) throws IOException {
        try (FileChannel file = FileChannel.open(
                path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            for (int i = 0; i < 43; i++) {
                file.write(ByteBuffer.allocate(41));
            }
            for (int i = 0; i < 5; i++) {
                file.force(false);
            }
            for (int i = 0; i < 3; i++) {
                file.read(ByteBuffer.allocate(47), i * 47);
            }
        }
    }
}
