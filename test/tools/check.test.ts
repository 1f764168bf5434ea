/** The test runner, run on projects with a few small tests, and the page of requirements. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { pageOf } from '../../scripts/requirement-page.ts'

const root = join(import.meta.dirname, '../..')
const test = (body: string) => `import t from 'tap'\n${body}\n`

/** Runs the tests of a project like `npm test`. */
function runTests(t: Test, files: Record<string, string>, machine = '', ...words: string[]) {
  const directory = t.testdir({ 'package.json': '{"type":"module"}', ...files })
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('TAP'))
  const named = [join(root, 'scripts/run-tests.mjs'), ...words, ...Object.keys(files)]
  const { status, stdout } = spawnSync(process.execPath, named, {
    cwd: directory,
    env: {
      ...Object.fromEntries(kept),
      PATH: `${join(root, 'node_modules/.bin')}:${process.env['PATH']}`,
      PLINTH_TEST_MACHINE: machine,
    },
    encoding: 'utf8',
    timeout: 300_000,
  })
  return { status, output: stdout, lastLine: stdout.trimEnd().split('\n').at(-1) }
}

t.test('what passes only in a second run has failed, and is named', async (t) => {
  const { status, output, lastLine } = runTests(t, {
    'steady.test.ts': test('t.ok(1)'),
    'unsteady.test.ts': test(`import { existsSync, writeFileSync } from 'node:fs'
t.ok(existsSync('second'), 'once is not enough')
writeFileSync('second', '')`),
  })
  t.match(output, /Unsteady, to be mended: unsteady\.test\.ts/)
  t.match(output, /^ +\d ok +[\d.]+ s +[\d.]+ s cpu {2}steady\.test\.ts$/m, 'each finished file has its line')
  t.match(output, /^ +\d FAILED +[\d.]+ s +[\d.]+ s cpu {2}unsteady\.test\.ts$/m)
  t.match(output, /once is not enough/)
  t.equal(lastLine, '1 passed, 1 failed, 0 skipped')
  t.equal(status, 1)
})

const hasRedis = await new Promise<boolean>((resolve) => {
  const socket = connect(6379, '127.0.0.1')
  const end = (isThere: boolean) => () => {
    socket.destroy()
    resolve(isThere)
  }
  socket.once('connect', end(true)).once('error', end(false))
})
const skip = hasRedis ? false : 'no Redis on 127.0.0.1:6379'

t.test('a test that is skipped although its server is there fails the run', { skip }, async (t) => {
  const files = {
    'a.test.ts': test(`t.ok(1)
t.test('over Redis', { skip: 'no Redis on 127.0.0.1:6379' }, async () => {})
t.test('as another user', { skip: 'root may write everywhere' }, async () => {})`),
  }
  const { status, output, lastLine } = runTests(t, files)
  t.match(output, /MUST NOT BE SKIPPED a\.test\.ts: over Redis \(no Redis on 127\.0\.0\.1:6379\)/)
  t.notMatch(output, /MUST NOT BE SKIPPED .*another user/)
  t.match(output, /skipped 1: root may write everywhere/)
  t.equal(lastLine, '1 passed, 1 failed, 2 skipped')
  t.equal(status, 1)
})

t.test('on a complete machine nothing may be missing; elsewhere it may', async (t) => {
  const files = { 'a.test.ts': test(`t.ok(1)\nt.test('in a browser', { skip: 'no browser at /x' }, async () => {})`) }
  t.match(runTests(t, files), { status: 0, lastLine: '1 passed, 0 failed, 1 skipped' })
  const complete = runTests(t, files, 'complete')
  t.match(complete, { status: 1, output: /MUST NOT BE SKIPPED a\.test\.ts: in a browser/ })
})

t.test('a file that dies before it asserts anything fails the run', async (t) => {
  t.match(runTests(t, { 'a.test.ts': 'process.exit(3)' }), { status: 1, lastLine: /^0 passed, [1-9]\d* failed/ })
})

