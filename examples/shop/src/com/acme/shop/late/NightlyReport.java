package com.acme.shop.late;

import com.acme.shop.Tally;

/** Loaded by name when a timer first fires, so it is not loaded yet when a tracer attaches early. */
public final class NightlyReport implements Runnable {
    private int pages;

    @Override
    public void run() {
        Tally.count("report");
        pages = page(pages + 1);
    }

    private int page(int number) {
        return number;
    }
}
