/** Tests the test runner on projects with a few small tests, and the page of requirements. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runTests as runTestsHere } from '../../scripts/count-tests.ts'
import { pageOf } from '../../scripts/requirement-page.ts'

const root = join(import.meta.dirname, '../..')
const test = (body: string) => `import t from 'tap'\n${body}\n`

/** The tap settings of this repository, adapted to a project in another folder. */
const settings = readFileSync(join(root, '.taprc'), 'utf8')
  .replaceAll('./scripts/', `${root}/scripts/`)
  .replace(/^before:.*$/m, '')
  .replace(/"\{config-schema.*"/, '"*.test.ts"')

/** Runs a command in a project with a few small tests. */
function runIn(t: Test, files: Record<string, string>, words: readonly string[], machine = '') {
  const directory = t.testdir({ 'package.json': '{"type":"module"}', '.taprc': settings, ...files })
  const kept = Object.entries(process.env).filter(([name]) => !/^(?:_?TAP|NODE_OPTIONS$)/.test(name))
  const { status, stdout, stderr } = spawnSync(process.execPath, words, {
    cwd: directory,
    env: {
      ...Object.fromEntries(kept),
      PATH: `${join(root, 'node_modules/.bin')}:${process.env['PATH']}`,
      PLINTH_TEST_MACHINE: machine,
    },
    encoding: 'utf8',
    timeout: 300_000,
  })
  return { status, output: stdout, errors: stderr, lastLine: stdout.trimEnd().split('\n').at(-1) }
}

/** Runs the tests of a project as `npm test` does. */
const runTests = (t: Test, files: Record<string, string>, machine = '') =>
  runIn(t, files, [join(root, 'scripts/count-tests.ts'), '*.test.ts'], machine)

t.test('a failing test fails in each way to run it', async (t) => {
  const files = { 'a.test.ts': test(`t.equal(1, 2, 'unequal')`), 'b.test.ts': test('t.ok(1)') }
  const tap = join(root, 'node_modules/tap/dist/esm/run.mjs')
  for (const words of [['a.test.ts'], [tap, 'a.test.ts'], [tap]]) {
    const { status, output } = runIn(t, files, words)
    t.equal(status, 1, words.join(' '))
    t.match(output, /unequal/, words.join(' '))
  }
  const counted = runTests(t, files)
  t.match(counted.output, /^\[[12]\/2\] FAILED +[\d.]+ s {2}a\.test\.ts\na\.test\.ts: unequal$/m)
  t.match(counted.output, /^\[[12]\/2\] ok +[\d.]+ s {2}b\.test\.ts$/m, 'each finished file has its line')
  t.match(counted.output, /^FAILED: a\.test\.ts: unequal\n\n1 passed/m, 'failures are repeated at the end')
  if (process.platform === 'linux') t.match(counted.output, /^CPU: \d+ s \(user \d+ s, system \d+ s\)$/m)
  t.equal(counted.lastLine, '1 passed, 1 failed, 0 skipped')
  t.equal(counted.status, 1)
  t.equal(runIn(t, files, [tap, 'b.test.ts']).status, 0)
  t.match(runIn(t, files, [tap, 'c.test.ts']), {
    status: 1,
    errors: /No valid test files found matching "c\.test\.ts"/,
  })
})

t.test('a run that exceeds its limit is stopped and has failed', async (t) => {
  const files = { 'a.test.ts': test('await new Promise(() => setInterval(() => {}, 1000))') }
  const cwd = t.testdir(files)
  t.strictSame(await runTestsHere(['a.test.ts'], { cwd, limitMs: 1_500.25 }), { passed: 0, failed: 1, skipped: 0 })
})

t.test('on a complete machine nothing may be missing', async (t) => {
  const files = {
    'a.test.ts': test(`t.ok(1)
t.test('in a browser', { skip: 'no browser at /x' }, async () => {})
t.test('as another user', { skip: 'root may write everywhere' }, async () => {})`),
  }
  t.match(runTests(t, files), { status: 0, lastLine: '1 passed, 0 failed, 2 skipped' })
  const { status, output, lastLine } = runTests(t, files, 'complete')
  t.match(output, /MUST NOT BE SKIPPED a\.test\.ts: in a browser \(no browser at \/x\)/)
  t.notMatch(output, /MUST NOT BE SKIPPED .*another user/)
  t.match(output, /skipped 1: root may write everywhere/)
  t.equal(lastLine, '1 passed, 1 failed, 2 skipped')
  t.equal(status, 1)
})

t.test('a file that ends before its first assertion fails the run, and so does one without tests', async (t) => {
  t.match(runTests(t, { 'a.test.ts': 'process.exit(3)' }), { status: 1, lastLine: '0 passed, 1 failed, 0 skipped' })
  const empty = runTests(t, { 'a.test.ts': '', 'b.test.ts': test('t.ok(1)') })
  t.match(empty, { status: 1, lastLine: '1 passed, 1 failed, 0 skipped', output: /^a\.test\.ts: no test in it$/m })
})

t.test('an error outside all tests makes the file fail, and is shown', async (t) => {
  const stray = (how: string) =>
    test(`t.test('passes', async (t) => {
  t.ok(1)
  ${how}
  await new Promise((resolve) => setTimeout(resolve, 1_000))
})`)
  const files = {
    'thrown.test.ts': stray(`setTimeout(() => { throw new Error('thrown by a timer') })`),
    'rejected.test.ts': stray(`Promise.reject(new Error('rejected and not caught'))`),
  }
  const { status, output } = runTests(t, files)
  t.match(output, /FAILED .*thrown\.test\.ts/)
  t.match(output, /FAILED .*rejected\.test\.ts/)
  t.match(output, /thrown by a timer/)
  t.match(output, /rejected and not caught/)
  t.equal(status, 1)
})

t.test('a requirement is proven by a test, partly proven, or not proven', async (t) => {
  const before = ['A-001', 'A-002', 'A-003', 'A-004', 'A-005']
    .map((id) => `### ${id}\n\nHolds ${id} (Part)\n\n- \`old.test.ts\`: ${id} earlier\n`)
    .join('\n')
  // The texts are built at run time. Otherwise tools would find them as tests of this file.
  const declare = (kind: string, name: string, options = '') => `t.${kind}('${name}'${options}, async (t) => {})`
  const tests = [
    [
      'a.test.ts',
      [
        declare('test', 'A-001 whole', ', { skip: hasServer }'),
        declare('test', 'A-002 another half'),
        declare('test', 'half [A-002 partly: the other half]'),
        declare('skip', 'A-003 skipped'),
        declare('test', 'A-004 skipped as well', ", { skip: 'later' }"),
        declare('todo', 'A-005 to be done'),
      ].join('\n'),
    ],
  ] as const
  const page = pageOf(before, tests)
  t.match(page, /^5 requirements: 1 proven by a test, 1 partly, 3 not\.$/m)
  t.match(page, /### A-001\n\nHolds A-001 \(Part\)\n\n- `a\.test\.ts`: A-001 whole\n\n###/)
  t.match(page, /### A-002\n[\s\S]*: half\n[^#]*- Not proven: the other half\n/)
  for (const id of ['A-003', 'A-004', 'A-005'])
    t.match(page, `### ${id}\n\nHolds ${id} (Part)\n\n- Not proven: no test carries the id\n`)
  t.notMatch(page, 'earlier')
  t.equal(pageOf(page, tests), page, 'the page is its own source')
  t.throws(() => pageOf('', [['a.test.ts', declare('test', 'A-009 unknown')]]), /A-009/)
})
