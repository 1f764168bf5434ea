import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { throwsWith } from '@plinth/dev/testing'
import t from 'tap'
import { withMeasuredFigures } from '../../scripts/measured-figures.ts'

const results = `
## Writes (\`bench/writes\`)

| from spawn to listening | up to date, ms  | empty, ms |
|-------------------------|-----------------|-----------|
| product, JavaScript     | 1179 (999..2000) | 1561     |

The product records 15,623 sends per second.

## Other

| product, JavaScript     | 7 (1..9) | 8     |
`

t.test('figures of a page come from the results of the benchmarks', (t) => {
  const page = (figures: readonly string[]) =>
    `| start | ${figures[0]}<!-- bench: Writes > product, JavaScript ; # / 1000 --> s, ` +
    `empty ${figures[1]}<!-- bench: Writes > product, JavaScript ; * ; # --> ms, ` +
    `${figures[2]}<!-- bench: Writes > records # sends --> sends |`
  t.equal(withMeasuredFigures(page(['9', '9.9', '9,999']), results), page(['1.2', '1,561', '15,623']))
  for (const [place, count] of [
    ['Writes > nothing ; #', 0],
    ['Nowhere > product ; #', 0],
    ['Writes > #', 2],
  ] as const) {
    const message = `bench/README.md contains ${count} figures for "${place}".`
    throwsWith(t, () => withMeasuredFigures(`1<!-- bench: ${place} -->`, results), { message })
  }
  t.end()
})

t.test('the README contains no figures of its own', (t) => {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
  t.notMatch(readme, /\d x bare Fastify|about \d/)
  t.end()
})
