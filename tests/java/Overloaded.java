import java.util.List;

/** Overloads whose parameters have different names, a static method, and a container nested in another class. */
public class Overloaded {
    static final class Basket {
        final List<String> lines = List.of("one", "two");
        int pieces = 2;
    }

    interface Priced {
        void price(Basket basket);

        default void pricier(Basket basket) {
            price(basket);
        }
    }

    static void ship(long order) {}

    static void ship(String customerName, int quantity) {}

    static void ship(Basket basket) {}

    static int parse(String text) throws NumberFormatException {
        return Integer.parseInt(text);
    }

    void executeQuery(String sql) {}

    void executeUpdate(String sql) {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        while (System.in.read() >= 0) {
            ship(1L);
            ship("ada", 2);
            ship(new Basket());
            parse("3");
        }
    }
}
