/** A method whose parameter has fields that only a subtype of its type has. */
public class Shaped {
    static class Shape {
        static int drawn;
        String name = "shape";
    }

    static class Square extends Shape {
        double side = 2;
    }

    static void draw(Shape shape) {
    }
}
