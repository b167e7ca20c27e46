package com.acme.shop;

/** No product has this article number. */
public final class NoSuchProductException extends ShopException {
    private static final long serialVersionUID = 1L;

    public NoSuchProductException(String sku) {
        super(404, "no product " + sku);
    }
}
