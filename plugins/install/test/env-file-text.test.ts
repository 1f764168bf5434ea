import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { maskedValue } from '@plinth/kernel'
import { parseEnvFile } from '@plinth/kernel/host'
import fc from 'fast-check'
import t from 'tap'
import { EnvFileError, envFileKeys, planEnvFile } from '../src/env-file/env-file.ts'

interface Case {
  readonly before: string | undefined
  readonly changes: Readonly<Record<string, string>>
  readonly after: string
}

/** Test cases of the requirements, and further file contents. */
const cases: Readonly<Record<string, Case>> = {
  'E01 I-119 comments and empty lines stay': {
    before: '# db\nDB_HOST=old # main\n\nX=1\n',
    changes: { DB_HOST: 'new' },
    after: '# db\nDB_HOST=new # main\n\nX=1\n',
  },
  'E02 I-120 an export prefix stays': {
    before: 'export DB_HOST=old\n',
    changes: { DB_HOST: 'new' },
    after: 'export DB_HOST=new\n',
  },
  'E03 a last line without an end gets one': { before: 'A=1', changes: { B: '2' }, after: 'A=1\nB=2\n' },
  'E04 CRLF stays, also for new lines': {
    before: 'A=1\r\nB=2\r\n',
    changes: { A: '9', C: '3' },
    after: 'A=9\r\nB=2\r\nC=3\r\n',
  },
  'E05 every occurrence is replaced': { before: 'A=1\nA=2\n', changes: { A: '3' }, after: 'A=3\nA=3\n' },
  'E06 a commented name is not touched': { before: '#A=1\nB=2\n', changes: { A: '5' }, after: '#A=1\nB=2\nA=5\n' },
  'E07 I-121 a space': { before: 'P=x\n', changes: { P: 'a b' }, after: "P='a b'\n" },
  'E08 I-121 a hash': { before: 'P=x\n', changes: { P: 'a#b' }, after: "P='a#b'\n" },
  'E09 I-121 a dollar': { before: 'P=x\n', changes: { P: 'a$b' }, after: "P='a$b'\n" },
  'E10 I-121 a single quote': { before: 'P=x\n', changes: { P: "it's" }, after: 'P="it\'s"\n' },
  'E11 I-121 double quotes': { before: 'P=x\n', changes: { P: 'say "hi"' }, after: 'P=\'say "hi"\'\n' },
  'E12 a backslash': { before: 'P=x\n', changes: { P: 'C:\\new' }, after: "P='C:\\new'\n" },
  'E13 I-122 a line break': { before: 'P=x\n', changes: { P: 'l1\nl2' }, after: 'P="l1\\nl2"\n' },
  'E14 single quote and dollar': { before: 'P=x\n', changes: { P: "it's $5" }, after: "P=`it's $5`\n" },
  'E15 empty': { before: 'P=x\n', changes: { P: '' }, after: 'P=\n' },
  'E16 no file': { before: undefined, changes: { A: '1', B: '2' }, after: 'A=1\nB=2\n' },
  'E16 an empty file': { before: '', changes: { A: '1', B: '2' }, after: 'A=1\nB=2\n' },
  'E17 a byte order mark goes': { before: '\uFEFFA=1\nB=2\n', changes: { A: '3' }, after: 'A=3\nB=2\n' },
  'E18 spaces stay': { before: '  A = 1  \n', changes: { A: '2' }, after: '  A = 2  \n' },
  'E19 the whole name counts': {
    before: 'AB=1\nA=2\nA_B=3\n',
    changes: { A: '9' },
    after: 'AB=1\nA=9\nA_B=3\n',
  },
  'E20 a quoted value before a comment': {
    before: "P='old' # keep\n",
    changes: { P: 'new' },
    after: 'P=new # keep\n',
  },
  'E21 a value over several lines': {
    before: 'P="a\nX=1\nb" # c\nX=2\n',
    changes: { P: 'new', X: '3' },
    after: 'P=new # c\nX=3\n',
  },
  'E22 other scripts': { before: 'P=x\n', changes: { P: '中文 密码' }, after: "P='中文 密码'\n" },
  'E23 a connection string': {
    before: 'U=jdbc:x\n',
    changes: { U: 'postgresql://u:p@h:5432/db?sslmode=require&a=b' },
    after: "U='postgresql://u:p@h:5432/db?sslmode=require&a=b'\n",
  },
  'E28 nothing to change': { before: 'A=1\n', changes: { A: '1' }, after: 'A=1\n' },
  'E28 nothing to change, other quotes': { before: '\uFEFFA="1"\r\n', changes: { A: '1' }, after: '\uFEFFA="1"\r\n' },
  'E29 a single quote and a line break': { before: 'P=x\n', changes: { P: "l'1\nl2" }, after: 'P="l\'1\\nl2"\n' },
  'E30 a name that comes new and one that is there': {
    before: 'A=1\n\n# end\n',
    changes: { B: '2', A: '3' },
    after: 'A=3\n\n# end\nB=2\n',
  },
  'E32 empty lines at the end stay': { before: 'A=1\n\n\n', changes: { B: '2' }, after: 'A=1\n\n\nB=2\n' },
  'E40 the mask keeps the value': {
    before: 'DB_PASSWORD=s3cret\n',
    changes: { DB_PASSWORD: maskedValue, OTHER: maskedValue, A: '1' },
    after: 'DB_PASSWORD=s3cret\nA=1\n',
  },
  'an old value of an earlier occurrence goes too': { before: 'A=1\nA=2\n', changes: { A: '2' }, after: 'A=2\nA=2\n' },
  'an empty value before a comment': { before: 'P=x # c\n', changes: { P: '' }, after: "P='' # c\n" },
  'an empty value with blanks around': { before: 'P = x \nQ=1\n', changes: { P: '' }, after: "P = '' \nQ=1\n" },
  'a value over several lines of a foreign name': {
    before: 'my.name="x\nA=1\n"\nA=2\n',
    changes: { A: '3' },
    after: 'my.name="x\nA=1\n"\nA=3\n',
  },
  'a path in single quotes': { before: "P='C:\\'\nQ=x\n", changes: { P: 'D:\\', Q: 'y' }, after: "P='D:\\'\nQ=y\n" },
  'a blank value is empty, and the next line counts': {
    before: 'A= \nB=2\n',
    changes: { B: '3', A: '' },
    after: 'A= \nB=3\n',
  },
  'a comment behind an empty value': { before: 'A= # c\n', changes: { A: '1' }, after: 'A= 1 # c\n' },
  'mixed line ends stay': { before: 'A=1\nB=2\r\nC=3\n', changes: { B: '4' }, after: 'A=1\nB=4\r\nC=3\n' },
  'a comment after a quoted value in a CRLF file': {
    before: "P='a b' # c\r\nQ=1\r\n",
    changes: { P: 'x' },
    after: 'P=x # c\r\nQ=1\r\n',
  },
}

