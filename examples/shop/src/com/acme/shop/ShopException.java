package com.acme.shop;

/** A failure of the shop; {@code status} is the HTTP status. */
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
