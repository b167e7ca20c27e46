import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.Acknowledgment;

/** Listeners of Spring for records of a broker; the argument is its port. */
public class SpringKafkaFlows {
    private static final Map<String, Runnable> WORK = new ConcurrentHashMap<>();
    private static final AtomicInteger NUMBERS = new AtomicInteger();
    private static final String RUN = Long.toString(System.nanoTime(), 36);

    @Configuration
    @EnableKafka
    public static class Listeners {
        @Bean
        public ConcurrentKafkaListenerContainerFactory<String, String> kafkaListenerContainerFactory() {
            return factory();
        }

        @Bean
        public ConcurrentKafkaListenerContainerFactory<String, String> acknowledging() {
            ConcurrentKafkaListenerContainerFactory<String, String> factory = factory();
            factory.getContainerProperties().setAckMode(AckMode.MANUAL_IMMEDIATE);
            return factory;
        }

        @KafkaListener(id = "record", topics = "#{T(SpringKafkaFlows).topic('record')}")
        public void listen(ConsumerRecord<String, String> record) {
            WORK.remove(record.key()).run();
        }

        @KafkaListener(id = "value", topics = "#{T(SpringKafkaFlows).topic('value')}")
        public void listen(String value) {
            WORK.remove(value).run();
        }

        @KafkaListener(id = "acknowledged", topics = "#{T(SpringKafkaFlows).topic('acknowledged')}",
                containerFactory = "acknowledging")
        public void listen(String value, Acknowledgment acknowledgment) {
            WORK.remove(value).run();
            acknowledgment.acknowledge();
        }
    }

    private static String port;

    public static String topic(String name) {
        return name + "-" + RUN;
    }

    private static ConcurrentKafkaListenerContainerFactory<String, String> factory() {
        Map<String, Object> properties = new HashMap<>();
        properties.put("bootstrap.servers", "127.0.0.1:" + port);
        properties.put("max.poll.records", 10);
        properties.put("fetch.max.wait.ms", 20);
        properties.put("auto.offset.reset", "earliest");
        ConcurrentKafkaListenerContainerFactory<String, String> factory =
                new ConcurrentKafkaListenerContainerFactory<>();
        factory.setConsumerFactory(
                new DefaultKafkaConsumerFactory<>(properties, new StringDeserializer(), new StringDeserializer()));
        factory.getContainerProperties().setPollTimeout(20); // a poll that begins before btpy attaches has no flows
        return factory;
    }

    public static void main(String[] arguments) throws Exception {
        port = arguments[0];
        Map<String, Object> properties = new HashMap<>();
        properties.put("bootstrap.servers", "127.0.0.1:" + port);
        KafkaProducer<String, String> producer =
                new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
        String[] kinds = {"record", "value", "acknowledged"};
        for (String kind : kinds) {
            producer.partitionsFor(topic(kind)); // makes the broker create the topic
        }
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext(Listeners.class);
        for (MessageListenerContainer container : context.getBean(KafkaListenerEndpointRegistry.class)
                .getListenerContainers()) {
            while (container.getAssignedPartitions() == null || container.getAssignedPartitions().isEmpty()) {
                Thread.sleep(20);
            }
        }
        ExecutorService pool = Executors.newFixedThreadPool(3);
        HandingOver requests = new HandingOver();
        for (String kind : kinds) {
            requests.kind(kind, 3, work -> {
                String key = "record" + NUMBERS.incrementAndGet();
                WORK.put(key, () -> {
                    work.run();
                    pool.execute(work);
                    pool.submit(work);
                });
                producer.send(new ProducerRecord<>(topic(kind), key, key));
            });
        }
        requests.serve();
    }
}
