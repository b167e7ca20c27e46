package btpy.agent;

import java.util.Scanner;

/**
 * Reads lines of hexadecimal digits: {@code chars} with UTF-16 units, whose frame it prints, or {@code bytes} with the
 * bytes of a string, whose UTF-16 units it prints, or the error.
 */
public final class Strings {
    public static void main(String[] arguments) throws Exception {
        Scanner lines = new Scanner(System.in, "ISO-8859-1");
        while (lines.hasNext()) {
            boolean encode = lines.next().equals("chars");
            String digits = lines.next().substring(1);
            StringBuilder result = new StringBuilder("=");
            if (encode) {
                StringBuilder text = new StringBuilder();
                for (int i = 0; i < digits.length(); i += 4) {
                    text.append((char) Integer.parseInt(digits.substring(i, i + 4), 16));
                }
                Frame frame = new Frame(Frame.DONE).string(text.toString());
                for (byte b : frame.copy(5, frame.size() - 5)) {
                    result.append(String.format("%02x", b));
                }
            } else {
                byte[] message = new byte[5 + digits.length() / 2];
                for (int i = 5; i < message.length; i++) {
                    message[i] = (byte) Integer.parseInt(digits.substring(2 * i - 10, 2 * i - 8), 16);
                }
                message[3] = (byte) (digits.length() / 2 >> 8);
                message[4] = (byte) (digits.length() / 2);
                try {
                    Payload payload = new Payload(message);
                    for (char c : payload.string().toCharArray()) {
                        result.append(String.format("%04x", (int) c));
                    }
                    payload.end();
                } catch (ProtocolException refusal) {
                    result = new StringBuilder("refused");
                }
            }
            System.out.println(result);
        }
    }
}
