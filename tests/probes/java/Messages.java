import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Records through a Kafka broker: delivered, refused by the producer and by the broker, received in two groups. */
public final class Messages {
    private static String broker;
    private static int rebalances;
    private static int polls;

    private Messages() {}

    public static void main(String[] arguments) throws Exception {
        broker = "127.0.0.1:" + arguments[0];
        try (AdminClient admin = AdminClient.create(Map.of("bootstrap.servers", broker))) {
            admin.createTopics(List.of(
                            new NewTopic("orders", 3, (short) 1),
                            new NewTopic("stock", 1, (short) 1),
                            new NewTopic("small", 1, (short) 1).configs(Map.of("max.message.bytes", "200"))))
                    .all()
                    .get();
        }
        KafkaProducer<String, String> producer = producer();
        producer.send(new ProducerRecord<>("orders", "first")).get();
        KafkaConsumer<String, String> billing = consumer("billing", "orders");
        receive(billing, 1, 0);
        rebalances = 0;
        polls = 0;
        Gate.await();
        send(producer, "orders", 53, 10);
        send(producer, "stock", 31, 10);
        refuse(producer);
        receive(billing, 53, 3);
        for (int i = 0; i < 3; i++) {
            billing.commitSync();
        }
        billing.poll(Duration.ofMillis(1));
        KafkaConsumer<String, String> audit = consumer("audit", "stock");
        receive(audit, 31, 1);
        audit.poll(Duration.ofMillis(1));
        billing.close();
        audit.close();
        System.out.println("polls " + polls);
        System.out.println("rebalances " + rebalances);
        System.out.println("done");
        System.out.flush();
        Gate.pass();
        producer.close();
    }

    private static KafkaProducer<String, String> producer() {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", broker);
        properties.put("key.serializer", StringSerializer.class.getName());
        properties.put("value.serializer", StringSerializer.class.getName());
        properties.put("max.request.size", "3000");
        properties.put("linger.ms", "20");
        return new KafkaProducer<>(properties);
    }

    private static KafkaConsumer<String, String> consumer(String group, String topic) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", broker);
        properties.put("group.id", group);
        properties.put("key.deserializer", StringDeserializer.class.getName());
        properties.put("value.deserializer", StringDeserializer.class.getName());
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        properties.put("max.poll.records", "10");
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(properties);
        consumer.subscribe(Collections.singleton(topic), new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}

            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                rebalances++;
            }
        });
        return consumer;
    }

    private static void send(KafkaProducer<String, String> producer, String topic, int count, int length) {
        for (int i = 0; i < count; i++) {
            producer.send(new ProducerRecord<>(topic, "key" + i, "x".repeat(length)));
        }
        producer.flush();
    }

    /** The producer refuses 5 records, the broker 7. */
    private static void refuse(KafkaProducer<String, String> producer) throws InterruptedException {
        for (int i = 0; i < 5 + 7; i++) {
            String topic = i < 5 ? "orders" : "small";
            Future<?> sent = producer.send(new ProducerRecord<>(topic, "x".repeat(i < 5 ? 5000 : 500)));
            producer.flush();
            try {
                sent.get();
                throw new IllegalStateException("a record is not refused");
            } catch (ExecutionException e) {
                // The record is too large.
            }
        }
    }

    /** Each record takes some milliseconds. */
    private static void receive(KafkaConsumer<String, String> consumer, int count, int milliseconds)
            throws InterruptedException {
        int received = 0;
        while (received < count) {
            ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(500));
            received += records.count();
            if (records.count() > 0) {
                polls++;
                Thread.sleep((long) milliseconds * records.count());
            }
        }
    }
}
