import org.springframework.aop.framework.ProxyFactory;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.interceptor.MatchAlwaysTransactionAttributeSource;
import org.springframework.transaction.interceptor.TransactionInterceptor;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.SmartTransactionObject;
import org.springframework.transaction.support.TransactionTemplate;

/** Transactions of Spring with a manager that counts them: commits, rollbacks, expected or not, and nested methods. */
public final class SpringTransactions {
    private SpringTransactions() {}

    public interface Orders {
        void place();

        void fail();

        void placeTwice(Orders inner);

        void ignoreAFailure(Orders inner);
    }

    static final class Shop implements Orders {
        @Override
        public void place() {}

        @Override
        public void fail() {
            throw new IllegalStateException("sold out");
        }

        @Override
        public void placeTwice(Orders inner) {
            inner.place();
            inner.place();
        }

        @Override
        public void ignoreAFailure(Orders inner) {
            try {
                inner.fail();
            } catch (IllegalStateException e) {
                // The transaction cannot be committed any more.
            }
        }
    }

    static final class Current implements SmartTransactionObject {
        private boolean active;
        private boolean rollbackOnly;

        @Override
        public boolean isRollbackOnly() {
            return rollbackOnly;
        }

        @Override
        public void flush() {}
    }

    static final class Counting extends AbstractPlatformTransactionManager {
        private final Current current = new Current();
        private int commits;
        private int rollbacks;

        @Override
        protected Object doGetTransaction() {
            return current;
        }

        @Override
        protected boolean isExistingTransaction(Object transaction) {
            return current.active;
        }

        @Override
        protected void doBegin(Object transaction, TransactionDefinition definition) {
            current.active = true;
            current.rollbackOnly = false;
        }

        @Override
        protected void doCommit(DefaultTransactionStatus status) {
            commits++;
        }

        @Override
        protected void doRollback(DefaultTransactionStatus status) {
            rollbacks++;
        }

        @Override
        protected void doSetRollbackOnly(DefaultTransactionStatus status) {
            current.rollbackOnly = true;
        }

        @Override
        protected void doCleanupAfterCompletion(Object transaction) {
            current.active = false;
        }
    }

    public static void main(String[] arguments) {
        Counting manager = new Counting();
        ProxyFactory factory = new ProxyFactory(new Shop());
        factory.addAdvice(new TransactionInterceptor(manager, new MatchAlwaysTransactionAttributeSource()));
        Orders orders = (Orders) factory.getProxy(SpringTransactions.class.getClassLoader());
        Gate.await();
        for (int i = 0; i < 31; i++) {
            orders.place();
        }
        for (int i = 0; i < 13; i++) {
            fail(orders);
        }
        for (int i = 0; i < 7; i++) {
            orders.placeTwice(orders);
        }
        for (int i = 0; i < 3; i++) {
            try {
                orders.ignoreAFailure(orders);
                throw new AssertionError("it was committed");
            } catch (UnexpectedRollbackException e) {
                // the expected result
            }
        }
        TransactionTemplate template = new TransactionTemplate(manager);
        for (int i = 0; i < 5; i++) {
            byTemplate(template);
        }
        System.out.println("ended " + manager.commits + " " + manager.rollbacks);
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    private static void byTemplate(TransactionTemplate template) {
        template.executeWithoutResult(status -> {});
    }

    private static void fail(Orders orders) {
        try {
            orders.fail();
        } catch (IllegalStateException e) {
            // the expected result
        }
    }
}
