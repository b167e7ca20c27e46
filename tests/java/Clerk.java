import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/** Carries out lines of the form {@code sell THING SIZE TIMES}; THING may have {@code \\uXXXX} escapes. */
public class Clerk {
    static long sold;

    static void sell(String thing, int size) {
        sold += size + thing.length();
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("sell")) {
                String thing = plain(words[1]);
                for (int times = Integer.parseInt(words[3]); times > 0; times--) {
                    sell(thing, Integer.parseInt(words[2]));
                }
                System.out.println("sold");
            } else if (words[0].equals("threads")) {
                long agents = Thread.getAllStackTraces().keySet().stream()
                        .filter(each -> each.getName().startsWith("btpy")).count();
                System.out.println("threads " + agents);
            }
        }
    }

    private static String plain(String text) {
        StringBuilder plain = new StringBuilder();
        for (int at = 0; at < text.length(); at++) {
            if (text.startsWith("\\u", at)) {
                plain.append((char) Integer.parseInt(text.substring(at + 2, at + 6), 16));
                at += 5;
            } else {
                plain.append(text.charAt(at));
            }
        }
        return plain.toString();
    }
}
