package com.acme.shop.http;

import com.acme.shop.BadRequestException;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/** One HTTP request: method, path, and the parameters of its query. */
public final class Request {
    private final String method;
    private final String path;
    private final Map<String, String> parameters = new HashMap<>();

    private Request(String method, String target) {
        this.method = method;
        int question = target.indexOf('?');
        this.path = question < 0 ? target : target.substring(0, question);
        if (question >= 0) {
            for (String pair : target.substring(question + 1).split("&")) {
                int equals = pair.indexOf('=');
                parameters.put(pair.substring(0, equals), pair.substring(equals + 1));
            }
        }
    }

    static Request read(BufferedReader in) throws IOException {
        String start = in.readLine();
        if (start == null) {
            throw new EOFException("no request");
        }
        String[] words = start.split(" ");
        String header;
        do {
            header = in.readLine();
        } while (header != null && !header.isEmpty());
        if (words.length != 3) {
            throw new EOFException("not a request line: " + start);
        }
        return new Request(words[0], words[1]);
    }

    public String method() {
        return method;
    }

    public String path() {
        return path;
    }

    /** Returns a required parameter. */
    public String parameter(String name) {
        String value = parameters.get(name);
        if (value == null) {
            throw new BadRequestException("no parameter " + name);
        }
        return value;
    }
}
