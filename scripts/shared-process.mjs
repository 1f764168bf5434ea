/**
 * Runs test files one after another in one process, for `run-tests.mjs`: what the first of them made fast, by loading and by
 * compiling it, is fast for those that follow. Each file has a `t` of its own in place of that of the process. It begins when
 * all tests of the file before it are done and cleaned up, so it meets nothing of it but a warm process.
 *
 * Arguments: seconds that a file may take, a file to note in which ones were begun and what they cost, and the test files.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { basename, dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import tap from 'tap'

const [limit, journal, ...files] = process.argv.slice(2)
let current = tap

/** What test files and their fixtures get as `t`: the tests of the file that runs. */
export default new Proxy(tap, {
  get(_, name) {
    const value = Reflect.get(current, name, current)
    return typeof value === 'function' ? value.bind(current) : value
  },
  set: (_, name, value) => Reflect.set(current, name, value, current),
})

registerHooks({
  resolve(specifier, context, next) {
    const isOurs = specifier === 'tap' && context.parentURL !== import.meta.url
    return isOurs ? { url: import.meta.url, format: 'module', shortCircuit: true } : next(specifier, context)
  },
})

/** Seconds of processor of this process and of those that it waited for, which Linux alone tells. */
function cpuSeconds() {
  if (process.platform === 'linux') {
    const [, fields] = /^.*\) (.*)$/s.exec(readFileSync('/proc/self/stat', 'utf8'))
    const ticks = fields.split(' ').slice(11, 15)
    return ticks.reduce((sum, value) => sum + Number(value), 0) / 100
  }
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

const note = (words) => appendFileSync(journal, `${JSON.stringify(words)}\n`)

async function run(file) {
  await tap.test(file, { timeout: Number(limit) * 1_000 }, async (t) => {
    note({ begun: file })
    const before = { cpu: cpuSeconds(), at: performance.now() }
    current = t
    // As in a process of its own.
    t.testdirName = resolve('.tap/fixtures', `${dirname(file)} ${basename(file)}`.replace(/[^a-zA-Z0-9._-]+/g, '-'))
    t.teardown(() =>
      note({ done: file, cpu: cpuSeconds() - before.cpu, wall: (performance.now() - before.at) / 1_000 }),
    )
    await import(pathToFileURL(file).href)
  })
}

async function runAll() {
  for (const file of files) await run(file)
}

// Not awaited: test files import this module, and would wait for its end.
runAll()
