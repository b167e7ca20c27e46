import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

/** The class files of a benchmark, each with its length before it, and the printed result of a pass over them. */
final class Corpus {
    final List<byte[]> classes = new ArrayList<>();

    Corpus(String file) throws IOException {
        ByteBuffer data = ByteBuffer.wrap(Files.readAllBytes(Paths.get(file)));
        while (data.hasRemaining()) {
            byte[] classFile = new byte[data.getInt()];
            data.get(classFile);
            classes.add(classFile);
        }
    }

    /**
     * The result of one pass: numbers on which all programs of the benchmark have to agree, and the number of written
     * bytes.
     */
    static final class Found {
        long methods;
        long marks;
        long bytes;
    }

    interface Pass {
        void over(byte[] data, Found found);
    }

    /** Makes {@code rounds} passes; prints {@code round}, nanoseconds, methods, sites or instructions, bytes for each. */
    void measure(int rounds, Pass pass) {
        for (int round = 0; round < rounds; round++) {
            Found found = new Found();
            long start = System.nanoTime();
            for (byte[] classFile : classes) {
                pass.over(classFile, found);
            }
            long spent = System.nanoTime() - start;
            System.out.println("round " + spent + " " + found.methods + " " + found.marks + " " + found.bytes);
        }
    }
}
