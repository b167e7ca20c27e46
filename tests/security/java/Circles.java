import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Passes values to a traced method that are hard to show: they contain themselves, or are deep, or long. */
public class Circles {
    static final class Node {
        Object next;
        Object[] all;
        String text;
    }

    private static int sum;

    static int take(Object value, String text, int number) {
        sum += number % 7;
        return sum;
    }

    private static Object[] values() {
        List<Object> circle = new ArrayList<>();
        circle.add("first");
        circle.add(circle);
        Object[] array = new Object[2];
        array[0] = array;
        array[1] = circle;
        List<Object> deep = new ArrayList<>();
        for (int i = 0; i < 10_000; i++) {
            deep = new ArrayList<>(Arrays.asList(deep, deep));
        }
        Map<Object, Object> map = new HashMap<>();
        map.put("itself", map);
        map.put("circle", circle);
        Node node = new Node();
        node.next = node;
        node.all = new Object[] {node, map, array};
        char[] letters = new char[1_000_000];
        Arrays.fill(letters, 'a');
        node.text = new String(letters);
        return new Object[] {circle, array, deep, map, node, node.text, new long[1_000_000], Thread.currentThread()};
    }

    public static void main(String[] arguments) throws Exception {
        Object[] values = values();
        Node last = (Node) values[4];
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            int calls = Integer.parseInt(line.split(" ")[1]);
            sum = 0;
            for (int i = 0; i < calls; i++) {
                take(values[i % values.length], last.text, i);
            }
            System.out.println("called " + calls + " sum " + sum);
        }
    }
}
