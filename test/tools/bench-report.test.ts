import t from 'tap'
import { type Bar, barsText } from '../../bench/kernel/report.ts'
import { inverse, ratio, spread } from '../../bench/kernel/statistics.ts'

const row = (measured: Bar['measured'], bar: Bar['bar']) =>
  barsText([{ name: 'x', measured, bar, unit: 'ratio' }])
    .split('\n')[2]
    ?.split('|')
    .map((cell) => cell.trim())
    .slice(2, 5)

t.test('a bar shows median and range, and its result is computed from the rounds', async (t) => {
  t.same(row(spread([1, 1.1, 1.2, 1.3, 1.4]), { atLeast: 0.9 }), ['1.20 (1.00..1.40)', '>= 0.90', 'met'])
  t.same(row(spread([1, 1.1, 1.2, 1.3, 1.4]), { atLeast: 1.5 }), ['1.20 (1.00..1.40)', '>= 1.50', 'missed'])
  // The middle half of the values lies on both sides of the target, so the result is undecided, whatever the median is.
  t.same(row(spread([0.8, 0.87, 0.89, 0.95, 1]), { atLeast: 0.9 })?.[2], 'at the bar')
  t.same(row(spread([0.8, 0.87, 0.91, 0.95, 1]), { atMost: 0.9 })?.[2], 'at the bar')
  t.same(row(spread([0.1, 1, 1, 1, 9]), { atMost: 0.9 })?.[2], 'missed', 'one quiet round decides nothing')
  t.same(row(0.89, { atLeast: 0.9 }), ['0.89', '>= 0.90', 'missed'], 'a single number is one or the other')
})

t.test('ratios are computed round by round, and can be inverted with their range', async (t) => {
  const costs = ratio([2, 4, 8], [1, 1, 2])
  t.match(costs, { median: 4, min: 2, max: 4 })
  t.match(inverse(costs), { median: 0.25, min: 0.25, max: 0.5 })
})
