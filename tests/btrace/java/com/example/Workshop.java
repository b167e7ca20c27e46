package com.example;

import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.util.EventListener;
import java.util.EventObject;
import java.util.concurrent.locks.ReentrantLock;
import java.util.logging.Level;
import java.util.logging.Logger;

/** The target of the sample scripts: runs each task of the command line a prime number of times. */
public final class Workshop {
    @Retention(RetentionPolicy.RUNTIME)
    @interface WebService {}

    @Retention(RetentionPolicy.RUNTIME)
    @interface WebMethod {}

    static class Machine {
        static final int[] TABLE = new int[8];
        int turns;

        int turn(String who, int by) {
            turns += by;
            return check(by) + who.length();
        }

        int check(int by) {
            return by * 2;
        }

        synchronized int locked(int by) {
            return by;
        }

        int blocked(int by) {
            synchronized (TABLE) {
                return by + 1;
            }
        }

        int slow(int by) throws InterruptedException {
            Thread.sleep(2);
            return quick(by);
        }

        int quick(int by) {
            return by;
        }

        int array(String... words) {
            return words.length;
        }
    }

    static class Widget {
        final long[] cells;

        Widget(int cells) {
            this.cells = new long[cells];
        }
    }

    static class Gadget extends Widget {
        Gadget() {
            super(3);
        }
    }

    static class Late {
        static int twice(int n) {
            return n * 2;
        }
    }

    static class Button {
        static class Click extends EventObject {
            Click(Object source) {
                super(source);
            }
        }

        interface Listener extends EventListener {
            void clicked(Click event);
        }
    }

    static class Bell implements Button.Listener {
        @Override
        public void clicked(Button.Click event) {}
    }

    static class Chore implements Runnable {
        @Override
        public void run() {}
    }

    static class Mortal {
        static int ended;

        @Override
        @SuppressWarnings({"deprecation", "removal"})
        protected void finalize() {
            synchronized (Mortal.class) {
                ended++;
            }
        }
    }

    @WebService
    static class Prices {
        @WebMethod
        int price(String article) {
            return article.length();
        }

        int internal() {
            return 1;
        }
    }

    public static void main(String[] tasks) throws Exception {
        System.out.println("ready");
        pass();
        for (String task : tasks) {
            run(task);
        }
        System.out.println("done");
        pass();
    }

    private static void pass() throws IOException {
        int read;
        do {
            read = System.in.read();
        } while (read != '\n' && read != -1);
    }

    private static void run(String task) throws Exception {
        switch (task) {
            case "turn":
                Machine machine = new Machine();
                for (int i = 0; i < 101; i++) {
                    machine.turn(i % 3 == 0 ? "ada" : "ben", i);
                }
                break;
            case "lock":
                Machine shared = new Machine();
                for (int i = 0; i < 53; i++) {
                    shared.locked(i);
                }
                for (int i = 0; i < 47; i++) {
                    shared.blocked(i);
                }
                break;
            case "array":
                for (int i = 0; i < 31; i++) {
                    new Machine().array("a", "b", "c");
                }
                break;
            case "profile":
                Machine timed = new Machine();
                for (int i = 0; i < 13; i++) {
                    timed.slow(i);
                }
                break;
            case "widgets":
                for (int i = 0; i < 37; i++) {
                    new Widget(i % 5);
                }
                for (int i = 0; i < 23; i++) {
                    new Gadget();
                }
                break;
            case "load":
                Late.twice(1);
                break;
            case "click":
                Button.Listener bell = new Bell();
                for (int i = 0; i < 41; i++) {
                    bell.clicked(new Button.Click("door"));
                }
                break;
            case "chores":
                Runnable chore = new Chore();
                for (int i = 0; i < 29; i++) {
                    chore.run();
                }
                break;
            case "throw":
                for (int i = 0; i < 19; i++) {
                    try {
                        fail(i);
                    } catch (IllegalStateException expected) {
                        // the script counts these exceptions
                    }
                }
                break;
            case "threads":
                for (int i = 0; i < 17; i++) {
                    Thread thread = new Thread(new Chore(), "worker-" + i % 2);
                    thread.start();
                    thread.join();
                }
                break;
            case "properties":
                for (int i = 0; i < 43; i++) {
                    System.getProperty("workshop.size", "small");
                }
                break;
            case "files":
                File file = File.createTempFile("workshop", ".txt");
                for (int i = 0; i < 11; i++) {
                    try (FileOutputStream out = new FileOutputStream(file)) {
                        out.write(i);
                    }
                }
                for (int i = 0; i < 7; i++) {
                    try (FileInputStream in = new FileInputStream(file)) {
                        in.read();
                    }
                }
                file.delete();
                break;
            case "sockets":
                try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
                    for (int i = 0; i < 5; i++) {
                        try (Socket client = new Socket()) {
                            client.connect(new InetSocketAddress(server.getInetAddress(), server.getLocalPort()));
                            server.accept().close();
                        }
                    }
                }
                break;
            case "urls":
                URL url = new File("/").toURI().toURL();
                for (int i = 0; i < 3; i++) {
                    url.openConnection();
                }
                for (int i = 0; i < 2; i++) {
                    url.openConnection(Proxy.NO_PROXY);
                }
                break;
            case "log":
                Logger log = Logger.getLogger("com.example");
                log.setUseParentHandlers(false);
                for (int i = 0; i < 59; i++) {
                    log.log(i % 2 == 0 ? Level.INFO : Level.WARNING, "turned {0}", i);
                }
                break;
            case "finalize":
                for (int i = 0; i < 31; i++) {
                    new Mortal();
                }
                while (ended() < 31) {
                    System.gc();
                    System.runFinalization();
                }
                break;
            case "prices":
                Prices prices = new Prices();
                for (int i = 0; i < 61; i++) {
                    prices.price("bolt");
                    prices.internal();
                }
                break;
            case "deadlock":
                deadlock();
                break;
            case "memory":
                byte[][] kept = new byte[400][];
                for (int i = 0; i < kept.length; i++) {
                    kept[i] = new byte[1 << 19];
                }
                Machine.TABLE[0] = kept.length;
                System.gc();
                Thread.sleep(1500);
                Machine.TABLE[0] = kept[7].length;
                break;
            case "stream":
                for (int i = 0; i < 67; i++) {
                    try (InputStream in = new ByteArrayInputStream(new byte[i])) {
                        in.read();
                    }
                }
                break;
            default:
                throw new IllegalArgumentException(task);
        }
    }

    private static void fail(int n) {
        throw new IllegalStateException("no " + n % 2);
    }

    private static synchronized int ended() {
        synchronized (Mortal.class) {
            return Mortal.ended;
        }
    }

    /** Two threads in a deadlock. */
    private static void deadlock() throws InterruptedException {
        ReentrantLock left = new ReentrantLock();
        ReentrantLock right = new ReentrantLock();
        Thread one = new Thread(() -> both(left, right), "deadlock-1");
        Thread two = new Thread(() -> both(right, left), "deadlock-2");
        one.setDaemon(true);
        two.setDaemon(true);
        one.start();
        two.start();
        while (one.getState() != Thread.State.WAITING || two.getState() != Thread.State.WAITING) {
            Thread.sleep(10);
        }
    }

    private static void both(ReentrantLock first, ReentrantLock second) {
        first.lock();
        try {
            Thread.sleep(100);
            second.lock();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
