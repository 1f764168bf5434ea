/**
 * Every key of the product does something. A test that changes a value and observes what follows says so, in a title, in the text
 * of an assertion or in a comment where the value is changed: "effect of" and the key, or "effects of" and several, with braces for what differs (`a.{b,c}`). Here the
 * keys are compared with that.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineProduct } from '@plinth/kernel'
import { startForTest } from '@plinth/kernel/testing'
import { scheduler } from '@plinth/scheduler'
import checkout from '@plinth-example/checkout'
import t from 'tap'
import quickstart from '../examples/quickstart/plinth.config.ts'
import { testFiles } from '../scripts/test-files.ts'

/** The checkout needs a chain, so the quickstart does not list it. */
const product = defineProduct({ ...quickstart, plugins: [...quickstart.plugins, checkout] })

const root = join(import.meta.dirname, '..')
/** `a.{b,c}` stands for `a.b` and `a.c`. */
const spread = (keys: string): string[] => {
  const [, before, choices = '', after] = /^([^{]*)\{([^{}]*)\}(.*)$/s.exec(keys) ?? []
  return before === undefined ? [keys] : choices.split(',').flatMap((choice) => spread(`${before}${choice}${after}`))
}
const claim = /\beffects? of ((?:platform\.[a-z0-9.{},-]*[a-z0-9}](?:,? (?:and )?)?)+)/g

const observed = new Set(
  testFiles(root).flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(claim)].flatMap(([, keys = '']) =>
      keys.split(/,? (?:and )?/).flatMap(spread),
    ),
  ),
)

const database = { 'platform.database.sqlite.file': ':memory:', 'platform.http.port': '0' }

t.test('the keys of scheduled tasks say when they run, and whether by themselves', async (t) => {
  const tasks = product.plugins
    .flatMap(({ scheduledTasks = [] }) => scheduledTasks)
    .filter(({ fixedDelay }) => typeof fixedDelay === 'string')
  t.ok(tasks.length > 4)
  const set = Object.fromEntries(
    tasks.flatMap(({ fixedDelay, autoStartup }, index): [string, string][] => [
      [String(fixedDelay), `${7 + index}m`],
      [String(autoStartup), 'false'],
    ]),
  )
  const running = await startForTest(product, { roles: ['web'], set: { ...database, ...set } })
  t.teardown(() => running.stop('test ended'))
  for (const [index, { name, fixedDelay, autoStartup }] of tasks.entries()) {
    const state = await running.service(scheduler).get(name)
    t.equal(state.fixedDelayMs, (7 + index) * 60_000, `effect of ${fixedDelay}`)
    t.match(state, { autoStartup: false, nextRunAt: null }, `effect of ${autoStartup}`)
    for (const key of [fixedDelay, autoStartup]) observed.add(String(key))
  }
})

t.test('every key of the product has an effect that a test observes', async (t) => {
  const running = await startForTest(product, { roles: ['cli'], set: database })
  t.teardown(() => running.stop('test ended'))
  const keys = new Set(running.config.catalogue.map(({ key }) => key))
  const missing = [...keys].filter((key) => !observed.has(key))
  t.same(missing, [], 'no test observes an effect of these keys')
  t.same(
    [...observed].filter((key) => !keys.has(key)),
    [],
    'tests observe effects of keys that are not declared',
  )
})