/** Returns the values of a text as the product reads them. */
const valuesIn = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(parseEnvFile(text).entries.map(({ name: key, value }) => [key, value]))

for (const [name, { before, changes, after }] of Object.entries(cases)) {
  t.test(name, async (t) => {
    const plan = planEnvFile(before, changes)
    t.equal(plan.text, after)
    const loaded = valuesIn(after)
    for (const [key, value] of Object.entries(changes)) if (value !== maskedValue) t.equal(loaded[key], value)
    t.same(planEnvFile(plan.text, changes).text, plan.text, 'the second time nothing is left to do')
  })
}

t.test('I-119 variable names grouped by what happens to them', async (t) => {
  const plan = planEnvFile('A=1\nB=2\nM=3\n', { NEW: 'x', B: '9', A: '1', M: maskedValue })
  const { changed, added, unchanged, warnings } = plan
  t.same(
    { changed, added, unchanged, warnings },
    { changed: ['B'], added: ['NEW'], unchanged: ['A', 'M'], warnings: [] },
  )
  t.same(planEnvFile('', { P: "it's $5", Q: 'a\nb', R: "it's" }).warnings, [
    { code: 'env-not-shell-compatible', params: { key: 'P' } },
    { code: 'env-not-shell-compatible', params: { key: 'Q' } },
  ])
})

