import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'

const reporter = join(import.meta.dirname, '../src/testing/test-reporter.ts')

/** Runs `node --test` in a directory, without the environment in which this test runs. */
function runTests(directory: string) {
  const words = ['--test', `--test-reporter=${reporter}`, 'test/*.test.js']
  const { PATH = '' } = process.env
  const { status, stdout } = spawnSync(process.execPath, words, { cwd: directory, env: { PATH }, encoding: 'utf8' })
  return { status, stdout }
}

t.test('a run without tests fails, and every other run ends as its tests do', async (t) => {
  const test = (body: string) => `import { test } from 'node:test'\ntest('one', () => { ${body} })\n`
  const none = runTests(t.testdir({ test: {} }))
  t.equal(none.status, 1)
  t.match(none.stdout, /^✖ No tests found/m)
  const passed = runTests(t.testdir({ test: { 'a.test.js': test('') }, 'package.json': '{"type":"module"}' }))
  t.match(passed, { status: 0, stdout: /^✔ one.*\n[\s\S]*ℹ pass 1\nℹ fail 0\n/ })
  t.notMatch(passed.stdout, /No tests/)
  const failed = runTests(
    t.testdir({ test: { 'a.test.js': test('throw new Error()') }, 'package.json': '{"type":"module"}' }),
  )
  t.match(failed, { status: 1, stdout: /ℹ fail 1\n/ })
})
