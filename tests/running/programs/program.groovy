import groovy.transform.CompileStatic
import groovy.transform.Immutable
import groovy.transform.Memoized

@Immutable
class Point {
    int x, y
    Point plus(Point other) { new Point(x + other.x, y + other.y) }
}

trait Named {
    String name
    String greet() { "hello $name" }
}

class Person implements Named, Comparable<Person> {
    int age
    int compareTo(Person other) { age <=> other.age }
    def propertyMissing(String wanted) { "no $wanted" }
    def methodMissing(String wanted, arguments) { "$wanted(${arguments.join(',')})" }
}

@CompileStatic
class Fast {
    @Memoized
    long fib(int n) { n < 2 ? n : fib(n - 1) + fib(n - 2) }
    static int sum(List<Integer> all) { int total = 0; for (int each in all) { total += each }; total }
}

println((new Point(1, 2) + new Point(3, 4)))
def people = (1..11).collect { new Person(name: "p$it", age: (it * 7) % 11) }
println people.sort().collect { it.greet() + ' ' + it.age }
println people[0].height + ' ' + people[0].jump(1, 2)
println new Fast().fib(60) + ' ' + Fast.sum((1..100).toList())
println((1..20).findAll { it % 3 == 0 }.inject(0) { a, b -> a * 31 + b })
println([a: 1, b: [2, 3], c: null].collectEntries { k, v -> [k.toUpperCase(), v] })
def words = 'the quick brown fox jumps over the lazy dog'.split(' ')
println words.groupBy { it.size() }.sort { it.key }
println words*.reverse().join(' ') + ' ' + ('fox' in words) + ' ' + ('2026-11-21' =~ /(\d+)-(\d+)/)[0][2]
println words.countBy { it[0] }.max { a, b -> a.value <=> b.value ?: b.key <=> a.key }
switch (words.size()) { case 1..5: println 'few'; break; case { it > 8 }: println 'many'; break; default: println 'some' }
try { [1, 2].get(7) } catch (IndexOutOfBoundsException e) { println 'caught ' + e.class.simpleName }
try { assert words.size() == 3 : 'wrong size' } catch (AssertionError e) { println e.message.readLines()[0] }
int outer = 0
loop:
for (i in 0..9) { for (j in 0..9) { if (i * j > 20) break loop; if (j > i) continue loop; outer += i * j } }
println outer
def closure = { int a, int b = 10 -> a * b }
println closure(3) + ' ' + closure.curry(4)(5) + ' ' + (closure >> { it + 1 })(2, 3)
println(2**100 + ' ' + 10.0.div(4) + ' ' + (7 <=> 3) + ' ' + [1, 2, 3].permutations().size())
String.metaClass.shout = { -> delegate.toUpperCase() + '!' }
println 'expando'.shout()
println Eval.me('1 + 2 * 3') + ' ' + new GroovyShell().evaluate('def f(n) { n <= 1 ? 1G : n * f(n - 1) }; f(25)')
