import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/** A gRPC server and its client: calls that succeed, fail, come too late, stream, and find no server. */
public final class RpcCalls {
    private static final MethodDescriptor<String, String> PLACE = method("place", MethodDescriptor.MethodType.UNARY);
    private static final MethodDescriptor<String, String> LIST =
            method("list", MethodDescriptor.MethodType.SERVER_STREAMING);
    private static final MethodDescriptor<String, String> MISSING = method("missing", MethodDescriptor.MethodType.UNARY);

    private RpcCalls() {}

    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("").setLevel(Level.OFF);
        Server server = NettyServerBuilder.forPort(0)
                .addService(ServerServiceDefinition.builder("shop.Orders")
                        .addMethod(PLACE, ServerCalls.asyncUnaryCall(RpcCalls::place))
                        .addMethod(LIST, ServerCalls.asyncServerStreamingCall(RpcCalls::list))
                        .build())
                .build()
                .start();
        ManagedChannel channel = channel(server.getPort());
        call(channel, PLACE, "ok", 10_000);
        ServerSocket closed = new ServerSocket(0);
        closed.close();
        ManagedChannel nobody = channel(closed.getLocalPort());
        Gate.await();
        repeat(53, channel, PLACE, "ok", 10_000);
        repeat(11, channel, PLACE, "wrong", 10_000);
        repeat(5, channel, PLACE, "broken", 10_000);
        repeat(3, channel, PLACE, "slow", 100);
        repeat(7, channel, MISSING, "ok", 10_000);
        repeat(2, nobody, PLACE, "ok", 10_000);
        for (int i = 0; i < 13; i++) {
            Iterator<String> listed = ClientCalls.blockingServerStreamingCall(channel, LIST, CallOptions.DEFAULT, "all");
            while (listed.hasNext()) {
                listed.next();
            }
        }
        channel.shutdown().awaitTermination(10, TimeUnit.SECONDS);
        nobody.shutdownNow();
        server.shutdown().awaitTermination(10, TimeUnit.SECONDS);
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    private static void repeat(
            int times, ManagedChannel channel, MethodDescriptor<String, String> method, String text, int milliseconds) {
        for (int i = 0; i < times; i++) {
            try {
                call(channel, method, text, milliseconds);
            } catch (StatusRuntimeException e) {
                // The test counts these exceptions.
            }
        }
    }

    private static void call(
            ManagedChannel channel, MethodDescriptor<String, String> method, String text, int milliseconds) {
        CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(milliseconds, TimeUnit.MILLISECONDS);
        ClientCalls.blockingUnaryCall(channel, method, options, text);
    }

    private static void place(String text, StreamObserver<String> answer) {
        switch (text) {
            case "wrong":
                answer.onError(Status.INVALID_ARGUMENT.asRuntimeException());
                return;
            case "broken":
                throw new IllegalStateException("broken");
            case "slow":
                sleep(300);
                break;
            default:
                break;
        }
        answer.onNext("placed");
        answer.onCompleted();
    }

    private static void list(String text, StreamObserver<String> answer) {
        for (int i = 0; i < 7; i++) {
            answer.onNext("order " + i);
            sleep(2);
        }
        answer.onCompleted();
    }

    private static ManagedChannel channel(int port) {
        return NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build();
    }

    private static MethodDescriptor<String, String> method(String name, MethodDescriptor.MethodType type) {
        return MethodDescriptor.<String, String>newBuilder()
                .setType(type)
                .setFullMethodName("shop.Orders/" + name)
                .setRequestMarshaller(new Text())
                .setResponseMarshaller(new Text())
                .build();
    }

    private static final class Text implements MethodDescriptor.Marshaller<String> {
        @Override
        public InputStream stream(String text) {
            return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
        }

        @Override
        public String parse(InputStream bytes) {
            try {
                return new String(bytes.readAllBytes(), StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static void sleep(int milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
