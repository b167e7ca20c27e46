package com.acme.shop;

/** A request that makes no sense. */
public final class BadRequestException extends ShopException {
    private static final long serialVersionUID = 1L;

    public BadRequestException(String message) {
        super(400, message);
    }
}
