import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.api.StatefulRedisConnection;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/** Commands to a Redis server through Jedis and Lettuce: answered, refused, in a pipeline, and never answered. */
public final class RedisCalls {
    private RedisCalls() {}

    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        ServerSocket silent = new ServerSocket(0);
        ServerSocket closed = new ServerSocket(0);
        closed.close();
        Jedis jedis = new Jedis("127.0.0.1", port, 60_000);
        jedis.set("name", "ada");
        RedisClient client = RedisClient.create("redis://127.0.0.1:" + port);
        StatefulRedisConnection<String, String> lettuce = client.connect();
        lettuce.sync().set("number", "1");
        System.out.println("ports " + silent.getLocalPort() + " " + closed.getLocalPort());
        Gate.await();
        jedis(jedis);
        unanswered(silent.getLocalPort());
        refused(closed.getLocalPort());
        lettuce(lettuce);
        System.out.println("done");
        System.out.flush();
        Gate.pass();
        client.shutdown();
    }

    private static void jedis(Jedis jedis) {
        for (int i = 0; i < 53; i++) {
            jedis.get("name");
        }
        for (int i = 0; i < 31; i++) {
            jedis.set("key" + i, "value");
        }
        for (int i = 0; i < 7; i++) {
            try {
                jedis.incr("name");
            } catch (JedisDataException e) {
                // It is not a number.
            }
        }
        Pipeline pipeline = jedis.pipelined();
        for (int i = 0; i < 19; i++) {
            pipeline.get("key" + i);
            pipeline.hget("hash", "field");
        }
        pipeline.sync();
        jedis.eval("local n = 0 for i = 1, 20000000 do n = n + 1 end return n");
    }

    private static void unanswered(int port) {
        for (int i = 0; i < 3; i++) {
            try (Jedis jedis = new Jedis("127.0.0.1", port, 50)) {
                jedis.get("name");
            } catch (JedisConnectionException e) {
                // The server is silent.
            }
        }
    }

    private static void refused(int port) {
        for (int i = 0; i < 5; i++) {
            try (Jedis jedis = new Jedis("127.0.0.1", port)) {
                jedis.get("name");
            } catch (JedisConnectionException e) {
                // Nobody listens.
            }
        }
    }

    private static void lettuce(StatefulRedisConnection<String, String> lettuce) throws Exception {
        for (int i = 0; i < 41; i++) {
            lettuce.sync().get("number");
        }
        List<RedisFuture<Long>> counted = new ArrayList<>();
        for (int i = 0; i < 37; i++) {
            counted.add(lettuce.async().incr("number"));
        }
        for (RedisFuture<Long> number : counted) {
            number.get(10, TimeUnit.SECONDS);
        }
        for (int i = 0; i < 13; i++) {
            lettuce.reactive().set("reactive" + i, "value").block(Duration.ofSeconds(10));
        }
        for (int i = 0; i < 11; i++) {
            try {
                lettuce.sync().incr("name");
            } catch (RedisCommandExecutionException e) {
                // It is not a number.
            }
        }
        lettuce.setTimeout(Duration.ofMillis(50));
        for (int i = 0; i < 2; i++) {
            try {
                lettuce.sync().blpop(30, "empty");
            } catch (RedisCommandTimeoutException e) {
                // No value comes.
            }
        }
    }
}
