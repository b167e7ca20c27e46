import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Scanner;

/** Handles secrets of many kinds. Secrets contain the word Hush, other values do not. */
public class Secretive {
    static final class Credentials {
        final String user = "alice";
        final String password = "Hush-in-a-field";
        private String apiKey = "Hush-in-a-bean";

        String getPassword() {
            return password;
        }

        String apiKey() {
            return apiKey;
        }
    }

    static final class Server {
        final String name = "db1";
        final String url = "jdbc:postgresql://db1/shop?user=app&password=Hush-in-a-url";
        final Credentials login = new Credentials();
    }

    private String token = "";

    static String authenticate(String user, String password, char[] pin) {
        return user;
    }

    static String header(String line) {
        return line;
    }

    static void settings(Map<String, String> values, Properties properties) {}

    static void connect(Server server) {}

    static void refuse(String user) {
        throw new IllegalStateException("login of " + user + " failed: pwd=Hush-in-a-message");
    }

    void renew(String value) {
        token = value;
    }

    static String[] wide(String text) {
        return new String[] {text, "Basic SHVzaDpIdXNo"};
    }

    public static void main(String[] args) {
        Map<String, String> values = new LinkedHashMap<>(Collections.singletonMap("user", "alice"));
        values.put("client_secret", "Hush-in-a-map");
        values.put("slack.token", "Hush-in-a-map");
        Properties properties = new Properties();
        properties.put("db.password", "Hush-in-properties");
        Credentials credentials = new Credentials();
        System.out.println("ready");
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String line = lines.nextLine();
            if (line.startsWith("names ")) {
                for (String name : line.substring(6).split(" ")) {
                    settings(Collections.singletonMap(name, "Hush"), properties);
                }
                System.out.println("called with names");
                continue;
            }
            int calls = Integer.parseInt(line);
            for (int i = 0; i < calls; i++) {
                authenticate("alice", "Hush-in-a-parameter", "Hush".toCharArray());
                header("Authorization: Bearer Hush-in-a-header");
                header("GET /x?access_token=Hush-in-a-query&page=2");
                header("{\"user\":\"alice\",\"password\":\"Hush in JSON\"}");
                header("Set-Cookie: JSESSIONID=Hush-in-a-cookie; Path=/");
                header("https://alice:Hush-in-an-address@example.org/");
                header("-----BEGIN PRIVATE KEY-----\nHushHushHush");
                settings(values, properties);
                connect(new Server());
                wide("\u20ac password=Hush-in-wide-characters");
                new Secretive().renew("Hush-in-an-assignment");
                credentials.getPassword();
                credentials.apiKey();
                try {
                    refuse("alice");
                } catch (IllegalStateException expected) {
                    // the call of `refuse` is there to throw this
                }
            }
            System.out.println("called " + calls);
        }
    }
}
