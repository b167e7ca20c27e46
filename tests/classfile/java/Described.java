import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

@Deprecated
@Described.Hidden(names = {"a", "b"}, inner = @Described.Inner(Thread.State.NEW), type = String.class, number = 7)
public class Described {
    @interface Hidden {
        String[] names();

        Inner inner();

        Class<?> type();

        long number();
    }

    @interface Inner {
        Thread.State value();
    }

    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.TYPE_USE)
    @interface Checked {
        String[] why() default {};
    }

    @Deprecated
    static long parameters(long wide, String name, int[] rest) {
        int local = rest.length;
        for (int i = 0; i < 3; i++) {
            long other = i;
            local += other;
        }
        return local;
    }

    int typed(Object value) {
        @Checked(why = {"x", "y"}) String text = (@Checked String) value;
        List<@Checked String> list = new @Checked ArrayList<>();
        if (value instanceof @Checked Integer) {
            return list.size();
        }
        try {
            Supplier<List<String>> make = @Checked ArrayList<String>::new;
            return make.get().size() + text.length();
        } catch (@Checked IllegalStateException error) {
            return 0;
        }
    }

    abstract static class Bare {
        abstract void nothing(int unnamed);
    }
}
