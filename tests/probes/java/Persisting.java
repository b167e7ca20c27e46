import jakarta.persistence.CascadeType;
import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.Id;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.OneToMany;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;
import org.hibernate.stat.Statistics;

/** Stores, reads, changes and deletes entities with Hibernate, in known numbers, and prints its own statistics. */
public final class Persisting {
    private Persisting() {}

    @Entity(name = "Shelf")
    public static class Shelf {
        @Id @GeneratedValue private Long id;
        private String name = "shelf";

        @OneToMany(mappedBy = "shelf", cascade = CascadeType.ALL)
        private List<Book> books = new ArrayList<>();

        public String getName() {
            return name;
        }
    }

    @Entity(name = "Book")
    public static class Book {
        @Id @GeneratedValue private Long id;
        private String title = "untitled";

        @ManyToOne(fetch = FetchType.LAZY)
        private Shelf shelf;

        public Shelf getShelf() {
            return shelf;
        }
    }

    public static void main(String[] arguments) {
        Logger.getLogger("").setLevel(Level.OFF);
        SessionFactory factory = new Configuration()
                .addAnnotatedClass(Shelf.class)
                .addAnnotatedClass(Book.class)
                .setProperty("hibernate.connection.url", "jdbc:h2:mem:library;DB_CLOSE_DELAY=-1")
                .setProperty("hibernate.dialect", "org.hibernate.dialect.H2Dialect")
                .setProperty("hibernate.hbm2ddl.auto", "create")
                .setProperty("hibernate.generate_statistics", "true")
                .buildSessionFactory();
        Gate.await();
        in(factory, Persisting::store);
        in(factory, Persisting::readBooksOfShelves);
        in(factory, Persisting::readShelvesOfBooks);
        in(factory, Persisting::change);
        in(factory, Persisting::storeAndQuery);
        in(factory, Persisting::delete);
        Statistics own = factory.getStatistics();
        System.out.println("hibernate " + own.getEntityLoadCount() + " " + own.getEntityFetchCount() + " "
                + own.getCollectionFetchCount() + " " + own.getEntityInsertCount() + " " + own.getEntityUpdateCount() + " "
                + own.getEntityDeleteCount() + " " + own.getFlushCount());
        System.out.println("done");
        System.out.flush();
        Gate.pass();
        factory.close();
    }

    private static void in(SessionFactory factory, Consumer<Session> work) {
        try (Session session = factory.openSession()) {
            session.beginTransaction();
            work.accept(session);
            session.getTransaction().commit();
        }
    }

    private static void store(Session session) {
        for (int i = 0; i < 7; i++) {
            Shelf shelf = new Shelf();
            for (int k = 0; k < (i == 0 ? 11 : 2); k++) {
                Book book = new Book();
                book.shelf = shelf;
                shelf.books.add(book);
            }
            session.persist(shelf);
        }
    }

    private static void readBooksOfShelves(Session session) {
        List<Shelf> shelves = session.createQuery("from Shelf order by id", Shelf.class).list();
        int number = 0;
        for (Shelf shelf : shelves.subList(0, 5)) {
            number += shelf.books.size();
        }
        System.out.println("books " + number);
    }

    private static void readShelvesOfBooks(Session session) {
        int length = 0;
        for (Book book : session.createQuery("from Book", Book.class).list()) {
            length += book.getShelf().getName().length();
        }
        System.out.println("length " + length);
    }

    private static void change(Session session) {
        for (Book book : session.createQuery("from Book order by id", Book.class).setMaxResults(13).list()) {
            book.title = "changed";
        }
    }

    private static void storeAndQuery(Session session) {
        for (int i = 0; i < 3; i++) {
            session.persist(new Book());
            session.createQuery("select count(*) from Book", Long.class).getSingleResult();
        }
        session.createQuery("select count(*) from Shelf", Long.class).getSingleResult();
    }

    private static void delete(Session session) {
        for (Book book : session.createQuery("from Book order by id", Book.class).setMaxResults(5).list()) {
            session.remove(book);
        }
    }
}
