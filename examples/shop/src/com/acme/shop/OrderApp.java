package com.acme.shop;

import com.acme.shop.http.HttpServer;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * A small web shop and its shoppers in one process, as a program to trace.
 *
 * <pre>
 * java -jar shop.jar [--rate N] [--requests N] [--seed N] [--port N] [--gate] [--exit-with-stdin]
 *   --rate N           requests a second (default 50; 0: as many as possible)
 *   --requests N       make exactly N requests, print the counts, and end (default: never end)
 *   --seed N           the seed of the sequence of requests (default 1)
 *   --port N           the port on the loopback interface (default: any free port)
 *   --gate             wait for a line on stdin before the first request, and for another line before the end
 *   --exit-with-stdin  end when stdin ends
 * </pre>
 */
public final class OrderApp {
    private static final int PRODUCTS = 61;
    private static final int REPORTS = 7;

    private OrderApp() {}

    public static void main(String[] arguments) throws Exception {
        Map<String, String> options = options(arguments);
        long requests = Long.parseLong(options.getOrDefault("requests", "-1"));
        boolean gate = options.containsKey("gate");
        if (options.containsKey("exit-with-stdin")) {
            Thread watch = new Thread(OrderApp::exitWithStdin, "stdin");
            watch.setDaemon(true);
            watch.start();
        }

        Catalog catalog = new Catalog(PRODUCTS);
        PricingEngine pricing = new PricingEngine(catalog);
        OrderService orders = new OrderService(customers(), pricing, new Inventory(catalog));
        HttpServer server = new HttpServer(Integer.parseInt(options.getOrDefault("port", "0")), 4);
        Endpoints.addAll(server, catalog, pricing, orders);
        server.start();
        System.out.println("ready port=" + server.port() + " pid=" + ProcessHandle.current().pid());
        if (gate) {
            awaitLine();
        }

        CountDownLatch reports = new CountDownLatch(REPORTS);
        ScheduledExecutorService timer =
                Executors.newSingleThreadScheduledExecutor(task -> new Thread(task, "timer-1"));
        timer.scheduleAtFixedRate(new Nightly(reports, requests >= 0), 300, 100, TimeUnit.MILLISECONDS);
        double rate = Double.parseDouble(options.getOrDefault("rate", "50"));
        long seed = Long.parseLong(options.getOrDefault("seed", "1"));
        new LoadGenerator(server.port(), PRODUCTS, seed, rate, requests).run(4);

        orders.close();
        reports.await();
        timer.shutdown();
        System.out.println(Tally.line());
        if (gate) {
            awaitLine();
        }
    }

    /** Loads the report by name when it first runs. With {@code limited}, runs it {@link #REPORTS} times. */
    private static final class Nightly implements Runnable {
        private final CountDownLatch left;
        private final boolean limited;
        private Runnable report;

        Nightly(CountDownLatch left, boolean limited) {
            this.left = left;
            this.limited = limited;
        }

        @Override
        public void run() {
            if (limited && left.getCount() == 0) {
                return;
            }
            if (report == null) {
                report = load();
            }
            report.run();
            left.countDown();
        }

        private static Runnable load() {
            try {
                Class<?> type = Class.forName("com.acme.shop.late.NightlyReport");
                return (Runnable) type.getDeclaredConstructor().newInstance();
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException("no report", e);
            }
        }
    }

    private static Map<String, Customer> customers() {
        Map<String, Customer> customers = new HashMap<>();
        Customer.Tier[] tiers = Customer.Tier.values();
        for (int i = 0; i < LoadGenerator.CUSTOMERS.length; i++) {
            String name = LoadGenerator.CUSTOMERS[i];
            customers.put(name, new Customer(name, tiers[i % tiers.length]));
        }
        return customers;
    }

    private static Map<String, String> options(String[] arguments) {
        Map<String, String> options = new HashMap<>();
        for (int i = 0; i < arguments.length; i++) {
            switch (arguments[i]) {
                case "--gate":
                case "--exit-with-stdin":
                    options.put(arguments[i].substring(2), "");
                    break;
                case "--rate":
                case "--requests":
                case "--seed":
                case "--port":
                    if (i + 1 == arguments.length) {
                        throw new IllegalArgumentException(arguments[i] + " needs a number");
                    }
                    options.put(arguments[i].substring(2), arguments[++i]);
                    break;
                default:
                    throw new IllegalArgumentException("unknown option " + arguments[i]);
            }
        }
        return options;
    }

    private static void awaitLine() throws IOException {
        int read;
        do {
            read = System.in.read();
        } while (read != '\n' && read != -1);
    }

    private static void exitWithStdin() {
        try {
            while (System.in.read() != -1) {
                // only the end of the input matters
            }
        } catch (IOException e) {
            // a broken stdin counts as ended
        }
        System.exit(0);
    }
}
