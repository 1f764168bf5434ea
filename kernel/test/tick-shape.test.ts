import { execFileSync } from 'node:child_process'
import { programEnvironment } from '@plinth/dev/testing'
import t from 'tap'

/**
 * Loads a module, then counts the objects of `process.nextTick` that are still alive after several garbage collections.
 */
const program = `
  import { createHook } from 'node:async_hooks'
  import { setImmediate as nextTurn } from 'node:timers/promises'
  const ticks = []
  const hook = createHook({
    init(id, type, trigger, resource) {
      if (type === 'TickObject') ticks.push(new WeakRef(resource))
    },
  }).enable()
  await import(process.argv[1])
  await new Promise((resolve) => process.nextTick(resolve))
  hook.disable()
  for (let collections = 0; collections < 6; collections++) {
    await nextTurn()
    gc()
  }
  console.log(JSON.stringify({ made: ticks.length, left: ticks.filter((tick) => tick.deref() !== undefined).length }))
`
function ticksAfterLoading(module: string): { readonly made: number; readonly left: number } {
  const words = ['--expose-gc', '--input-type=module', '--eval', program, module]
  return JSON.parse(
    execFileSync(process.execPath, words, { env: programEnvironment(), encoding: 'utf8', timeout: 300_000 }),
  )
}

t.test(
  'a process that can start products keeps one object of process.nextTick alive, and with it the shape of the object',
  async (t) => {
    const without = ticksAfterLoading('node:url')
    t.ok(without.made > 0 && without.left === 0, JSON.stringify(without))
    const kernel = ticksAfterLoading(new URL('../src/host.ts', import.meta.url).href)
    t.equal(kernel.left, 1)
  },
)
