import kotlin.properties.Delegates

sealed interface Expression
data class Number(val value: Double) : Expression
data class Sum(val left: Expression, val right: Expression) : Expression
data class Product(val left: Expression, val right: Expression) : Expression
data object Unknown : Expression

fun Expression.evaluate(): Double = when (this) {
    is Number -> value
    is Sum -> left.evaluate() + right.evaluate()
    is Product -> left.evaluate() * right.evaluate()
    Unknown -> Double.NaN
}

enum class Level(val weight: Int) { LOW(1), HIGH(10) { override fun label() = "!$name" }; open fun label() = name }

@JvmInline value class Meters(val value: Long) { operator fun plus(other: Meters) = Meters(value + other.value) }

class Observed { var changes = mutableListOf<String>(); var name: String by Delegates.observable("first") { _, old, new -> changes += "$old>$new" }; val lazily by lazy { changes.size } }

inline fun <reified T> Iterable<*>.only(): List<T> = filterIsInstance<T>()
tailrec fun gcd(a: Long, b: Long): Long = if (b == 0L) a else gcd(b, a % b)
suspend fun SequenceScope<Int>.squares(limit: Int) { for (i in 1..limit) yield(i * i) }

fun main() {
    println(Sum(Number(2.0), Product(Number(3.0), Number(4.0))).evaluate())
    println(Sum(Number(1.0), Unknown))
    println(Level.entries.associateWith { it.label() to it.weight })
    println((Meters(3) + Meters(4)).value)
    val observed = Observed().apply { name = "second"; name = "third" }
    println("${observed.changes} ${observed.lazily}")
    println(listOf(1, "a", 2.5, "b", null).only<String>())
    println(gcd(1071, 462))
    println(sequence { yield(0); squares(7) }.filter { it % 2 == 1 }.toList())
    println((1..20).groupBy { it % 3 }.mapValues { (_, all) -> all.sum() }.toSortedMap())
    println("the quick brown fox".split(" ").zipWithNext { a, b -> a.last() + b.take(1) })
    val (even, odd) = (1..11).partition { it % 2 == 0 }
    println("$even $odd ${even.fold(1L) { a, b -> a * b }} ${odd.runningReduce { a, b -> a + b }}")
    println(try { requireNotNull(null as String?) { "nothing there" } } catch (e: IllegalArgumentException) { e.message } finally { print("finally ") })
    println(generateSequence(1) { if (it < 1000) it * 3 else null }.joinToString("|", "<", ">") { "%04d".format(it) })
    val text = buildString { repeat(3) { append(it).append(',') }; setLength(length - 1) }
    println(text.let { Regex("""(\d),(\d)""").find(it)?.destructured?.let { (a, b) -> a + b } })
    outer@ for (i in 1..9) for (j in 1..9) { if (i * j == 42) { println("$i $j"); break@outer } }
    println(runCatching { error("failed") }.exceptionOrNull()?.message ?: "fine")
    println(listOf(3, 1, 2).sortedWith(compareByDescending<Int> { it % 2 }.thenBy { it }) + ArrayDeque(listOf(9, 8)).apply { addFirst(7) })
    println(ULong.MAX_VALUE.toString() + " " + (5u - 6u) + " " + 0x7F.inv() + " " + 'c'.code.and(0x0F))
}
