import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.consumer.OffsetResetStrategy;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * One thread polls records, and handles them in a loop that sometimes ends early, or by other threads. The argument is
 * the port of a broker; without it the consumer is Kafka's consumer for tests.
 */
public class KafkaFlows {
    private static final Map<String, Runnable> WORK = new ConcurrentHashMap<>();
    private static final AtomicInteger NUMBERS = new AtomicInteger();
    private static final BlockingQueue<ConsumerRecord<String, String>> QUEUE = new LinkedBlockingQueue<>();
    private static final List<TopicPartition> PARTITIONS = Arrays.asList(new TopicPartition("loop", 0),
            new TopicPartition("ends-early", 0), new TopicPartition("queue", 0), new TopicPartition("partition", 0));

    private interface Topics {
        void send(String topic, String key);

        ConsumerRecords<String, String> poll() throws InterruptedException;

        Consumer<String, String> consumer();

        /** Polls again as after a failure, without new records. The remaining records of the last poll come later. */
        default void endEarly(ConsumerRecord<String, String> last) {
            consumer().seek(new TopicPartition(last.topic(), last.partition()), last.offset() + 1);
            consumer().pause(PARTITIONS);
            consumer().poll(Duration.ZERO);
            consumer().resume(PARTITIONS);
        }
    }

    private static final class OfBroker implements Topics {
        final KafkaProducer<String, String> producer;
        final Consumer<String, String> consumer;

        OfBroker(String port) {
            Properties properties = new Properties();
            properties.put("bootstrap.servers", "127.0.0.1:" + port);
            properties.put("max.poll.records", "10");
            properties.put("fetch.max.wait.ms", "20");
            properties.put("enable.auto.commit", "false");
            producer = new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
            PARTITIONS.forEach(partition -> producer.partitionsFor(partition.topic()));
            consumer = new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
            consumer.assign(PARTITIONS);
            consumer.seekToEnd(PARTITIONS);
            PARTITIONS.forEach(consumer::position);
        }

        @Override
        public void send(String topic, String key) {
            producer.send(new ProducerRecord<>(topic, 0, key, key));
        }

        @Override
        public ConsumerRecords<String, String> poll() {
            return consumer.poll(Duration.ofMillis(20));
        }

        @Override
        public Consumer<String, String> consumer() {
            return consumer;
        }
    }

    private static final class Simulated implements Topics {
        final BlockingQueue<ProducerRecord<String, String>> sent = new LinkedBlockingQueue<>();
        final Map<String, Long> offsets = new HashMap<>();
        final MockConsumer<String, String> consumer = new MockConsumer<>(OffsetResetStrategy.EARLIEST);

        Simulated() {
            consumer.assign(PARTITIONS);
            Map<TopicPartition, Long> beginnings = new HashMap<>();
            PARTITIONS.forEach(partition -> beginnings.put(partition, 0L));
            consumer.updateBeginningOffsets(beginnings);
        }

        @Override
        public void send(String topic, String key) {
            sent.add(new ProducerRecord<>(topic, 0, key, key));
        }

        /** The consumer makes the records while it polls, as a real one does. */
        @Override
        public ConsumerRecords<String, String> poll() throws InterruptedException {
            List<ProducerRecord<String, String>> arrived = new ArrayList<>();
            ProducerRecord<String, String> first = sent.poll(2, TimeUnit.MILLISECONDS);
            if (first != null) {
                arrived.add(first);
                sent.drainTo(arrived, first.topic().equals("ends-early") ? 0 : 9);
            }
            consumer.schedulePollTask(() -> arrived.forEach(this::add));
            return consumer.poll(Duration.ofMillis(1));
        }

        @Override
        public Consumer<String, String> consumer() {
            return consumer;
        }

        private void add(ProducerRecord<String, String> record) {
            long offset = offsets.merge(record.topic(), 1L, Long::sum) - 1;
            consumer.addRecord(new ConsumerRecord<>(record.topic(), 0, offset, record.key(), record.value()));
        }
    }

    static void handle(ConsumerRecord<String, String> record) {
        WORK.remove(record.key()).run();
    }

    private static void handleAll(Topics topics, ConsumerRecords<String, String> records) {
        for (TopicPartition partition : records.partitions()) {
            if (partition.topic().equals("queue")) {
                QUEUE.addAll(records.records(partition));
                return;
            }
            if (partition.topic().equals("partition")) {
                records.records(partition).forEach(KafkaFlows::handle);
                return;
            }
        }
        for (ConsumerRecord<String, String> record : records) {
            WORK.remove(record.key()).run();
            if (record.topic().equals("ends-early")) {
                topics.endEarly(record);
                break;
            }
        }
        HandingOver.work("after others", -1);
    }

    private static void consume(Topics topics) {
        try {
            while (true) {
                ConsumerRecords<String, String> records = topics.poll();
                if (records.isEmpty()) {
                    HandingOver.work("after others", -1);
                } else {
                    handleAll(topics, records);
                }
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    private static void takeFromQueue() {
        try {
            while (true) {
                handle(QUEUE.take());
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    private static void start(Runnable body) {
        Thread thread = new Thread(body);
        thread.setDaemon(true);
        thread.start();
    }

    private static void send(Topics topics, String topic, Runnable work) {
        String key = "record" + NUMBERS.incrementAndGet();
        WORK.put(key, work);
        topics.send(topic, key);
    }

    public static void main(String[] arguments) throws Exception {
        Topics topics = arguments.length == 0 ? new Simulated() : new OfBroker(arguments[0]);
        ExecutorService pool = Executors.newFixedThreadPool(3);
        start(() -> consume(topics));
        start(KafkaFlows::takeFromQueue);
        start(KafkaFlows::takeFromQueue);
        HandingOver requests = new HandingOver();
        for (TopicPartition partition : PARTITIONS) {
            String topic = partition.topic();
            requests.kind(topic, 3, work -> send(topics, topic, () -> {
                work.run();
                pool.execute(work);
                pool.submit(work);
            }));
        }
        requests.serve();
    }
}
