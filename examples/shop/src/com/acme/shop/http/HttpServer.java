package com.acme.shop.http;

import com.acme.shop.ShopException;
import com.acme.shop.Tally;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** A small HTTP server. One thread accepts connections, a pool answers them, with one request per connection. */
public final class HttpServer {
    private final ServerSocket socket;
    private final Map<String, Endpoint> endpoints = new HashMap<>();
    private final ExecutorService workers;

    public HttpServer(int port, int threads) throws IOException {
        socket = new ServerSocket(port, 256, InetAddress.getLoopbackAddress());
        AtomicInteger number = new AtomicInteger();
        workers = Executors.newFixedThreadPool(threads, task -> daemon(task, "http-" + number.incrementAndGet()));
    }

    public void add(Endpoint endpoint) {
        endpoints.put(endpoint.path(), endpoint);
    }

    public int port() {
        return socket.getLocalPort();
    }

    public void start() {
        daemon(this::acceptAll, "http-accept").start();
    }

    private void acceptAll() {
        while (true) {
            try {
                Socket connection = socket.accept();
                workers.execute(() -> serve(connection));
            } catch (IOException e) {
                return;
            }
        }
    }

    private void serve(Socket connection) {
        try (Socket closing = connection) {
            InputStreamReader text = new InputStreamReader(closing.getInputStream(), StandardCharsets.US_ASCII);
            dispatch(Request.read(new BufferedReader(text))).write(closing.getOutputStream());
        } catch (IOException e) {
            Tally.count("broken connection");
        }
    }

    /** Finds the endpoint, and turns its exceptions into a status. */
    Response dispatch(Request request) {
        Tally.count("request");
        Endpoint endpoint = endpoints.get(request.path());
        if (endpoint == null) {
            return new Response(404, "no such path");
        }
        Tally.count("request" + request.path());
        try {
            return endpoint.handle(request);
        } catch (ShopException e) {
            Tally.count("status." + e.status());
            return new Response(e.status(), e.getMessage());
        } catch (RuntimeException e) {
            Tally.count("status.500");
            return new Response(500, e.toString());
        }
    }

    private static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }
}