function rejection(work: () => unknown): EnvFileError {
  try {
    work()
  } catch (error) {
    if (error instanceof EnvFileError) return error
    throw error
  }
  throw new Error('was not refused')
}

t.test('E24 I-122 values that not all programs read in the same way', async (t) => {
  for (const value of ['a\'b"c`d', '\'"\n', 'a\\b\nc', 'a\0b', 'a\rb', 'a\r\nb', '\ud800']) {
    const { code, params, message } = rejection(() => planEnvFile('P=x\n', { P: value }))
    t.same({ code, params }, { code: 'env-value-unrepresentable', params: { key: 'P' } })
    t.notOk(message.includes(value), 'the value is not told')
  }
  t.equal(planEnvFile(`P="a\\b\nc"\n`, { P: 'a\\b\nc' }).unchanged.length, 1, 'unless it is there already')
})

t.test('E25 invalid names', async (t) => {
  for (const key of ['A B', 'A=B', '', '1A', 'A-B', 'A\n', 'Ä', 'A.B', 'export A']) {
    t.equal(rejection(() => planEnvFile('X=1\n', { [key]: 'v' })).code, 'env-key-invalid')
  }
})

t.test('a file with a line that the product cannot read is not changed', async (t) => {
  const files: [text: string, line: string][] = [
    ['A=1 #c\nnot a line\n', '2'],
    ['A=1\n=bad\n', '2'],
    ['C="open\nX=1\n', '1'],
    ["C='tis\nB=1\n# don't\n", '1'],
    ['P=x#y\n', '1'],
    ['P="say \\"hi\\"" # c\n', '1'],
    ["A=1\nP='it\\'s'\n", '2'],
    ['P="C:\\"\nQ="x"\n', '1'],
    ["P='a'b\n", '1'],
    ['A=1\nP: x\n', '2'],
  ]
  for (const [text, line] of files) {
    const { code, params } = rejection(() => planEnvFile(text, { A: '3' }, 'app.env'))
    t.same({ code, ...params }, { code: 'env-file-malformed', file: 'app.env', line }, text)
  }
  const { code, params } = rejection(() => planEnvFile("A=1\nB=1 #'\n", { A: 'a \\' }))
  t.same({ code, params }, { code: 'env-value-unrepresentable', params: { key: 'A' } }, 'dotenv would read on')
})

t.test('E38 I-118 names that an example file lists', async (t) => {
  t.same(envFileKeys('\uFEFF# A=1\nexport DB_HOST=\nDB_PASSWORD=""\nDB_HOST=x\nno.variable=1\n'), [
    'DB_HOST',
    'DB_PASSWORD',
  ])
})

