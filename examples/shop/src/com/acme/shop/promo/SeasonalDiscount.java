package com.acme.shop.promo;

import java.util.function.LongUnaryOperator;

/** A plug-in with its own class loader, loaded at the first request that needs it. */
public final class SeasonalDiscount implements LongUnaryOperator {
    @Override
    public long applyAsLong(long cents) {
        if (cents < 0) {
            throw new IllegalArgumentException("negative amount " + cents);
        }
        return cents - cents / 10;
    }
}
