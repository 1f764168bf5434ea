/**
 * Tests that every configuration key has an effect. For each key, a test must call `assertKeyEffect` of
 * `@plinth/dev/testing`. This function observes the product with the default and with another value, and fails if
 * there is no difference. This file checks that each key has such a call.
 */
import { join } from 'node:path'
import { startForTest } from '@plinth/dev/testing'
import { scheduler } from '@plinth/scheduler'
import t, { type Test } from 'tap'
import { provenKeys, provenKeysBelow } from './effects/key-proofs.ts'
import { configuredTasks, fullProduct, inMemoryConfig } from './effects/product.ts'

const proven = provenKeysBelow(join(import.meta.dirname, '..'))
const tasks = configuredTasks()

/** Returns the intervals in milliseconds of the tasks above, and whether they start automatically. */
async function taskStates(t: Test, set: Readonly<Record<string, string>>) {
  const running = await startForTest(fullProduct, { roles: ['web'], set: { ...inMemoryConfig, ...set } })
  t.teardown(() => running.stop('test ended'))
  const states = []
  for (const { name } of tasks) states.push(await running.service(scheduler).get(name))
  return states
}

t.test('the keys of scheduled tasks set their interval and their automatic start', async (t) => {
  t.ok(tasks.length > 4)
  const before = await taskStates(t, {})
  const changes = tasks.flatMap(({ fixedDelay, autoStartup }, index): [string, string][] => [
    [fixedDelay, `${31 + index}m`],
    [autoStartup, String(before[index]?.autoStartup === false)],
  ])
  const after = await taskStates(t, Object.fromEntries(changes))
  for (const [index, { fixedDelay, autoStartup }] of tasks.entries()) {
    const [byDefault, changed] = [before[index], after[index]]
    t.equal(changed?.fixedDelayMs, (31 + index) * 60_000, `effect of ${fixedDelay}`)
    t.not(byDefault?.fixedDelayMs, changed?.fixedDelayMs, `${fixedDelay} is compared with its default`)
    t.equal(changed?.autoStartup, !byDefault?.autoStartup, `effect of ${autoStartup}`)
    if (changed?.autoStartup === false) t.equal(changed.nextRunAt, null, `${autoStartup} plans no run`)
    for (const key of [fixedDelay, autoStartup]) proven.add(key)
  }
})

t.test('each key of the product has an effect that a test proves', async (t) => {
  const running = await startForTest(fullProduct, { roles: ['cli'], set: inMemoryConfig })
  t.teardown(() => running.stop('test ended'))
  const keys = running.config.catalogue.map(({ key }) => key)
  t.same(
    keys.filter((key) => !proven.has(key)),
    [],
    'call assertKeyEffect for these keys in a test',
  )
  t.same(
    [...proven].filter((key) => !keys.includes(key)),
    [],
    'tests prove effects of keys that are not declared',
  )
})

t.test('only an executed call proves a key', async (t) => {
  const source = `import { assertKeyEffect } from '@plinth/dev/testing'
    // assertKeyEffect(t, 'platform.a', {})
    t.equal(1, 1, "assertKeyEffect(t, 'platform.b', {})")
    await assertKeyEffect(t, 'platform.{c,d}', { changed: 1 as number, observe })
    await assertKeyEffect(t, name, { changed: 1, observe })
    await other.assertKeyEffect(t, 'platform.e', { changed: 1, observe })`
  t.same(provenKeys(source), ['platform.c', 'platform.d'])
})
