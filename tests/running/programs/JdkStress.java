import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPairGenerator;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.text.MessageFormat;
import java.text.SimpleDateFormat;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.BitSet;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Scanner;
import java.util.StringJoiner;
import java.util.TimeZone;
import java.util.TreeMap;
import java.util.UUID;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Exchanger;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Phaser;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.PBEKeySpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * The JDK's own packages at work, in several threads. Its argument is the number of rounds. With a second argument, it
 * waits for a line before the first round and after the last.
 */
public final class JdkStress {
    private JdkStress() {}

    private static final class Node implements Serializable {
        private static final long serialVersionUID = 1;
        final String name;
        final List<Node> children = new ArrayList<>();
        transient int cached = 5;

        Node(String name) {
            this.name = name;
        }
    }

    private static final class Fibonacci extends RecursiveTask<Long> {
        private static final long serialVersionUID = 1;
        private final int n;

        Fibonacci(int n) {
            this.n = n;
        }

        @Override
        protected Long compute() {
            if (n < 2) {
                return (long) n;
            }
            Fibonacci left = new Fibonacci(n - 1);
            left.fork();
            return new Fibonacci(n - 2).compute() + left.join();
        }
    }

    public static void main(String[] arguments) throws Throwable {
        BufferedReader gate = new BufferedReader(new InputStreamReader(System.in));
        if (arguments.length > 1) {
            System.out.println("ready");
            gate.readLine();
        }
        for (int round = 0; round < Integer.parseInt(arguments[0]); round++) {
            collections(new Random(round));
            streams();
            text();
            concurrency();
            numbers();
            crypto();
            reflection();
            inputAndOutput();
            time();
        }
        System.out.println("done");
        if (arguments.length > 1) {
            gate.readLine();
        }
    }

    private static void collections(Random random) {
        Map<Object, Integer> hashed = new HashMap<>();
        Map<String, Integer> sorted = new TreeMap<>(Collections.reverseOrder());
        Map<Integer, String> recent = new LinkedHashMap<>(16, 0.75f, true) {
            @Override
            protected boolean removeEldestEntry(Map.Entry<Integer, String> eldest) {
                return size() > 7;
            }
        };
        PriorityQueue<Long> queue = new PriorityQueue<>(Collections.reverseOrder());
        ArrayDeque<Integer> deque = new ArrayDeque<>();
        BitSet bits = new BitSet();
        List<Integer> list = new ArrayList<>();
        Map<Object, Object> weak = new WeakHashMap<>();
        Map<Object, Object> identity = new IdentityHashMap<>();
        for (int i = 0; i < 2003; i++) {
            int value = random.nextInt(500);
            hashed.merge(value % 3 == 0 ? (Object) ("k" + value) : value, 1, Integer::sum);
            sorted.computeIfAbsent("s" + value, String::length);
            recent.put(value, "v" + i);
            queue.add((long) value * i);
            if (queue.size() > 31) {
                queue.poll();
            }
            deque.offerLast(value);
            if (deque.size() > 13) {
                deque.pollFirst();
            }
            bits.flip(value);
            list.add(value);
            weak.put(value % 7, value);
            identity.put(i % 5 == 0 ? "constant" : Integer.valueOf(i % 100), i);
        }
        Collections.sort(list);
        Collections.rotate(list, 17);
        Collections.shuffle(list, new Random(3));
        int hash = 7;
        for (int number : list) {
            hash = hash * 31 + number;
        }
        try {
            for (Integer each : list) {
                list.remove(each);
            }
        } catch (java.util.ConcurrentModificationException expected) {
            hash++;
        }
        System.out.println(hash + " " + hashed.size() + " " + sorted.keySet().iterator().next() + " " + recent.keySet() + " "
            + queue.peek() + " " + deque + " " + bits.cardinality() + " " + weak.size() + " " + identity.size() + " "
            + Collections.unmodifiableList(list).subList(3, 9) + " " + list.indexOf(77) + " " + Arrays.asList(3, 1, 2).hashCode());
    }

    private static void streams() {
        TreeMap<Integer, Integer> squares = IntStream.rangeClosed(1, 500).boxed()
            .collect(Collectors.groupingBy(i -> i % 7, TreeMap::new, Collectors.summingInt(i -> i * i)));
        System.out.println(squares);
        System.out.println(IntStream.range(0, 20_000).parallel().filter(i -> i % 3 == 1).mapToLong(i -> (long) i * i).sum());
        System.out.println(Stream.iterate(new long[] {0, 1}, f -> new long[] {f[1], f[0] + f[1]}).limit(40)
            .map(f -> f[0]).filter(f -> f % 2 == 0).map(String::valueOf).collect(Collectors.joining(",", "[", "]")));
        System.out.println(Stream.of("delta", "alpha", "charlie", "bravo").sorted().peek(String::length).skip(1)
            .flatMap(word -> word.chars().mapToObj(c -> (char) c)).distinct().map(String::valueOf).reduce("", String::concat));
        System.out.println(LongStream.of(5, 3, 9).summaryStatistics() + " " + Stream.of(1, 2, 3, 4, 5).dropWhile(i -> i < 3)
            .collect(Collectors.partitioningBy(i -> i > 4)) + " " + Optional.of(3).filter(i -> i > 5).or(() -> Optional.of(9)).get());
        System.out.println(Arrays.stream(new double[] {1.5, 2.5}).parallel().average().getAsDouble() + " "
            + Stream.of("a", "b").parallel().collect(Collectors.toConcurrentMap(k -> k, String::hashCode)).get("b"));
    }

