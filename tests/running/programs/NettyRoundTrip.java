import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpContentCompressor;
import io.netty.handler.codec.http.HttpContentDecompressor;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.QueryStringDecoder;
import io.netty.util.CharsetUtil;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** An HTTP server and client of Netty: pipelined requests, bodies, compression, errors of handlers. */
public final class NettyRoundTrip {
    private NettyRoundTrip() {}

    static final class Answering extends SimpleChannelInboundHandler<FullHttpRequest> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
            QueryStringDecoder query = new QueryStringDecoder(request.uri());
            if (query.path().equals("/fail")) {
                throw new IllegalStateException("asked to fail");
            }
            String body = request.method() + " " + query.path() + " " + query.parameters() + " "
                + request.content().toString(CharsetUtil.UTF_8).hashCode() + " x".repeat(request.content().readableBytes() % 977);
            answer(context, HttpResponseStatus.OK, body);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            answer(context, HttpResponseStatus.INTERNAL_SERVER_ERROR, cause.getMessage());
        }

        private static void answer(ChannelHandlerContext context, HttpResponseStatus status, String text) {
            FullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status,
                Unpooled.copiedBuffer(text, CharsetUtil.UTF_8));
            HttpUtil.setContentLength(response, response.content().readableBytes());
            context.writeAndFlush(response);
        }
    }

    public static void main(String[] arguments) throws Exception {
        EventLoopGroup group = new NioEventLoopGroup(3);
        BlockingQueue<String> answers = new LinkedBlockingQueue<>();
        try {
            Channel server = new ServerBootstrap().group(group).channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        channel.pipeline().addLast(new HttpServerCodec(), new HttpObjectAggregator(1 << 20),
                            new HttpContentCompressor(), new Answering());
                    }
                }).bind(new InetSocketAddress("localhost", 0)).sync().channel();
            Channel client = new Bootstrap().group(group).channel(NioSocketChannel.class)
                .handler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        channel.pipeline().addLast(new HttpClientCodec(), new HttpContentDecompressor(),
                            new HttpObjectAggregator(1 << 20), new SimpleChannelInboundHandler<FullHttpResponse>() {
                                @Override
                                protected void channelRead0(ChannelHandlerContext context, FullHttpResponse response) {
                                    answers.add(response.status() + " " + response.content().toString(CharsetUtil.UTF_8));
                                }
                            });
                    }
                }).connect(server.localAddress()).sync().channel();
            for (int i = 0; i < 101; i++) {
                ask(client, HttpMethod.GET, "/get/" + i + "?n=" + i + "&m=a%20b", "");
                ask(client, HttpMethod.POST, "/post/" + i, "body".repeat(i * 37));
            }
            ask(client, HttpMethod.GET, "/fail", "");
            for (int i = 0; i < 203; i++) {
                String answer = answers.take();
                System.out.println(i + " " + answer.length() + " " + answer.substring(0, Math.min(60, answer.length())));
            }
        } finally {
            group.shutdownGracefully(0, 5, java.util.concurrent.TimeUnit.SECONDS).sync();
        }
    }

    private static void ask(Channel client, HttpMethod method, String uri, String body) {
        FullHttpRequest request = new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, method, uri,
            Unpooled.copiedBuffer(body, CharsetUtil.UTF_8));
        request.headers().set(HttpHeaderNames.HOST, "localhost").set(HttpHeaderNames.ACCEPT_ENCODING, "gzip");
        HttpUtil.setContentLength(request, request.content().readableBytes());
        client.writeAndFlush(request);
    }
}
