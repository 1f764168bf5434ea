import { createRequire } from 'node:module'
import fc from 'fast-check'
import t from 'tap'
import { decodeEnvFile, parseEnvFile, writeEnvValue } from '../src/reading.ts'
import { envTexts } from './fixtures/env-texts.ts'

type Values = Readonly<Record<string, string>>
const dotenv: { parse(text: string): Values } = createRequire(import.meta.url)('dotenv')

/** Returns the values in a text of a `.env` file, or the line number of the first error. */
function read(text: string): Values | number {
  const { entries, faults } = parseEnvFile(text)
  return faults[0]?.line ?? Object.fromEntries(entries.map(({ name, value }) => [name, value]))
}
const shown = (text: string) => encodeURIComponent(text)

t.test(
  'dotenv, docker and systemd read a text as the same value, or the difference is documented, or the text is an error',
  async (t) => {
    for (const { text, plinth, dotenv: expected, docker, systemd, differs = {} } of envTexts) {
      t.strictSame(read(text), plinth, shown(text))
      t.strictSame({ ...dotenv.parse(text) }, expected, `dotenv ${shown(text)}`)
      if (typeof plinth === 'number') continue
      t.strictSame(plinth, expected, `as dotenv: ${shown(text)}`)
      t.equal(JSON.stringify(docker) !== JSON.stringify(plinth), differs.docker !== undefined, `docker ${shown(text)}`)
      t.equal(
        JSON.stringify(systemd) !== JSON.stringify(plinth),
        differs.systemd !== undefined,
        `systemd ${shown(text)}`,
      )
    }
  },
)

const piece = fc.oneof(
  fc.constantFrom(
    ...'\'"`\\#=:$\0\t \n\r\v',
    'n',
    'A',
    '\r\n',
    '\nA=',
    "\nB='",
    '\nC="',
    ' #',
    'export ',
    'export\t',
    '\uFEFF',
  ),
  fc.constantFrom('\u00a0', '\u2028', '\u3000', '中', '😀'),
  fc.string({ unit: 'binary', maxLength: 2 }),
)
const anyText = fc.array(piece, { maxLength: 14 }).map((pieces) => `A=${pieces.join('')}`)

t.test('any text without an error has the values of dotenv', async (t) => {
  let accepted = 0
  fc.assert(
    fc.property(anyText, (text) => {
      const values = read(text)
      if (typeof values === 'number') return true
      accepted += 1
      return JSON.stringify(Object.entries(values).sort()) === JSON.stringify(Object.entries(dotenv.parse(text)).sort())
    }),
    { numRuns: 20_000 },
  )
  t.ok(accepted > 5000, `${accepted} texts were accepted`)
})

t.test('dotenv and the parser read back every written value, also next to other entries', async (t) => {
  const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,12}$/)
  const value = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''))
  let written = 0
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(name, value), { maxLength: 4, selector: ([key]) => key }), (pairs) => {
      const lines = pairs.map(([key, text]) => [key, text, writeEnvValue(text)] as const)
      const possible = lines.filter(([, , form]) => form !== undefined)
      const text = possible.map(([key, , form]) => `${key}=${form?.text}\n`).join('')
      const requested = Object.fromEntries(possible.map(([key, wantedText]) => [key, wantedText]))
      const values = read(text)
      // Other programs may read a backslash before a quote as a continuation of the value. The parser must then report
      // an error instead of returning another value.
      if (typeof values === 'number') return possible.some(([, wantedText]) => wantedText.endsWith('\\'))
      written += possible.length
      const isSame = (other: Values) => JSON.stringify({ ...other }) === JSON.stringify(requested)
      return isSame(values) && isSame(dotenv.parse(text))
    }),
    { numRuns: 5000 },
  )
  t.ok(written > 2000, `${written} values were written`)
})

t.test('bytes that are not UTF-8 are an error with their line', async (t) => {
  const lineOf = (bytes: Uint8Array) => {
    const text = decodeEnvFile(bytes)
    return typeof text === 'string' ? read(text) : text.line
  }
  t.equal(lineOf(Buffer.from('A=1\nB=caf\xe9\nC=1\n', 'latin1')), 2)
  t.equal(lineOf(Buffer.from('A=1\nB=\xe4\xb8', 'latin1')), 2, 'half of a character at the end')
  t.equal(lineOf(Buffer.from('\uFEFFA=1\nB=2\n', 'utf16le')), 1)
  t.equal(lineOf(Buffer.from('\uFEFFA=1\nB=2\n', 'utf16le').swap16()), 1)
  t.equal(lineOf(Buffer.from('A=1\nB=2\n', 'utf16le')), 1)
  t.strictSame(lineOf(Buffer.from('\uFEFFA=中文\r\n')), { A: '中文' })
})

t.test('a file with many errors is reported by its first errors, without its content', async (t) => {
  const { faults, entries } = parseEnvFile(`A=1\n${'s3cret: x\n'.repeat(1000)}`)
  t.strictSame([faults.length, faults[0]?.line, entries.length], [10, 2, 1])
  t.notMatch(JSON.stringify(faults), 's3cret')
})
