package com.acme.shop;

/** No order has this number. */
public final class NoSuchOrderException extends ShopException {
    private static final long serialVersionUID = 1L;

    public NoSuchOrderException(long id) {
        super(404, "no order " + id);
    }
}
