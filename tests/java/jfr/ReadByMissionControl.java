import java.io.File;
import org.openjdk.jmc.common.item.IItem;
import org.openjdk.jmc.common.item.IItemCollection;
import org.openjdk.jmc.common.item.IItemIterable;
import org.openjdk.jmc.common.item.ItemFilters;
import org.openjdk.jmc.common.item.IAccessorKey;
import org.openjdk.jmc.common.item.IMemberAccessor;
import org.openjdk.jmc.common.item.IType;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;

/** Reads a recording with the parser of JDK Mission Control: the fields of a type, its events, and its last event. */
public final class ReadByMissionControl {
    private ReadByMissionControl() {}

    /** Arguments: the file, and the name of the type. */
    public static void main(String[] arguments) throws Exception {
        IItemCollection events = JfrLoaderToolkit.loadEvents(new File(arguments[0])).apply(ItemFilters.type(arguments[1]));
        int count = 0;
        for (IItemIterable ofOneType : events) {
            IType<IItem> type = ofOneType.getType();
            for (IItem event : ofOneType) {
                count++;
                if (count == 1) {
                    for (IAccessorKey<?> key : type.getAccessorKeys().keySet()) {
                        IMemberAccessor<?, IItem> accessor = type.getAccessor(key);
                        System.out.println(key.getIdentifier() + " " + key.getContentType().getIdentifier() + " " + accessor.getMember(event));
                    }
                }
            }
        }
        System.out.println("count " + count);
    }
}
