/** Tests the changes that `npm run proof:keys` applies to configuration keys. */
import t from 'tap'
import { changeThatIgnoresKey } from './proofs/key-cuts.ts'
import { repository } from './proofs/noticed-changes.ts'
import { SourceCopy } from './proofs/source-copy.ts'
import { runTestFile } from './proofs/test-run.ts'

t.test('a key whose wiring is cut has no effect, and other keys keep theirs', { timeout: 900_000 }, async (t) => {
  const copy = new SourceCopy(repository)
  t.teardown(() => copy.remove())
  for (const [key, file] of [
    ['platform.outgoing-http.max-response-size', 'plugins/outgoing-http/test/effects.test.ts'],
    ['platform.kernel.stop-deadline', 'kernel/test/effects.test.ts'],
  ] as const) {
    const { failed, passed } = await copy.with(changeThatIgnoresKey(key, [file]), () =>
      runTestFile(copy.root, file, 400_000),
    )
    const effects = failed.filter((name) => name.includes('effect of platform.'))
    t.equal(effects.length, 1)
    t.ok(effects[0]?.endsWith(`effect of ${key}`), `only ${key} fails: ${effects}`)
    t.ok(passed > 0, 'the other assertions pass')
  }
})

t.test('only the tests of a file with the given titles run', async (t) => {
  const source = `import t from 'tap'
    t.test('a (b)', async (t) => {
      await t.test('inner', async (t) => { t.fail('first') })
      await t.test('other', async (t) => { t.fail('second') })
    })
    t.test('a b', async (t) => { t.fail('third') })`
  const root = t.testdir({ 'package.json': '{"type":"module"}', 'some.test.ts': source })
  const failedIn = async (only?: readonly string[]) => (await runTestFile(root, 'some.test.ts', 300_000, only)).failed
  const assertions = (names: readonly string[]) => names.flatMap((name) => /first|second|third/.exec(name) ?? [])
  t.same(assertions(await failedIn(['a (b'])), ['first', 'second'])
  t.same(assertions(await failedIn(['a (b', 'inn'])), ['first'])
  t.same(assertions(await failedIn()), ['first', 'second', 'third'])
})
