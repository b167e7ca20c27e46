package com.acme.shop;

import com.acme.Basket;
import com.acme.Foo;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.File;
import java.io.IOException;
import java.math.BigDecimal;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.file.Files;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

enum Status { NEW, SHIPPED, RETURNED }

final class Item {
    final String sku;
    final int qty;

    Item(String sku, int qty) {
        this.sku = sku;
        this.qty = qty;
    }
}

final class Order {
    Status status = Status.NEW;
}

final class OrderService {
    int place(String customer, int qty, List<Item> items) {
        return customer.length() + qty + items.size();
    }

    int place(Order order) {
        return order.status.ordinal();
    }

    void move(Order order, Status to) {
        order.status = to;
    }
}

final class PricingEngine {
    BigDecimal quote(String sku, int qty) throws InterruptedException {
        Thread.sleep(qty % 2 == 0 ? 60 : 1);
        String asked = sku;
        sku = null; // probes show the argument's value at entry, also at the exit
        return qty == 4 ? null : new BigDecimal(asked.length() + qty);
    }
}

final class Repository {
    static final class LostException extends SQLException {
        private static final long serialVersionUID = 1L;

        LostException() {
            super("connection lost", "08006");
        }
    }

    void load(int id) throws SQLException {
        if (id % 3 == 0) {
            throw new LostException();
        }
        if (id % 3 == 1) {
            throw new IllegalStateException("not now");
        }
    }
}

@RestController
final class Endpoints {
    @GetMapping("/orders")
    public int orders() {
        return 1;
    }

    @PostMapping("/orders")
    public int handleOrder(boolean fail) {
        if (fail) {
            throw new IllegalArgumentException("no such order");
        }
        return 2;
    }

    public int notMapped() {
        return 3;
    }
}

final class Cart {
    int total(double discount, List<Item> items) {
        int sum = 0;
        for (Item item : items) sum += item.qty;
        return (int) (sum * (1 - discount)); // the line that the script names
    }
}

/** The program of the fourteen worked scripts of the language. It runs one round for each line of stdin. */
public final class World {
    private static final String[] STATEMENTS = {
        "CREATE TABLE IF NOT EXISTS account (id INT PRIMARY KEY, owner VARCHAR(40))",
        "MERGE INTO account KEY (id) VALUES (?, ?)",
        "SELECT owner FROM account WHERE id = ?",
    };
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final Object MONITOR = new Object();
    private static Connection database;

    private World() {}

    static final class Accounts extends HttpServlet {
        private static final long serialVersionUID = 1L;

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            int statements = Integer.parseInt(request.getParameter("n"));
            try {
                for (int i = 0; i < statements; i++) {
                    select(i);
                }
            } catch (SQLException e) {
                throw new IOException(e);
            }
            response.getWriter().write("ok");
        }
    }

    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("").setLevel(Level.OFF);
        database = DriverManager.getConnection("jdbc:h2:mem:world;DB_CLOSE_DELAY=-1");
        try (Statement statement = database.createStatement()) {
            statement.execute(STATEMENTS[0]);
        }
        File base = Files.createTempDirectory("world").toFile();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(base.getPath());
        tomcat.setPort(0);
        Context context = tomcat.addContext("/app", base.getAbsolutePath());
        Tomcat.addServlet(context, "accounts", new Accounts());
        context.addServletMappingDecoded("/accounts", "accounts");
        tomcat.getConnector();
        tomcat.start();
        String url = "http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/app/accounts?n=";
        round(url);
        System.out.println("ready");
        while (System.in.read() == '\n') {
            round(url);
            System.out.println("done");
        }
        tomcat.stop();
    }

    private static void round(String url) throws Exception {
        for (int i = 0; i < 7; i++) {
            new OrderService().place("customer " + i, i, i == 3 ? List.of() : List.of(new Item("SKU-" + i, i)));
        }
        new OrderService().place(new Order());
        for (int i = 0; i < 5; i++) {
            new PricingEngine().quote("SKU-" + i, i);
        }
        for (int i = 0; i < 23; i++) {
            try {
                new Repository().load(i);
            } catch (SQLException | IllegalStateException e) {
                // the program swallows eight of these exceptions, and logs eight
            }
        }
        Thread dying = new Thread(() -> Arrays.asList(1).set(1, 2), "dying");
        dying.setUncaughtExceptionHandler((thread, exception) -> {});
        dying.start();
        dying.join();
        Endpoints endpoints = new Endpoints();
        for (int i = 0; i < 13; i++) {
            endpoints.orders();
            endpoints.notMapped();
            try {
                endpoints.handleOrder(i < 3);
            } catch (IllegalArgumentException e) {
                // three of thirteen
            }
        }
        for (int i = 0; i < 2003; i++) {
            allocate(i);
        }
        contend();
        File file = File.createTempFile("world", null);
        for (int i = 0; i < 3; i++) {
            Foo.bar(i, file.toURI().toURL());
        }
        file.delete();
        for (int i = 0; i < 11; i++) {
            new Cart().total(i / 10.0, List.of(new Item("a", i == 2 ? -1 : 1)));
        }
        Order order = new Order();
        for (Status to : new Status[] {Status.SHIPPED, Status.SHIPPED, Status.RETURNED, Status.NEW}) {
            new OrderService().move(order, to);
        }
        for (int i = 0; i < 31; i++) {
            try (PreparedStatement merge = database.prepareStatement(STATEMENTS[1])) {
                merge.setInt(1, i);
                merge.setString(2, "owner " + i);
                merge.executeUpdate();
            }
        }
        for (int i = 0; i < 61; i++) {
            get(url + (i % 5 == 0 ? 23 : 2));
        }
        new Basket(60_000, 50_000).checkout(Collections.singletonMap("accept", "*/*"));
        new Basket(1, 2, 3).checkout(Collections.emptyMap());
        new Basket().checkout(Collections.emptyMap());
        System.gc();
    }

    private static BigDecimal allocate(int i) {
        byte[] buffer = new byte[i % 3 == 0 ? 1 << 17 : 16];
        return new BigDecimal(buffer.length + i);
    }

    private static void select(int id) throws SQLException {
        try (PreparedStatement select = database.prepareStatement(STATEMENTS[2])) {
            select.setInt(1, id);
            select.executeQuery().close();
        }
    }

    /** For each kind of lock, one thread waits while another thread keeps the lock. */
    private static void contend() throws InterruptedException {
        CountDownLatch started = new CountDownLatch(1);
        Thread waiting = new Thread(() -> {
            started.countDown();
            LOCK.lock();
            LOCK.unlock();
            synchronized (MONITOR) {
                started.countDown();
            }
        }, "waiting");
        LOCK.lock();
        try {
            synchronized (MONITOR) {
                waiting.start();
                started.await();
                Thread.sleep(20);
                LOCK.unlock();
                Thread.sleep(20);
            }
        } finally {
            if (LOCK.isHeldByCurrentThread()) {
                LOCK.unlock();
            }
        }
        waiting.join();
    }

    private static void get(String url) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection();
        connection.getInputStream().readAllBytes();
    }
}
