package com.acme.shop.http;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/** Status and text of an answer. */
public final class Response {
    private final int status;
    private final String body;

    public Response(int status, String body) {
        this.status = status;
        this.body = body;
    }

    public static Response ok(String body) {
        return new Response(200, body);
    }

    public int status() {
        return status;
    }

    void write(OutputStream out) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        String head = "HTTP/1.1 " + status + " -\r\nContent-Length: " + bytes.length + "\r\nConnection: close\r\n\r\n";
        out.write(head.getBytes(StandardCharsets.US_ASCII));
        out.write(bytes);
        out.flush();
    }
}
