package com.acme.shop;

/** A product that was ordered is not to be had. */
public final class OutOfStockException extends ShopException {
    private static final long serialVersionUID = 1L;

    public OutOfStockException(String sku) {
        super(409, sku + " is out of stock");
    }
}
