import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, readFileSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { dataDirectory, quickstart, runProgram } from '../fixtures/product-process.ts'
import { frozenApi } from './release-freeze.ts'

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)

const prepare = (...words: string[]) =>
  run(process.execPath, [join(root, 'scripts', 'release.ts'), ...words]).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code: number; stdout: string }) => ({ code: error.code, stdout: error.stdout }),
  )

const release = (...words: string[]) => prepare('api-compat', ...words)

/** A repository with built packages, and their previous release. */
async function repository(t: Test, files: Readonly<Record<string, string>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'plinth-release-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const manifest = (name: string, folder: 'src' | 'dist') =>
    JSON.stringify({
      name,
      type: 'module',
      exports: {
        '.':
          folder === 'src'
            ? { types: './src/index.ts', default: './src/index.ts' }
            : { types: './dist/index.d.ts', default: './dist/index.js' },
      },
    })
  const all = {
    'package.json': JSON.stringify({ workspaces: ['a', 'b', 'c'] }),
    'a/package.json': manifest('@x/a', 'src'),
    'b/package.json': manifest('@x/b', 'src'),
    'c/package.json': manifest('@x/c', 'src'),
    'previous/@x/a/package.json': manifest('@x/a', 'dist'),
    'previous/@x/b/package.json': manifest('@x/b', 'dist'),
    ...files,
  }
  for (const [name, text] of Object.entries(all)) {
    await mkdir(dirname(join(directory, name)), { recursive: true })
    await writeFile(join(directory, name), text)
  }
  return directory
}

const compatible = {
  'a/dist/index.js': 'export const kept = 1; export const added = 2',
  'a/dist/index.d.ts': '/** says more now */ export declare const kept: number;',
  'previous/@x/a/dist/index.js': 'export const kept = 1',
  'previous/@x/a/dist/index.d.ts': 'export declare const kept: number;',
  'b/dist/index.js': 'export const same = 1',
  'b/dist/index.d.ts': 'export declare const same: 1;',
  'previous/@x/b/dist/index.js': 'export const same = 1',
  'previous/@x/b/dist/index.d.ts': 'export declare const same: 1;',
}

t.test(
  'C-041 C-042 without being asked to check it lists every module with its commands and writes nothing',
  async (t) => {
    const tracked = globSync('{config-schema,kernel,scripts}/**/*.{ts,json,mjs}', {
      cwd: root,
      exclude: ['**/node_modules/**', '**/dist/**'],
    })
    const digest = () => {
      const hash = createHash('sha256')
      for (const file of tracked) hash.update(`${file} ${statSync(join(root, file)).mtimeMs}`)
      return hash.digest('hex')
    }
    const before = digest()
    const { code, stdout } = await release('--previous-version', '0.9.0')
    t.equal(code, 0)
    for (const folder of ['config-schema', 'kernel', 'plugins/http']) {
      const { name } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
      t.match(stdout, `${name} (${folder})`)
      t.match(stdout, `npm pack ${name}@0.9.0`)
    }
    t.notMatch(stdout, '@plinth-example/', 'what is private is no public module')
    t.equal(digest(), before)
  },
)

t.test(
  'C-043 C-044 a lost export fails, a changed declaration is reported, a module without a past is new',
  async (t) => {
    const fine = await repository(t, compatible)
    const check = (directory: string) =>
      release('--previous-version', '1.0.0', '--check', '--root', directory, '--previous', join(directory, 'previous'))
    const good = await check(fine)
    t.equal(good.code, 0)
    t.match(good.stdout, /new: @x\/c: added after the previous release/)
    t.notMatch(good.stdout, /source:|binary:/, 'comments and additions are compatible')

    const changed = await repository(t, { ...compatible, 'b/dist/index.d.ts': 'export declare const same: 1 | 2;' })
    const source = await check(changed)
    t.equal(source.code, 0, 'a source incompatibility is for the maintainers to judge')
    t.match(source.stdout, /source: @x\/b/)

    const lost = await repository(t, { ...compatible, 'a/dist/index.js': 'export const added = 2' })
    const binary = await check(lost)
    t.equal(binary.code, 1)
    t.match(binary.stdout, /binary: @x\/a: export "kept" is gone/)
  },
)

/** Words that run a command on the quickstart product with a database of its own. */
const onQuickstart = async (t: Test) => [
  ...['--product', quickstart, '--set', `platform.database.sqlite.file=${await dataDirectory(t.teardown)}/x.sqlite`],
]

t.test('C-031 C-032 C-047 what callers of the frozen API of version 1 rely on is still there', async (t) => {
  const { code, stdout, stderr } = await runProgram(['openapi', '--previous', frozenApi, ...(await onQuickstart(t))])
  t.equal(stdout, '', 'an incompatible change needs a new path version, or (before a release) a new frozen API')
  t.equal(code, 0, stderr)
  const { paths } = JSON.parse(readFileSync(frozenApi, 'utf8'))
  t.ok(Object.keys(paths).length >= 89, 'the frozen API is not empty')
})

t.test('C-047 before a release plinth doctor compiles every schema of the product', async (t) => {
  const { code, stdout } = await runProgram(['doctor', '--json', ...(await onQuickstart(t))])
  t.equal(code, 0, stdout)
  t.match(JSON.parse(stdout).findings, [{ check: 'Node.js' }])
  const schemas = JSON.parse(stdout).findings.find(({ check }: { check: string }) => check === 'health of http.schemas')
  t.match(schemas, { outcome: 'ok' })
})

t.test('npm run audit stops a release for known weaknesses, and for a report that proves nothing', async (t) => {
  const weakness = (severity: string) => ({
    ...{ severity, range: '<2.0.0' },
    via: [{ title: 'Prototype pollution', url: 'https://advisories.example/1' }, 'other'],
  })
  const judged = async (report: unknown) => {
    const text = typeof report === 'string' ? report : JSON.stringify(report)
    const file = join(t.testdir({ report: text }), 'report')
    return prepare('audit', '--report', file)
  }
  const of = (...severities: string[]) => ({
    vulnerabilities: Object.fromEntries(severities.map((severity, index) => [`package-${index}`, weakness(severity)])),
  })
  t.same(await judged(of()), { code: 0, stdout: '0 packages with known weaknesses, 0 of them moderate or worse\n' })
  t.match(await judged(of('low', 'info')), { code: 0, stdout: /^low: package-0 <2\.0\.0: Prototype pollution/ })
  for (const severity of ['moderate', 'high', 'critical', 'unheard-of']) {
    const answer = await judged(of('low', severity))
    t.match(answer, { code: 1, stdout: new RegExp(`^${severity}: package-1 .*through other\n`) })
    t.match(answer.stdout, /2 packages with known weaknesses, 1 of them/)
  }
  t.match(await judged({ message: 'request to the registry failed' }), { code: 1, stdout: /no report: request to/ })
  t.match(await judged('<html>'), { code: 1, stdout: /no report/ })
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  t.equal(scripts.audit, 'node scripts/release.ts audit')
})
