package com.acme.shop.http;

/** Answers the requests for one path. */
public interface Endpoint {
    String path();

    Response handle(Request request);
}
