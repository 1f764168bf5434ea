/**
 * Runs test files one after another in one process, for `run-tests.mjs`, which names each when the one before it is done:
 * what the first of them made fast, by loading and by compiling it, is fast for those that follow. Each file has a `t` of its
 * own in place of that of the process. It begins when all tests of the file before it are done and cleaned up, so it meets
 * nothing of it but a warm process.
 *
 * Argument: seconds that a file may take. The names come by the pipe 3, a line each; at its end the process ends.
 */
import { registerHooks } from 'node:module'
import { Socket } from 'node:net'
import { basename, dirname, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import tap from 'tap'
import { homeOf } from './test-files.ts'

const limitMs = Number(process.argv[2]) * 1_000
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

const { NODE_OPTIONS = '' } = process.env

async function run(file) {
  // For the programs that it starts: see `fast-imports.mjs`.
  process.env.NODE_OPTIONS = NODE_OPTIONS.replace('tested=house', `tested=${homeOf(file)}`)
  await tap.test(file, { timeout: limitMs }, async (t) => {
    current = t
    // As in a process of its own.
    t.testdirName = resolve('.tap/fixtures', `${dirname(file)} ${basename(file)}`.replace(/[^a-zA-Z0-9._-]+/g, '-'))
    await import(pathToFileURL(file).href)
  })
  // What was reported last is read only when something follows it.
  tap.pragma({ done: true })
}

const names = new Socket({ fd: 3, readable: true, writable: false })
// What happens outside all tests ends the one root of them: no other file can be run.
tap.once('complete', () => names.destroy())
async function runAll() {
  for await (const file of createInterface({ input: names })) {
    // While a file runs, only it keeps the process.
    names.unref()
    await run(file)
    names.ref()
  }
}

// Not awaited: test files import this module, and would wait for its end.
runAll()
