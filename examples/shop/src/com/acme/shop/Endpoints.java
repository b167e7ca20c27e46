package com.acme.shop;

import com.acme.shop.http.Endpoint;
import com.acme.shop.http.HttpServer;
import com.acme.shop.http.Request;
import com.acme.shop.http.Response;

/** The pages of the shop. */
final class Endpoints {
    private Endpoints() {}

    static void addAll(HttpServer server, Catalog catalog, PricingEngine pricing, OrderService orders) {
        server.add(new Quote(pricing));
        server.add(new PlaceOrder(orders));
        server.add(new FindOrder(orders));
        server.add(new Count(catalog));
        server.add(new Promotion(new Promotions()));
    }

    /** {@code /quote?sku=&quantity=} */
    static final class Quote implements Endpoint {
        private final PricingEngine pricing;

        Quote(PricingEngine pricing) {
            this.pricing = pricing;
        }

        @Override
        public String path() {
            return "/quote";
        }

        @Override
        public Response handle(Request request) {
            String sku = request.parameter("sku");
            return Response.ok(pricing.quote(sku, Integer.parseInt(request.parameter("quantity"))).toString());
        }
    }

    /** {@code /order?customer=&items=} */
    static final class PlaceOrder implements Endpoint {
        private final OrderService orders;

        PlaceOrder(OrderService orders) {
            this.orders = orders;
        }

        @Override
        public String path() {
            return "/order";
        }

        @Override
        public Response handle(Request request) {
            Basket basket = Basket.parse(request.parameter("items"));
            Order order = orders.place(request.parameter("customer"), basket.pieces(), basket);
            return Response.ok("order " + order.id() + ": " + order.total());
        }
    }

    /** {@code /orders?id=} */
    static final class FindOrder implements Endpoint {
        private final OrderService orders;

        FindOrder(OrderService orders) {
            this.orders = orders;
        }

        @Override
        public String path() {
            return "/orders";
        }

        @Override
        public Response handle(Request request) {
            return Response.ok(orders.find(Long.parseLong(request.parameter("id"))).status().name());
        }
    }

    /** {@code /count?category=} */
    static final class Count implements Endpoint {
        private final Catalog catalog;

        Count(Catalog catalog) {
            this.catalog = catalog;
        }

        @Override
        public String path() {
            return "/count";
        }

        @Override
        public Response handle(Request request) {
            return Response.ok(Integer.toString(catalog.category(request.parameter("category")).countProducts()));
        }
    }

    /** {@code /promotion?cents=} */
    static final class Promotion implements Endpoint {
        private final Promotions promotions;

        Promotion(Promotions promotions) {
            this.promotions = promotions;
        }

        @Override
        public String path() {
            return "/promotion";
        }

        @Override
        public Response handle(Request request) {
            return Response.ok(Long.toString(promotions.apply(Long.parseLong(request.parameter("cents")))));
        }
    }
}
