package com.acme.shop;

/** An ordered product is not available. */
public final class OutOfStockException extends ShopException {
    private static final long serialVersionUID = 1L;

    public OutOfStockException(String sku) {
        super(409, sku + " is out of stock");
    }
}
