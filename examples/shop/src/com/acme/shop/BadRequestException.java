package com.acme.shop;

/** A request that the shop does not understand. */
public final class BadRequestException extends ShopException {
    private static final long serialVersionUID = 1L;

    public BadRequestException(String message) {
        super(400, message);
    }
}
