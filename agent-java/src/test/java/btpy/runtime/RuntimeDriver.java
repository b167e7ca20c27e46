package btpy.runtime;

import java.io.File;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/** Runs scenarios of {@link Scenarios} by name: {@code RuntimeDriver DIRECTORY [NAME...]}; without names it runs all of them. */
public final class RuntimeDriver {
    private RuntimeDriver() {}

    public static void main(String[] arguments) throws Exception {
        File directory = new File(arguments[0]);
        Scenarios[] subjects = {
            new CostScenarios(directory), // first, so that no session of another scenario disturbs the JIT warm-up
            new ValueScenarios(directory),
            new MapScenarios(directory),
            new FlushScenarios(directory),
            new BudgetScenarios(directory),
            new SamplingScenarios(directory),
            new SketchScenarios(directory),
            new BufferScenarios(directory),
            new SessionScenarios(directory),
            new ObjectScenarios(directory),
            new ThreadScenarios(directory),
        };
        Set<String> names = new HashSet<String>(Arrays.asList(arguments).subList(1, arguments.length));
        boolean all = names.isEmpty();
        for (Scenarios subject : subjects) {
            for (String name : subject.names()) {
                if (all || names.remove(name)) {
                    subject.start(name).run();
                }
            }
        }
        if (!names.isEmpty()) {
            throw new IllegalArgumentException("there are no scenarios " + names);
        }
        System.out.println("done all true");
    }
}
