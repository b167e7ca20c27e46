import java.util.ArrayList;
import java.util.List;

/** Creates known numbers of objects and arrays. */
public final class Allocating {
    private static final List<Object> KEPT = new ArrayList<>();

    private Allocating() {}

    static final class Point {
        int x;
        int y;
    }

    public static void main(String[] arguments) {
        Gate.await();
        points(31);
        bytes(17);
        grids(5);
        lists(13);
        System.out.println("done");
        System.out.flush();
        Gate.pass();
        System.out.println(KEPT.size());
    }

    private static void points(int number) {
        for (int i = 0; i < number; i++) {
            KEPT.add(new Point());
        }
    }

    private static void bytes(int number) {
        for (int i = 0; i < number; i++) {
            KEPT.add(new byte[1000]);
        }
    }

    private static void grids(int number) {
        for (int i = 0; i < number; i++) {
            KEPT.add(new int[3][4]);
        }
    }

    private static void lists(int number) {
        for (int i = 0; i < number; i++) {
            KEPT.add(new ArrayList<>(List.of("a", "b")));
        }
    }
}
