/** Tests the effect of each configuration key of the kernel. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { assertKeyEffect, type KeyValues, manualClock, programEnvironment, startForTest } from '@plinth/dev/testing'
import t from 'tap'
import { createSamplePlugin, productOf } from './sample-plugin.ts'

const never = () => new Promise<void>(() => {})
const asTexts = (values: KeyValues) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)]))

t.test('a plugin that hangs is cancelled at the deadline of its phase', async (t) => {
  /** Returns, in milliseconds, when the stop hook was called and when the stop ended. */
  const stop = async (values: KeyValues) => {
    const clock = manualClock()
    let beginsAt: number | undefined
    const stuck = createSamplePlugin('stuck', {
      setup({ onDrain, onStop }) {
        onDrain(never)
        onStop(() => {
          beginsAt = clock.monotonic()
          return never()
        })
      },
    })
    const running = await startForTest(productOf([stuck]), { clock, set: asTexts(values) })
    let endsAt: number | undefined
    running.stop('test ended').catch(() => {
      endsAt = clock.monotonic()
    })
    for (let seconds = 0; seconds < 60 && endsAt === undefined; seconds++) await clock.advance(1000)
    return { beginsAt, endsAt }
  }
  const [drain] = await assertKeyEffect(t, 'platform.kernel.drain-deadline', { changed: '3s', observe: stop })
  t.same(drain?.after, { beginsAt: 3000, endsAt: 3000 + Number(drain?.before.endsAt) - Number(drain?.before.beginsAt) })
  const [end] = await assertKeyEffect(t, 'platform.kernel.stop-deadline', { changed: '7s', observe: stop })
  t.same(end?.after, { beginsAt: end?.before.beginsAt, endsAt: Number(end?.before.beginsAt) + 7000 })

  const [setup] = await assertKeyEffect(t, 'platform.kernel.setup-deadline', {
    changed: '2s',
    observe: async (values) => {
      const clock = manualClock()
      let problem = 'none'
      const start = startForTest(productOf([createSamplePlugin('stuck', { setup: never })]), {
        clock,
        set: asTexts(values),
      })
      start.catch((error: Error) => {
        problem = error.message
      })
      await clock.advance(2000)
      return problem
    },
  })
  t.equal(setup?.before, 'none')
  t.match(setup?.after, 'within 2000 ms')
})

t.test('the log has the configured level and format', async (t) => {
  const source = `import { definePlugin, defineProduct } from '@plinth/kernel'
    const talker = definePlugin({ id: 'talker', version: '1.0.0', kernel: '^1.0.0',
      setup({ log }) { log.debug('detail'); log.warn('warning'); throw new Error('ends the program') } })
    export default defineProduct({ name: 'talk', plugins: [talker] })`
  const file = join(t.testdir({ 'plinth.config.mjs': source }), 'plinth.config.mjs')
  const main = join(import.meta.dirname, '../src/cli/main.ts')
  const logOf = (values: KeyValues) => {
    const settings = Object.entries(values).flatMap(([key, value]) => ['--set', `${key}=${value}`])
    const { stdout } = spawnSync(process.execPath, [main, '--product', file, 'start', ...settings], {
      encoding: 'utf8',
      env: programEnvironment({}),
      timeout: 300_000,
    })
    const lines = stdout.split('\n')
    return ['detail', 'warning'].map((text) => lines.find((line) => line.includes(text))?.slice(0, 1) ?? 'missing')
  }
  const [levels] = await assertKeyEffect(t, 'platform.log.level', { changed: 'debug', observe: logOf })
  t.same(
    [levels?.before, levels?.after],
    [
      ['missing', '{'],
      ['{', '{'],
    ],
  )
  const [formats] = await assertKeyEffect(t, 'platform.log.format', { changed: 'pretty', observe: logOf })
  t.equal(formats?.before[1], '{')
  t.notMatch(formats?.after[1], /^(?:\{|missing)/)
})
