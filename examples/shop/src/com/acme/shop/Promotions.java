package com.acme.shop;

import java.net.URL;
import java.net.URLClassLoader;
import java.util.function.LongUnaryOperator;

/** Runs promotions as plug-ins. Each has its own class loader, which cannot see classes of the shop. */
public final class Promotions {
    private LongUnaryOperator seasonal;

    /** Returns the price in cents after the promotion. */
    public long apply(long cents) {
        Tally.count("promo");
        return seasonal().applyAsLong(cents);
    }

    private synchronized LongUnaryOperator seasonal() {
        if (seasonal == null) {
            URL home = Promotions.class.getProtectionDomain().getCodeSource().getLocation();
            ClassLoader parent = ClassLoader.getPlatformClassLoader();
            ClassLoader loader = new URLClassLoader("promotions", new URL[] {home}, parent);
            try {
                Class<?> type = Class.forName("com.acme.shop.promo.SeasonalDiscount", true, loader);
                seasonal = (LongUnaryOperator) type.getDeclaredConstructor().newInstance();
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException("no promotion", e);
            }
        }
        return seasonal;
    }
}