t.test('what happens outside all tests fails the file, and is shown', async (t) => {
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

t.test('files share a process, each with a root of its own; what ends the process fails one file', async (t) => {
  const note = (text: string) => `globalThis.notes = [...(globalThis.notes ?? []), '${text}']`
  const files = {
    'a.test.ts': test(`t.teardown(() => { ${note('torn down')} })
t.test('inner', async (t) => { ${note('ran')}; t.ok(t.testdir().endsWith('a.test.ts-inner')) })`),
    'b.test.ts': test(`t.same(globalThis.notes, ['ran', 'torn down'], 'the file before it is done')
t.equal(1, 2, 'unequal')`),
    'c.test.ts': test(`t.test('dies', async () => {
  setTimeout(() => { throw new Error('thrown by a timer') })
  await new Promise((resolve) => setTimeout(resolve, 1_000))
})`),
    'd.test.ts': test(`t.equal(globalThis.notes, undefined, 'a new process')
t.test('no root of another', { skip: 'not here' }, async () => {})`),
    'e.test.ts': '',
    'f.test.ts': test(`t.equal(process.argv.length, 2, 'alone, because it asks')`),
  }
  const { status, output } = runTests(t, files, '', '--jobs=1')
  for (const file of ['a', 'd', 'f']) t.match(output, new RegExp(`\\d ok .*  ${file}\\.test\\.ts`))
  for (const file of ['b', 'c', 'e']) t.match(output, new RegExp(`\\d FAILED .*  ${file}\\.test\\.ts`))
  t.match(output, /^b\.test\.ts: unequal$/m)
  t.match(output, /^c\.test\.ts: ended its process with 1$/m)
  t.match(output, /^e\.test\.ts: no test in it$/m)
  t.match(output, /^skipped 1: not here$/m)
  t.equal(status, 1)
})

t.test('what ends a process between two files fails the one before, and the others run', async (t) => {
  const files = {
    'a.test.ts': test(`t.ok(1)\nsetTimeout(() => { throw new Error('left behind') }, 50)`),
    'b.test.ts': test(`t.ok(process.argv)\nawait new Promise((resolve) => setTimeout(resolve, 1_000))`),
    'c.test.ts': test('t.ok(1)'),
  }
  const { status, output } = runTests(t, files, '', '--jobs=1')
  t.match(output, /^a\.test\.ts: ended with 1 although no test failed$/m)
  t.match(output, /\d ok .* {2}c\.test\.ts$/m)
  t.equal(status, 1)
})

t.test('each file alone, on demand', async (t) => {
  const asks = `t.equal(globalThis.before, undefined)\nglobalThis.before = true`
  const files = { 'a.test.ts': test(asks), 'b.test.ts': test(asks) }
  t.match(runTests(t, files, '', '--jobs=1'), { status: 1, output: /^b\.test\.ts: should be equal$/m })
  t.match(runTests(t, files, '', '--alone'), { status: 0, lastLine: '2 passed, 0 failed, 0 skipped' })
})

t.test('what a file costs includes the processes that it starts, and the most expensive come last', async (t) => {
  const busy = `const used = () => { const { user, system } = process.cpuUsage(); return user + system }; while (used() < 1_500_000);`
  const files = {
    'child.test.ts': test(`import { execFileSync } from 'node:child_process'
execFileSync(process.execPath, ['-e', ${JSON.stringify(busy)}])
t.ok(1)`),
    'idle.test.ts': test(`await new Promise((resolve) => setTimeout(resolve, 700))
t.ok(1)`),
  }
  const { output } = runTests(t, files)
  const [, child, idle] =
    output.match(/The most expensive:\n +([\d.]+) s cpu .*child\.test\.ts\n +([\d.]+) s cpu .*idle/) ?? []
  t.ok(Number(child) - Number(idle) > 0.4, `${child} s and ${idle} s`)
})

t.test('tap alone runs a file, and fails when a test fails', async (t) => {
  const settings = readFileSync(join(root, '.taprc'), 'utf8')
    .replaceAll('./scripts/', `${root}/scripts/`)
    .replace(/^before:.*$/m, '')
    .replace(/"\{config-schema.*"/, '"*.test.ts"')
  const directory = t.testdir({
    'package.json': '{"type":"module"}',
    '.taprc': settings,
    'a.test.ts': test(`t.equal(1, 2, 'unequal')`),
    'b.test.ts': test('t.ok(1)'),
  })
  const kept = Object.entries(process.env).filter(([name]) => !/^(?:_?TAP|NODE_OPTIONS$)/.test(name))
  const env = { ...Object.fromEntries(kept), PATH: `${join(root, 'node_modules/.bin')}:${process.env['PATH']}` }
  const tap = (...words: string[]) => {
    const program = [join(root, 'node_modules/tap/dist/esm/run.mjs'), '--reporter=tap', ...words]
    return spawnSync(process.execPath, program, { cwd: directory, env, encoding: 'utf8', timeout: 300_000 })
  }
  // The first run knows of no run before it: everything has changed.
  for (const words of [['--changed'], ['a.test.ts'], []]) {
    const { status, stdout } = tap(...words)
    t.equal(status, 1, words.join(' '))
    t.match(stdout, /not ok 1 - unequal/, words.join(' '))
  }
  t.equal(tap('b.test.ts').status, 0)
  const { status, stderr } = tap('c.test.ts')
  t.equal(status, 1)
  t.match(stderr, /No valid test files found matching "c\.test\.ts"/)
})

t.test('a requirement is proven by a recorded change or a test, partly proven, or not proven', async (t) => {
  const table = [
    'id',
    ...['A-001', 'A-002', 'A-003', 'A-004', 'A-005', 'A-006'].map((id) => `${id}\t1\tPart\tarea\tHolds ${id}`),
  ]
  // Built at run time, so that the names are not read as tests of this file.
  const declare = (kind: string, name: string, options = '') => `t.${kind}('${name}'${options}, async (t) => {})`
  const change = {
    file: 'a.ts',
    fragment: 'a',
    replacement: 'b',
    effect: 'It is wrong.',
    breaks: ['A-006', 'A-002'],
    noticedBy: ['a.test.ts'],
  }
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
        declare('test', 'A-006 whole'),
      ].join('\n'),
    ],
  ] as const
  const page = pageOf(table.join('\n'), tests, [change])
  t.match(page, /^6 requirements: 1 proven by a recorded change, 1 proven by a test, 1 partly, 3 not\.$/m)
  t.match(
    page,
    /## Proven by a recorded change\n\n### A-006\n[\s\S]*: A-006 whole\n- Recorded change of `a\.ts`: It is wrong\.\n/,
  )
  t.match(page, /## Proven by a test\n\n### A-001\n\nHolds A-001 \(Part\)\n\n- `a\.test\.ts`: A-001 whole\n/)
  t.match(page, /## Partly proven\n\n### A-002\n[\s\S]*: half\n[^#]*- Not proven: the other half\n/)
  t.match(page, /## Not proven\n[\s\S]*\| A-003 \|[\s\S]*\| A-004 \|[\s\S]*\| A-005 \|/)
  t.throws(() => pageOf('id', [['a.test.ts', declare('test', 'A-009 unknown')]]), /A-009/)
})
