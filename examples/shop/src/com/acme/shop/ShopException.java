package com.acme.shop;

/** Something the shop could not do; {@code status} is what HTTP calls it. */
public abstract class ShopException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int status;

    ShopException(int status, String message) {
        super(message);
        this.status = status;
    }

    public int status() {
        return status;
    }
}
