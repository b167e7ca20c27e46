require 'set'

module Greeting
  def greet = "hello #{name}"
end

class Animal
  include Comparable
  include Greeting
  attr_accessor :name, :age
  def initialize(name, age:) = (@name, @age = name, age)
  def <=>(other) = age <=> other.age
  def method_missing(wanted, *arguments) = wanted.to_s.start_with?('can_') ? "#{wanted}#{arguments}" : super
  def respond_to_missing?(wanted, all = false) = wanted.to_s.start_with?('can_') || super
end

animals = (1..11).map { |n| Animal.new("a#{n}", age: n * 7 % 11) }
puts animals.sort.map(&:greet).join(', ')
puts animals.min.name, animals.max.name, animals[0].can_fly(1, :x)
begin
  animals[0].unknown
rescue NoMethodError => e
  puts e.message[0, 26]
ensure
  puts 'ensured'
end
fib = Hash.new { |known, n| known[n] = n < 2 ? n : known[n - 1] + known[n - 2] }
puts fib[90], 2**200, 10.fdiv(4), 7.divmod(-3).inspect, (1..Float::INFINITY).lazy.select(&:even?).map { _1 * 3 }.first(5).inspect
text = 'the quick brown fox jumps over the lazy dog'
puts text.scan(/\b(\w)(\w*)\b/).map { |first, rest| first.upcase + rest }.join(' '), text.tr('a-y', 'b-z'), text.split.group_by(&:size).inspect
puts text.each_char.tally.sort_by { |char, count| [-count, char] }.first(5).inspect, text.gsub(/o(?=x|v)/) { '0' }
config = { name: 'x', list: [1, [2, { deep: true }]] }
case config
in { name: String => name, list: [Integer => first, [_, { deep: }]] } then puts "#{name} #{first} #{deep}"
end
counter = Enumerator.new { |y| 3.times { |i| y << i; y << i * i } }
puts counter.next, counter.next, counter.to_a.inspect, Set[3, 1, 3].include?(1)
puts [3, 1, 2].sort_by { -_1 }.each_slice(2).to_a.inspect, [1, 2, 3, 4].each_cons(2).map { |a, b| b - a }.sum, (1..6).each_with_object([]) { |i, all| all.unshift(i) }.inspect
fiber = Fiber.new { 3.times { |i| Fiber.yield i * 10 }; :done }
puts 4.times.map { fiber.resume }.inspect
threads = 7.times.map { |i| Thread.new { (1..100).inject(:+) * i } }
puts threads.map(&:value).inspect
queue = Queue.new
producer = Thread.new { 13.times { |i| queue << i }; queue << nil }
total = 0
while (value = queue.pop) do total += value end
producer.join
puts total
Point = Struct.new(:x, :y) { def +(other) = Point.new(x + other.x, y + other.y) }
puts (Point.new(1, 2) + Point.new(3, 4)).inspect, Comparable.instance_method(:clamp).arity, 5.clamp(1, 3)
String.class_eval { define_method(:shout) { upcase + '!' } }
puts 'open'.shout, eval('[1, 2, 3].map { |x| x ** 2 }.sum'), :sym.to_proc.call('s') rescue puts 'rescued'
result = catch(:found) { (1..9).each { |a| (1..9).each { |b| throw :found, [a, b] if a * b == 42 } }; nil }
puts result.inspect, format('%05.2f|%-6s|%x', 3.14159, 'ab', 255), [1, 'a', :b, nil, 2.5].inspect