    private static void text() {
        Matcher matcher = Pattern.compile("(?<year>\\d{4})-(?<month>\\d\\d)(?:-(\\d\\d))?", Pattern.CASE_INSENSITIVE)
            .matcher("from 2024-02-29 to 2026-11, not 99-1");
        StringBuilder found = new StringBuilder();
        while (matcher.find()) {
            found.append(matcher.group("year")).append('/').append(matcher.group("month")).append('/').append(matcher.group(3)).append(' ');
        }
        System.out.println(found + " " + "a1b22c333".replaceAll("(\\d+)", "<$1>") + " " + Arrays.toString("x,y,,z,".split(",")));
        System.out.println("(a+)+b".length() + " " + Pattern.matches("(?:a|ab)(?:c|bcd)(?:d*)", "abcd") + " "
            + Pattern.compile("\\b\\p{Lu}\\w*+").matcher("Some Words here And There").results().count());
        System.out.println(String.format(Locale.ROOT, "%08.3f|%-9s|%+d|%x|%s|%tF", 3.14159, "left", 7, 255, List.of(1), new Date(0)));
        System.out.println(MessageFormat.format("{0} has {1,number,integer} of {2}", "x", 12345, List.of("a")) + " "
            + new StringJoiner("-", "<", ">").add("a").add("b") + " " + "straße".toUpperCase(Locale.ROOT) + " "
            + "İ".toLowerCase(Locale.ROOT).length() + " " + new StringBuilder("añb😀c").reverse() + " " + "  trim me ".strip());
        Scanner scanner = new Scanner("12 3.5 true word\nnext line").useLocale(Locale.ROOT);
        System.out.println(scanner.nextInt() + " " + scanner.nextDouble() + " " + scanner.nextBoolean() + " " + scanner.next()
            + scanner.nextLine() + scanner.nextLine());
        System.out.println("lines\nof\ntext".lines().map(String::isBlank).collect(Collectors.toList()) + " " + "ab".repeat(3) + " "
            + "interned".intern().hashCode() + " " + String.join("|", "a b c".split("\\s")) + " " + "x".compareTo("abc") + " "
            + URI.create("http://user@host:80/p/../q?a=b#f").normalize() + " " + UUID.nameUUIDFromBytes(new byte[] {1, 2}));
    }