/** Returns the value that dotenv reads from a file with one entry. */
function dotenvValue(line: string): string {
  const written = line.slice(line.indexOf('=') + 1).trim()
  const quote = /^(['"`])[\s\S]*\1$/.exec(written)?.[1]
  if (quote === undefined) return written.replace(/#[\s\S]*/, '').trim()
  const inner = written.slice(1, -1)
  return quote === '"' ? inner.replaceAll('\\n', '\n').replaceAll('\\r', '\r') : inner
}

const nasty = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      ...'\'"`$#\\= \t\n:!~%&|;<>()*?[]{}',
      'a',
      'Z',
      '0',
      'n',
      'r',
      '-',
      '/',
      '中',
      '😀',
      '\u00a0',
      '\uFEFF',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
  maxLength: 12,
})
const name = fc.stringMatching(/^[A-D_][A-C0-1_]{0,2}$/)

/** Returns the planned file, or the error if the value cannot be written so that all programs read it equally. */
function planOrRejection(text: string, changes: Record<string, string>) {
  try {
    return planEnvFile(text, changes)
  } catch (error) {
    if (error instanceof EnvFileError) return error
    throw error
  }
}

t.test('I-121 I-122 the kernel reads what was written', async () => {
  fc.assert(
    fc.property(nasty, nasty, (first, second) => {
      const plan = planOrRejection('', { A: first, B: second })
      if (plan instanceof EnvFileError) {
        const isHard = (value: string) =>
          /[\0\r]|\\$/.test(value) || !value.isWellFormed() || (/["\\$`]/.test(value) && /['\n]/.test(value))
        return plan.code === 'env-value-unrepresentable' && (isHard(first) || isHard(second))
      }
      const read = valuesIn(plan.text)
      const [lineA = '', lineB = ''] = plan.text.split('\n')
      return (
        Object.keys(read).join() === 'A,B' &&
        read['A'] === first &&
        read['B'] === second &&
        dotenvValue(lineA) === first &&
        dotenvValue(lineB) === second
      )
    }),
    { numRuns: 5000 },
  )
})

t.test('I-119 whatever a file contains: only the given names change, in place, and all other bytes stay', async (t) => {
  const line = fc.oneof(
    fc.tuple(name, nasty).map(([key, value]) => `${key}=${value}`),
    fc
      .tuple(
        fc.constantFrom('', 'export ', '  '),
        name,
        fc.constantFrom('=', ' = '),
        nasty,
        fc.constantFrom('', ' # c', '#c'),
      )
      .map(([prefix, key, equals, value, end]) => `${prefix}${key}${equals}'${value.replaceAll("'", '')}'${end}`),
    nasty.map((text) => `# ${text.replaceAll('\n', '')}`),
    nasty,
  )
  const file = fc.tuple(fc.array(line, { maxLength: 6 }), fc.constantFrom('\n', '\r\n'), fc.boolean())
  let planned = 0
  fc.assert(
    fc.property(file, name, nasty, ([lines, eol, hasEnd], key, value) => {
      const before = (lines.join(eol) + (hasEnd ? eol : '')).replace(/^\uFEFF/, '')
      const plan = planOrRejection(before, { [key]: value })
      if (plan instanceof EnvFileError) return ['env-value-unrepresentable', 'env-file-malformed'].includes(plan.code)
      planned += 1
      const [old, read] = [valuesIn(before), valuesIn(plan.text)]
      if (read[key] !== value) return false
      for (const other of new Set([...Object.keys(old), ...Object.keys(read)])) {
        if (other !== key && read[other] !== old[other]) return false
      }
      // A line that looks like a comment may be inside a quoted value.
      const all = before.split('\n')
      const isOpen = all.some((text) => ['"', "'", '`'].some((quote) => text.split(quote).length % 2 === 0))
      const untouched = isOpen ? [] : all.filter((text) => !text.includes(key) && /^\s*(?:#|$)/.test(text))
      return (
        untouched.every((text) => plan.text.includes(text)) &&
        planEnvFile(plan.text, { [key]: value }).changed.length === 0
      )
    }),
    { numRuns: 5000, examples: [[[["_C='\n#'"], '\n', false], '_C', '']] },
  )
  t.ok(planned > 1000, `${planned} files were changed`)
})

t.test('I-121 sh reads values that are not marked as unsuitable for it', async (t) => {
  const values = fc
    .sample(nasty, { numRuns: 400, seed: 7 })
    .concat("it's", 'a$HOME', '$(id)', 'a\\nb', '!x', '~', 'a b', "-n '")
    .filter((value) => {
      const plan = planOrRejection('', { P: value })
      return !(plan instanceof EnvFileError) && plan.warnings.length === 0
    })
  t.ok(values.length > 100)
  const directory = t.testdir()
  const files = values.map((value, index) => {
    const file = join(directory, `${index}.env`)
    writeFileSync(file, planEnvFile('', { P: value }).text)
    return file
  })
  const script = 'for file; do set -a; . "$file"; set +a; printf "%s\\0" "$P"; done'
  const printed = execFileSync('sh', ['-c', script, 'sh', ...files], { encoding: 'utf8' })
  t.same(printed.split('\0').slice(0, -1), values)
})
