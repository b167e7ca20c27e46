import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/**
 * Compiles for each line of stdin, which holds javac's arguments with a tab after each. The answer is javac's exit
 * status, and its messages after their length.
 */
public class CompilerServer {
    public static void main(String[] none) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        DataOutputStream answers = new DataOutputStream(System.out);
        for (String line; (line = requests.readLine()) != null; ) {
            ByteArrayOutputStream messages = new ByteArrayOutputStream();
            answers.writeInt(compiler.run(null, messages, messages, line.split("\t")));
            answers.writeInt(messages.size());
            messages.writeTo(answers);
            answers.flush();
        }
    }
}
