import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Calls methods of classes that were not loaded before. Each line of standard input names the class and the number of calls. */
public final class Callers {
    interface Figure {
        int area(int n);
    }

    static class Square implements Figure {
        @Override
        public int area(int n) {
            return n * n;
        }
    }

    abstract static class Curved implements Figure {
        int bend(Curved other) {
            return other == this ? 1 : 2;
        }
    }

    static class Arc extends Curved {
        @Override
        public int area(int n) {
            return n;
        }
    }

    static final class Circle extends Arc {
        @Override
        public int area(int n) {
            return 3 * n * n;
        }
    }

    /** It has an area, but is not a Figure. */
    static final class Field {
        int area(int n) {
            return -n;
        }
    }

    static class Polygon implements Figure {
        @Override
        public int area(int n) {
            return n;
        }
    }

    static class Regular extends Polygon {}

    /** Its supertypes are not loaded earlier. The JVM shows it to the transformer before its superclass. */
    static final class Hexagon extends Regular {
        @Override
        public int area(int n) {
            return 5 * n + super.area(n);
        }
    }

    /** Loaded by the command {@code draw}, before the class that it calls. */
    static final class Drawing {
        static int draw(int times) {
            int sum = 0;
            Hexagon hexagon = new Hexagon();
            for (int i = 0; i < times; i++) {
                sum += hexagon.area(i) + new Field().area(i);
            }
            return sum;
        }
    }

    private Callers() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            int times = Integer.parseInt(words[1]);
            switch (words[0]) {
                case "square":
                    System.out.println("square " + square(times));
                    break;
                case "circle":
                    System.out.println("circle " + circle(times));
                    break;
                case "draw":
                    System.out.println("draw " + Drawing.draw(times));
                    break;
                default:
                    System.out.println("field " + field(times));
            }
            System.out.flush();
        }
    }

    private static int square(int times) {
        int sum = 0;
        Square square = new Square();
        for (int i = 0; i < times; i++) {
            sum += square.area(i);
        }
        return sum;
    }

    private static int circle(int times) {
        int sum = 0;
        Circle circle = new Circle();
        for (int i = 0; i < times; i++) {
            sum += circle.area(i) + circle.bend(circle);
        }
        return sum;
    }

    private static int field(int times) {
        int sum = 0;
        for (int i = 0; i < times; i++) {
            sum += new Field().area(i);
        }
        return sum;
    }
}
