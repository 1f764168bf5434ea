/**
 * Shows that tests notice when a configuration key has no effect: `npm run proof:keys`. Cuts one key at a time and runs the
 * test file that proves it. Ends with 1 when a cut is not noticed.
 *
 *     --only TEXT          keys that contain the text
 *     --sample N           draws N keys; --seed S draws the same keys again
 *     --jobs N             keys that are cut at the same time; 1 by default
 *     --list               prints the keys and the test files that must notice their cuts, and runs nothing
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startForTest } from '@plinth/kernel/testing'
import { filesByKey, provingTest } from '../effects/key-proofs.ts'
import { configuredTasks, fullProduct, inMemoryConfig } from '../effects/product.ts'
import { changeThatIgnoresKey } from './key-cuts.ts'
import { proveChanges, repository } from './noticed-changes.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    sample: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '' },
    jobs: { type: 'string', default: '1' },
    list: { type: 'boolean', default: false },
  },
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const proven = filesByKey(repository)
for (const { fixedDelay, autoStartup } of configuredTasks())
  for (const key of [fixedDelay, autoStartup]) proven.set(key, ['test/effects.test.ts'])
const running = await startForTest(fullProduct, { roles: ['cli'], set: inMemoryConfig })
// If a key has only one allowed value, its effect is that other values are rejected. Such a key is skipped, because no
// code reads it.
const keys = running.config.catalogue
  .filter(({ schema: { enum: values } }) => !Array.isArray(values) || values.length > 1)
  .map(({ key }) => key)
await running.stop('keys are listed')

const rank = (key: string) => createHash('sha256').update(`${values.seed} ${key}`).digest('hex')
const drawn = keys
  .filter((key) => key.includes(values.only))
  .toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1))
  .slice(0, Number(values.sample))

/** Returns the change after which a key has no effect. In its test file, only the test of this effect runs. */
function cutIn(key: string) {
  const files = proven.get(key) ?? []
  const [title] = files.map((file) => provingTest(readFileSync(join(repository, file), 'utf8'), key))
  return changeThatIgnoresKey(key, files, title)
}
const changes = drawn.map(cutIn)
console.log(`${drawn.length} keys, --seed ${values.seed}`)
if (values.list) {
  for (const key of drawn) console.log(`${key} ${proven.get(key)?.join(' ')}`)
  process.exit(0)
}
const results = await proveChanges(changes, {
  jobs: Number(values.jobs),
  onResult({ change: { effect, noticedBy }, problems, seconds }) {
    const outcome = problems.length === 0 ? 'noticed    ' : 'NOT NOTICED'
    console.log(`${outcome} ${seconds.toFixed(1).padStart(6)} s  ${effect} ${noticedBy.join(' ')}`)
    for (const problem of problems) console.log(`            ${problem}`)
  },
})
const noticed = results.filter(({ problems }) => problems.length === 0).length
console.log(`\n${noticed} of ${drawn.length} noticed`)
process.exit(noticed === drawn.length ? 0 : 1)