    private static void concurrency() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(5);
        ConcurrentHashMap<Integer, LongAdder> counts = new ConcurrentHashMap<>();
        ReentrantLock lock = new ReentrantLock(true);
        ReentrantReadWriteLock shared = new ReentrantReadWriteLock();
        StampedLock stamped = new StampedLock();
        Semaphore permits = new Semaphore(2);
        CountDownLatch latch = new CountDownLatch(5);
        CyclicBarrier barrier = new CyclicBarrier(5);
        AtomicLong atomic = new AtomicLong();
        ConcurrentLinkedQueue<Integer> queue = new ConcurrentLinkedQueue<>();
        List<Integer> copied = new CopyOnWriteArrayList<>();
        ThreadLocal<int[]> local = ThreadLocal.withInitial(() -> new int[1]);
        Object monitor = new Object();
        long[] guarded = new long[4];
        List<Future<Integer>> results = new ArrayList<>();
        for (int worker = 0; worker < 5; worker++) {
            int number = worker;
            results.add(pool.submit(() -> {
                barrier.await();
                for (int i = 0; i < 307; i++) {
                    counts.computeIfAbsent(i % 11, k -> new LongAdder()).increment();
                    lock.lock();
                    try {
                        guarded[0]++;
                    } finally {
                        lock.unlock();
                    }
                    shared.writeLock().lock();
                    guarded[1]++;
                    shared.writeLock().unlock();
                    long stamp = stamped.writeLock();
                    guarded[2]++;
                    stamped.unlockWrite(stamp);
                    permits.acquire();
                    atomic.accumulateAndGet(i, Long::sum);
                    permits.release();
                    synchronized (monitor) {
                        guarded[3]++;
                        monitor.notifyAll();
                    }
                    queue.add(i);
                    local.get()[0]++;
                    if (i % 61 == 0) {
                        copied.add(number);
                        Thread.yield();
                    }
                }
                latch.countDown();
                return local.get()[0];
            }));
        }
        latch.await();
        int total = 0;
        for (Future<Integer> result : results) {
            total += result.get();
        }
        System.out.println(total + " " + Arrays.toString(guarded) + " " + atomic + " " + queue.size() + " " + copied.size() + " "
            + counts.values().stream().mapToLong(LongAdder::sum).sum() + " " + new ForkJoinPool(3).invoke(new Fibonacci(17)));
        Exchanger<String> exchanger = new Exchanger<>();
        LinkedBlockingQueue<Integer> blocking = new LinkedBlockingQueue<>(3);
        Future<String> other = pool.submit(() -> exchanger.exchange("from the other"));
        Future<Integer> consumer = pool.submit(() -> {
            int sum = 0;
            for (int value = blocking.take(); value >= 0; value = blocking.take()) {
                sum += value;
            }
            return sum;
        });
        for (int i = 0; i < 101; i++) {
            blocking.put(i);
        }
        blocking.put(-1);
        System.out.println(exchanger.exchange("from main") + " " + other.get() + " " + consumer.get());
        System.out.println(CompletableFuture.supplyAsync(() -> 6, pool).thenCombine(CompletableFuture.supplyAsync(() -> 7), (a, b) -> a * b)
            .thenApplyAsync(i -> i / 0).handle((value, failed) -> failed == null ? value : failed.getClass().getSimpleName()).get());
        ScheduledExecutorService timer = Executors.newScheduledThreadPool(1);
        CountDownLatch ticks = new CountDownLatch(3);
        timer.scheduleAtFixedRate(ticks::countDown, 0, 1, TimeUnit.MILLISECONDS);
        ticks.await();
        timer.shutdownNow();
        Phaser phaser = new Phaser(1);
        phaser.arriveAndDeregister();
        Thread interrupted = new Thread(() -> {
            try {
                synchronized (monitor) {
                    while (true) {
                        monitor.wait();
                    }
                }
            } catch (InterruptedException e) {
                System.out.println("interrupted " + Thread.currentThread().isInterrupted());
            }
        });
        interrupted.start();
        interrupted.interrupt();
        interrupted.join();
        Future<?> failing = pool.submit(() -> {
            throw new IllegalStateException("in the pool");
        });
        try {
            failing.get();
        } catch (java.util.concurrent.ExecutionException e) {
            System.out.println(e.getCause().getMessage());
        }
        pool.shutdown();
        System.out.println(pool.awaitTermination(60, TimeUnit.SECONDS) + " " + phaser.isTerminated());
    }

    private static void numbers() {
        BigInteger factorial = IntStream.rangeClosed(1, 200).mapToObj(BigInteger::valueOf).reduce(BigInteger.ONE, BigInteger::multiply);
        System.out.println(factorial.bitLength() + " " + factorial.mod(BigInteger.valueOf(1_000_003)) + " "
            + BigInteger.valueOf(7).modPow(factorial, BigInteger.valueOf(1_000_000_007)) + " "
            + BigInteger.valueOf(2).pow(127).subtract(BigInteger.ONE).isProbablePrime(20));
        System.out.println(new BigDecimal("2").sqrt(new MathContext(50)) + " " + new BigDecimal("10").divide(new BigDecimal("7"), 20,
            java.math.RoundingMode.HALF_EVEN) + " " + Double.toHexString(Math.PI) + " " + Float.parseFloat("1e-40") + " "
            + Double.parseDouble("2.2250738585072014E-308") + " " + 0.1f + " " + 1e23 + " " + Long.toUnsignedString(-1) + " "
            + Math.floorMod(-7, 3) + " " + Math.fma(2.0, 3.0, 1.0) + " " + StrictMath.sin(1e6) + " " + Integer.toString(-255, 36));
    }

    private static void crypto() throws Exception {
        byte[] key = MessageDigest.getInstance("SHA-256").digest("key".getBytes(StandardCharsets.UTF_8));
        Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
        cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"), new GCMParameterSpec(128, new byte[12]));
        byte[] secret = cipher.doFinal("a text of several blocks that is to be kept secret".getBytes(StandardCharsets.UTF_8));
        cipher.init(Cipher.DECRYPT_MODE, new SecretKeySpec(key, "AES"), new GCMParameterSpec(128, new byte[12]));
        System.out.println(Base64.getEncoder().encodeToString(secret) + " " + new String(cipher.doFinal(secret), StandardCharsets.UTF_8));
        Mac mac = Mac.getInstance("HmacSHA512");
        mac.init(new SecretKeySpec(key, "HmacSHA512"));
        byte[] derived = SecretKeyFactory.getInstance("PBKDF2WithHmacSHA256")
            .generateSecret(new PBEKeySpec("password".toCharArray(), key, 100, 128)).getEncoded();
        System.out.println(new BigInteger(1, mac.doFinal(secret)).toString(36) + " " + new BigInteger(1, derived).toString(16) + " "
            + new BigInteger(1, MessageDigest.getInstance("MD5").digest(secret)));
        KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
        generator.initialize(256, new SecureRandom());
        java.security.KeyPair pair = generator.generateKeyPair();
        java.security.Signature signature = java.security.Signature.getInstance("SHA256withECDSA");
        signature.initSign(pair.getPrivate());
        signature.update(secret);
        byte[] signed = signature.sign();
        signature.initVerify(pair.getPublic());
        signature.update(secret);
        System.out.println(signature.verify(signed));
    }

    private static void reflection() throws Throwable {
        Method method = String.class.getMethod("substring", int.class, int.class);
        MethodHandle handle = MethodHandles.lookup().findVirtual(String.class, "concat", MethodType.methodType(String.class, String.class));
        Comparable<?> proxy = (Comparable<?>) Proxy.newProxyInstance(JdkStress.class.getClassLoader(), new Class<?>[] {Comparable.class},
            (self, called, given) -> called.getName().length());
        System.out.println(method.invoke("reflection", 2, 5) + " " + (String) handle.invokeExact("a", "b") + " "
            + proxy.getClass().getMethod("compareTo", Object.class).invoke(proxy, "x") + " "
            + MethodHandles.filterArguments(handle, 0, MethodHandles.identity(String.class)).invoke("c", "d") + " "
            + JdkStress.class.getDeclaredMethods().length + " " + Arrays.toString(Node.class.getDeclaredField("name").getDeclaredAnnotations()));
        try {
            String.class.getMethod("charAt", int.class).invoke("abc", 7);
        } catch (java.lang.reflect.InvocationTargetException e) {
            System.out.println(e.getCause().getClass().getName());
        }
        try {
            deep(0);
        } catch (StackOverflowError expected) {
            System.out.println("overflow");
        }
    }

    private static int deep(int n) {
        return new ArrayList<>(List.of(deep(n + 1))).size();
    }

    private static void inputAndOutput() throws Exception {
        Node root = new Node("root");
        for (int i = 0; i < 7; i++) {
            root.children.add(new Node("child " + i));
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(new GZIPOutputStream(bytes))) {
            out.writeObject(root);
            out.writeObject(new Object[] {1, 2L, List.of("a"), LocalDate.of(2026, 11, 21)});
        }
        try (ObjectInputStream in = new ObjectInputStream(new GZIPInputStream(new ByteArrayInputStream(bytes.toByteArray())))) {
            Node read = (Node) in.readObject();
            System.out.println(read.children.size() + read.children.get(3).name + read.cached + Arrays.toString((Object[]) in.readObject()));
        }
        CRC32 checksum = new CRC32();
        checksum.update(ByteBuffer.wrap("checked".getBytes(StandardCharsets.UTF_16)));
        Path file = Files.createTempFile("stress", ".txt");
        Files.write(file, List.of("one", "two", "zwölf"), StandardCharsets.UTF_8);
        System.out.println(checksum.getValue() + " " + Files.size(file) + " " + Files.readAllLines(file) + " "
            + Files.lines(file).mapToInt(String::length).sum());
        Files.delete(file);
        try (ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
            Thread echo = new Thread(() -> {
                try (Socket socket = server.accept()) {
                    byte[] buffer = new byte[64];
                    int read = socket.getInputStream().read(buffer);
                    socket.getOutputStream().write(buffer, 0, read);
                } catch (java.io.IOException e) {
                    System.out.println("failed " + e);
                }
            });
            echo.start();
            try (Socket client = new Socket(server.getInetAddress(), server.getLocalPort())) {
                client.getOutputStream().write("over the wire".getBytes(StandardCharsets.US_ASCII));
                System.out.println(new String(client.getInputStream().readAllBytes(), StandardCharsets.US_ASCII));
            }
            echo.join();
        }
    }

    private static void time() throws Exception {
        ZonedDateTime moment = ZonedDateTime.of(2026, 3, 29, 1, 30, 0, 0, ZoneId.of("Europe/Berlin"));
        SimpleDateFormat format = new SimpleDateFormat("yyyy-MM-dd'T'HH:mm", Locale.ROOT);
        format.setTimeZone(TimeZone.getTimeZone("UTC"));
        System.out.println(moment.plusHours(1).format(DateTimeFormatter.ISO_OFFSET_DATE_TIME) + " " + Duration.ofSeconds(98_765) + " "
            + format.format(format.parse("2026-11-21T10:11")) + " " + LocalDate.of(2024, 2, 29).plusYears(1).getDayOfWeek());
    }
}
