/**
 * Checks the recorded changes, and proves for a sample of them that tests notice them. `npm run proof:changes` proves
 * all.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '@plinth/kernel/testing'
import t, { type Test } from 'tap'
import { evidenceIn } from '../scripts/requirement-page.ts'
import { testFiles } from '../scripts/test-files.ts'
import { proveChanges, repository, sampleOf, seedOfSources } from './proofs/noticed-changes.ts'
import { recordedChanges } from './recorded-changes/index.ts'
import { changedSource, type RecordedChange } from './recorded-changes/recorded-change.ts'

const read = (file: string) => readFileSync(join(repository, file), 'utf8')

t.test('each recorded change fits the source and names the tests of its requirements', async (t) => {
  t.ok(recordedChanges.length > 0)
  const known = new Set(testFiles(repository))
  for (const change of recordedChanges) {
    const { file, effect, breaks, noticedBy } = change
    for (const edit of [change, ...(change.others ?? [])]) {
      t.doesNotThrow(() => changedSource(edit, read(edit.file)), edit.file)
    }
    t.match(effect, /^[A-Z].*\.$/, `${file}: the effect is a sentence`)
    t.ok(noticedBy.length > 0 && noticedBy.every((test) => known.has(test)), `${file}: ${noticedBy} are test files`)
    const evidence = evidenceIn(noticedBy.map((test) => [test, read(test)]))
    for (const id of breaks) t.ok(evidence.has(id), `${file}: a test of ${noticedBy} carries ${id} in its name`)
  }
})

t.test('a sample of the recorded changes is noticed', { timeout: 3_600_000 }, async (t) => {
  const seed = seedOfSources(recordedChanges)
  t.comment(`the same sample: npm run proof:changes -- --sample 2 --seed ${seed}`)
  const results = await proveChanges(sampleOf(recordedChanges, 2, seed))
  t.equal(results.length, 2)
  for (const { change, problems } of results) t.same(problems, [], `${change.file}: ${change.effect}`)
})

t.test('a sample is drawn by its seed, and each change can be drawn', async (t) => {
  const changes = Array.from({ length: 20 }, (_, index) => ({ ...of('A-001'), fragment: String(index) }))
  t.same(sampleOf(changes, 3, 'a'), sampleOf(changes.toReversed(), 3, 'a'))
  t.equal(sampleOf(changes, 30, 'a').length, 20)
  const drawn = new Set(Array.from({ length: 100 }, (_, seed) => sampleOf(changes, 3, String(seed))).flat())
  t.equal(drawn.size, 20)
})

/** Returns a recorded change of the small project that the tests below create. */
const of = (...breaks: string[]): RecordedChange => ({
  file: 'src/sum.ts',
  fragment: 'a + b',
  replacement: 'a - b',
  effect: 'The sum is wrong.',
  breaks,
  noticedBy: ['test/sum.test.ts'],
})

/**
 * Returns the id of a requirement. It is built at run time. Otherwise the page of requirements would list this file as
 * a proof of it.
 */
const id = (number: number) => `A-00${number}`

const assertion = `t.test('${id(1)} adds', async (t) => { t.equal(sum(2, 1), 3) })
t.test('${id(2)} adds nothing', async (t) => { t.equal(sum(2, 0), 2) })`

/** Creates a project with one source file and one test file. */
function project(t: Test, test = assertion) {
  return t.testdir({
    'package.json': '{"type":"module"}',
    src: { 'sum.ts': 'export const sum = (a: number, b: number) => a + b\n' },
    test: { 'sum.test.ts': `import t from 'tap'\nimport { sum } from '../src/sum.ts'\n${test}` },
  })
}

async function problemsOf(t: Test, root: string, change: RecordedChange) {
  const results = await proveChanges([change], { root, limitMs: 20_000 })
  t.equal(readFileSync(join(root, 'src/sum.ts'), 'utf8').includes('a + b'), true, 'the repository is unchanged')
  return results.flatMap(({ problems }) => problems)
}

t.test('a change is noticed when a test of each requirement fails', async (t) => {
  const root = project(t)
  t.same(await problemsOf(t, root, of('A-001')), [])
  t.same(await problemsOf(t, root, of()), [])
  t.same(await problemsOf(t, root, of('A-001', 'A-002')), ['no test of A-002 failed'])
  t.same(await problemsOf(t, root, { ...of(), fragment: 'sum = (a', replacement: 'sum = ( a' }), [
    'no test of test/sum.test.ts failed',
  ])
})

t.test('a change of several places, also in one file, is applied as a whole', async (t) => {
  const root = project(t)
  const halves = { ...of('A-001'), fragment: 'a + b', replacement: '(a - b)' }
  t.same(await problemsOf(t, root, { ...halves, others: [{ ...halves, fragment: '- b', replacement: '+ b' }] }), [
    'no test of test/sum.test.ts failed',
    'no test of A-001 failed',
  ])
})

t.test('a fragment that does not occur exactly once fails the proof', async (t) => {
  const root = project(t)
  await t.rejects(proveChanges([{ ...of(), fragment: 'a * b' }], { root }), /occurs 0 times, not once/)
  await t.rejects(proveChanges([{ ...of(), fragment: 'number' }], { root }), /occurs 3 times|occurs 2 times/)
  await t.rejects(proveChanges([{ ...of(), replacement: 'a + b' }], { root }), /are equal/)
})

t.test('a test that also fails without the change notices nothing', async (t) => {
  const [problem] = await problemsOf(
    t,
    project(t, `t.test('${id(1)} fails', async (t) => { t.equal(sum(2, 1), 4) })`),
    of(),
  )
  t.match(problem, /^test\/sum\.test\.ts fails without the change/)
})

t.test('source that cannot be loaded is not noticed by a requirement', async (t) => {
  const broken = { ...of('A-001'), replacement: 'a +' }
  t.same(await problemsOf(t, project(t), broken), ['no test of test/sum.test.ts failed', 'no test of A-001 failed'])
})

t.test('a test that hangs is killed with its child processes, and has noticed nothing', async (t) => {
  const root = project(
    t,
    `import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
t.test('${id(1)} hangs', async (t) => {
  if (sum(2, 1) !== 3) {
    const words = ['-e', 'setInterval(() => {}, 1000)']
    const { pid } = spawn(process.execPath, words, { detached: true, stdio: 'ignore' })
    writeFileSync('${'../../../pid'}', String(pid))
    await new Promise((resolve) => setTimeout(resolve, 3_600_000))
  }
  t.ok(1)
})`,
  )
  t.same(await problemsOf(t, root, of('A-001')), [
    'test/sum.test.ts did not end within 20 s',
    'no test of A-001 failed',
  ])
  const stat = `/proc/${readFileSync(join(root, 'pid'), 'utf8')}/stat`
  // A killed process remains in the list of processes as a zombie until its new parent process reads the exit code.
  await until(
    () => !existsSync(stat) || / Z /.test(readFileSync(stat, 'utf8')),
    'the process that it started is killed',
  )
})
