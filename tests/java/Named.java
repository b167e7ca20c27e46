import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Prints the name of a parameter of its own, read by reflection, when a line arrives. */
public class Named {
    static String hello(String name) {
        return "hello " + name;
    }

    public static void main(String[] arguments) throws Exception {
        hello("world");
        System.out.println("ready");
        new BufferedReader(new InputStreamReader(System.in)).readLine();
        System.out.println("parameter " + Named.class.getDeclaredMethod("hello", String.class).getParameters()[0].getName());
    }
}
