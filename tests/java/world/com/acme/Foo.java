package com.acme;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;

/** Opens the given URL. */
public final class Foo {
    private Foo() {}

    public static int bar(double x, URL url) throws IOException {
        try (InputStream in = url.openStream()) {
            return in.read() + (int) x;
        }
    }
}
