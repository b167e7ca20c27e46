import java.util.ArrayList;
import java.util.List;

/** Objects that are written as JSON and read from it, in known numbers, by a version of Jackson. */
abstract class Mapping {
    public static final class Order {
        public int id;
        public List<Line> lines = new ArrayList<>();
    }

    public static final class Line {
        public String sku = "sku";
    }

    public static final class Customer {
        public String name = "ada";
    }

    abstract String write(Object value) throws Exception;

    abstract byte[] writeThroughWriter(Object value) throws Exception;

    abstract <T> T read(String json, Class<T> type) throws Exception;

    abstract <T> T readThroughReader(String json, Class<T> type) throws Exception;

    abstract List<Line> readLines(String json) throws Exception;

    abstract void readTree(String json) throws Exception;

    abstract <T> T convert(Object value, Class<T> type);

    final void run() throws Exception {
        Gate.await();
        Order order = new Order();
        order.lines.add(new Line());
        int length = 0;
        for (int i = 0; i < 29; i++) {
            length += write(order).length();
        }
        for (int i = 0; i < 13; i++) {
            length += writeThroughWriter(order).length;
        }
        for (int i = 0; i < 7; i++) {
            length += write(List.of(order, order)).length();
        }
        String json = "{\"id\":7,\"lines\":[{\"sku\":\"a\"}]}";
        for (int i = 0; i < 23; i++) {
            length += read(json, Order.class).id;
        }
        for (int i = 0; i < 11; i++) {
            length += readThroughReader(json, Order.class).id;
        }
        for (int i = 0; i < 5; i++) {
            length += readLines("[{\"sku\":\"a\"},{\"sku\":\"b\"}]").size();
        }
        for (int i = 0; i < 3; i++) {
            readTree(json);
        }
        for (int i = 0; i < 2; i++) {
            length += convert(new Customer(), Customer.class).name.length();
        }
        System.out.println("length " + length + ", failed " + failed());
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    private int failed() {
        int failed = 0;
        for (int i = 0; i < 17; i++) {
            try {
                read("{\"name\":[]}", Customer.class);
            } catch (Exception e) {
                failed++;
            }
        }
        return failed;
    }
}
