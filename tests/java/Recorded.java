import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** A record with an annotation on the type of a component, and one without. */
public final class Recorded {
    @Target(ElementType.TYPE_USE)
    @Retention(RetentionPolicy.RUNTIME)
    @interface Fine {}

    record Annotated(int first, @Fine String second) {
        static final String UNIT = System.lineSeparator();

        int size() {
            return second.length() + UNIT.length();
        }
    }

    record Plain(int first, String second) {}

    private Recorded() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready " + new Annotated(2, "three").size() + new Plain(2, "three"));
        System.in.read();
        for (int i = 0; i < 7; i++) {
            System.out.println("size " + new Annotated(i, "three").size());
        }
    }
}
