package com.acme.shop;

import java.util.concurrent.CompletableFuture;
import org.springframework.scheduling.annotation.Async;
import org.springframework.stereotype.Service;

@Service
class Mailer {
    private final Faults faults;

    Mailer(Faults faults) {
        this.faults = faults;
    }

    @Async
    public CompletableFuture<String> send(String customer) throws InterruptedException {
        if (faults.has("shortOfThreads")) {
            Thread.sleep(15);
        }
        return CompletableFuture.completedFuture("mailed " + customer);
    }
}
