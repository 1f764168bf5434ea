import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { publicModules, publishedNames } from '../../scripts/api-compat.ts'
import { dataDirectory, quickstart, runProgram } from '../fixtures/product-process.ts'
import { frozenApi } from './release-freeze.ts'

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)

const prepare = (words: readonly string[], env = {}) =>
  run(process.execPath, [join(root, 'scripts', 'release.ts'), ...words], { env: { ...process.env, ...env } }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
  )

const release = (...words: string[]) => prepare(['api-compat', ...words])

/** Creates a repository with built packages and their previous release. */
async function repository(t: Test, files: Readonly<Record<string, string>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'plinth-release-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const manifest = (name: string, folder: 'src' | 'dist') =>
    JSON.stringify(
      {
        name,
        version: '1.0.0',
        type: 'module',
        exports: {
          '.':
            folder === 'src'
              ? { types: './src/index.ts', default: './src/index.ts' }
              : { types: './dist/index.d.ts', default: './dist/index.js' },
        },
      },
      null,
      2,
    )
  const all = {
    'package.json': JSON.stringify({ workspaces: ['a', 'b', 'c'], scripts: { build: 'exit 0' } }),
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

t.test('C-041 C-042 without --check the command lists every module with its commands and writes nothing', async (t) => {
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
    t.match(stdout, `npm pack ${name}@0.9.0 --silent`)
  }
  t.notMatch(stdout, '@plinth-example/', 'what is private is no public module')
  t.equal(digest(), before)
})

t.test(
  'C-043 C-044 a lost export fails, a changed declaration is reported, a module without an earlier release is new',
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

t.test('C-043 a missing member of the previous release is a binary incompatibility', async (t) => {
  const list = 'export declare class List { add(): void }'
  const base = {
    ...compatible,
    'previous/@x/a/dist/index.js': 'export class List { add() {} remove() {} static of() {} }',
    'a/dist/index.js': 'export class List { add() {} remove() {} static of() {} }',
    'previous/@x/b/dist/index.d.ts': "export declare const same: import('./types.js').Same;",
    'previous/@x/b/dist/types.d.ts': 'export type Same = 1;',
    'b/dist/index.d.ts': "export declare const same: import('./types.js').Same;",
    'b/dist/types.d.ts': 'export type Same = 1;',
  }
  const check = async (files: Readonly<Record<string, string>>) => {
    const directory = await repository(t, { ...base, ...files })
    const words = ['--previous-version', '1.0.0', '--check', '--root', directory]
    return release(...words, '--previous', join(directory, 'previous'))
  }
  t.equal((await check({})).code, 0)
  const method = await check({ 'a/dist/index.js': 'export class List { add() {} }', 'a/dist/index.d.ts': list })
  t.equal(method.code, 1)
  t.match(method.stdout, /^binary: @x\/a: member "List\.of" is gone$/m)
  t.match(method.stdout, /^binary: @x\/a: member "List\.prototype\.remove" is gone$/m)
  const imported = await check({ 'b/dist/types.d.ts': 'export type Same = 2;' })
  t.equal(imported.code, 0)
  t.match(imported.stdout, /^source: @x\/b: /m, 'types that a declaration imports are compared')
  const removed = await check({ 'package.json': JSON.stringify({ workspaces: ['a', 'c'] }) })
  t.equal(removed.code, 1)
  t.match(removed.stdout, /^binary: @x\/b: the package is gone$/m)
  const hidden = await check({ 'b/package.json': JSON.stringify({ name: '@x/b', private: true }) })
  t.equal(hidden.code, 1)
  t.match(hidden.stdout, /^binary: @x\/b: the package is gone$/m)
})

t.test('C-043 a comparison that cannot be made fails with one sentence', async (t) => {
  const directory = await repository(t, { ...compatible, 'scripts/published-packages.json': '["@x/gone"]' })
  const registry = await startRegistry(t, directory, ['@x/a', '@x/b'])
  const check = (version: string, words: readonly string[] = [], env: object = registry.env) =>
    prepare(['api-compat', '--previous-version', version, '--check', '--root', directory, ...words], env)
  t.equal((await check('1.0.0')).code, 0, 'the registry is asked')
  const mistyped = await check('9.9.9')
  t.same([mistyped.code, mistyped.stderr], [2, 'No package has a release 9.9.9. Check --previous-version.\n'])
  await registry.publish('@x/gone', 'previous/@x/a')
  const gone = await check('1.0.0')
  t.match(gone.stdout, /^binary: @x\/gone: the package is gone$/m, 'a package that left the repository is compared too')
  const offline = await check('1.0.0', [], { ...registry.env, npm_config_registry: 'http://127.0.0.1:1/' })
  t.equal(offline.code, 2)
  t.match(offline.stderr, /^Cannot fetch @x\/gone@1\.0\.0 \(npm error code ECONNREFUSED\)\. Check .*\n$/)
  const unbuilt = await repository(t, { ...compatible })
  await rm(join(unbuilt, 'a/dist/index.js'))
  const words = ['--previous-version', '1.0.0', '--check', '--root', unbuilt, '--previous']
  const missing = await release(...words, join(unbuilt, 'previous'))
  t.same([missing.code, missing.stderr], [2, '@x/a is not built: ./dist/index.js is missing. Run npm run build.\n'])
  const empty = await release(...words, t.testdir())
  t.equal(empty.code, 2)
  t.match(empty.stderr, /contains no unpacked packages\.\n$/)
})

t.test('C-041 the printed commands compare the previous release with the build', async (t) => {
  const directory = await repository(t, { ...compatible, 'b/dist/index.d.ts': 'export declare const same: 1 | 2;' })
  const registry = await startRegistry(t, directory, ['@x/a', '@x/b', '@x/c'])
  const { stdout: script } = await release('--previous-version', '1.0.0', '--root', directory)
  const env = { ...process.env, ...registry.env, LC_ALL: 'C' }
  const result = await run('sh', ['-c', script], { cwd: directory, env }).catch((error) => error)
  const errors = String(result.stderr)
  t.notMatch(errors, /diff: (?!.*@x\/c|c\/dist)/, 'diff understands its options')
  t.match(result.stdout, /^-export declare const same: 1;/m)
  t.match(result.stdout, /^\+export declare const same: 1 \| 2;/m)
  t.notMatch(result.stdout, 'index.js', 'code is not compared as text')
})

t.test('packages are staged with the paths of the build, and this repository does not change', async (t) => {
  const script = join(root, 'scripts', 'stage-packages.ts')
  const directory = await repository(t, { ...compatible, 'c/dist/index.js': '' })
  const before = readFileSync(join(directory, 'a/package.json'), 'utf8')
  await run(process.execPath, [script], { cwd: directory })
  const staged = JSON.parse(readFileSync(join(directory, '.build/packages/a/package.json'), 'utf8'))
  t.same(staged.exports, { '.': { types: './dist/index.d.ts', default: './dist/index.js' } })
  t.ok(existsSync(join(directory, '.build/packages/a/dist/index.js')))
  t.equal(readFileSync(join(directory, 'a/package.json'), 'utf8'), before)

  await rm(join(directory, 'a/dist/index.js'))
  const failed = await run(process.execPath, [script], { cwd: directory }).catch((error) => error)
  t.equal(failed.code, 1)
  t.match(failed.stderr, '@x/a is not built: ./dist/index.js is missing. Run npm run build first.\n')
})

t.test('the packages of this repository are only packed after they are staged', async (t) => {
  for (const { folder } of publicModules(root)) {
    const { scripts } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    t.same(scripts, { prepack: `node ${relative(join(root, folder), join(root, 'scripts/reject-pack.mjs'))}` }, folder)
  }
  const failed = await run(process.execPath, [join(root, 'scripts/reject-pack.mjs')]).catch((error) => error)
  t.equal(failed.code, 1)
  t.match(failed.stderr, 'npm run stage')
})

t.test('every public package is in the list of published packages', async (t) => {
  const names = publicModules(root).map(({ name }) => name)
  t.same(
    names.filter((name) => !publishedNames(root).includes(name)),
    [],
    'add it to scripts/published-packages.json',
  )
})

/** Starts a registry on loopback. It offers version 1.0.0 of packages from the folder `previous/`. */
async function startRegistry(t: Test, directory: string, names: readonly string[]) {
  const archives = new Map<string, Buffer>()
  const publish = async (name: string, folder = `previous/${name}`) => {
    const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', t.testdir()], {
      cwd: join(directory, folder),
    })
    archives.set(name, readFileSync(join(t.testdirName, stdout.trim())))
  }
  const server = createServer((request, response) => {
    const [name = '', isArchive] = decodeURIComponent(request.url ?? '')
      .slice(1)
      .split('/-/')
    const archive = archives.get(name)
    if (archive === undefined) return void response.writeHead(404).end('{}')
    if (isArchive !== undefined) return void response.end(archive)
    const tarball = `${url}${name}/-/archive.tgz`
    const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`
    const release = { name, version: '1.0.0', dist: { tarball, integrity } }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ name, 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': release } }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  for (const name of names) if (existsSync(join(directory, 'previous', name))) await publish(name)
  const cache = await mkdtemp(join(tmpdir(), 'plinth-npm-cache-'))
  t.teardown(() => rm(cache, { recursive: true, force: true }))
  const env = {
    npm_config_registry: url,
    npm_config_cache: cache,
    npm_config_fetch_retries: '0',
    npm_config_offline: 'false',
  }
  return { env, publish }
}

/** Returns arguments that run a command on the quickstart with its own database. */
const onQuickstart = async (t: Test) => [
  '--product',
  quickstart,
  '--set',
  `platform.database.sqlite.file=${await dataDirectory(t.teardown)}/x.sqlite`,
]

t.test('C-031 C-032 C-047 everything that callers of the frozen API of version 1 use still exists', async (t) => {
  const { code, stdout, stderr } = await runProgram(['openapi', '--previous', frozenApi, ...(await onQuickstart(t))])
  t.equal(stdout, '', 'an incompatible change needs a new path version, or (before a release) a new frozen API')
  t.equal(code, 0, stderr)
  const { paths } = JSON.parse(readFileSync(frozenApi, 'utf8'))
  t.ok(Object.keys(paths).length >= 89, 'the frozen API is not empty')
})

t.test('C-047 before a release plinth doctor compiles every schema of the product', async (t) => {
  const { code, stdout } = await runProgram(['doctor', '--json', ...(await onQuickstart(t))])
  t.equal(code, 0, stdout)
  const { findings } = JSON.parse(stdout)
  t.equal(findings[0].check, 'Node.js')
  const schemas = findings.find(({ check }: { check: string }) => check === 'health of http.schemas')
  t.hasStrict(schemas, { outcome: 'ok' })
})

t.test('npm run audit stops a release with known vulnerabilities, and with an incomplete report', async (t) => {
  const weakness = (severity: string) => ({
    severity,
    range: '<2.0.0',
    via: [{ title: 'Prototype pollution', url: 'https://advisories.example/1' }, 'other'],
  })
  const judged = async (report: unknown) => {
    const text = typeof report === 'string' ? report : JSON.stringify(report)
    const file = join(t.testdir({ report: text }), 'report')
    return prepare(['audit', '--report', file])
  }
  const of = (...severities: string[]) => ({
    vulnerabilities: Object.fromEntries(severities.map((severity, index) => [`package-${index}`, weakness(severity)])),
  })
  t.same(await judged(of()), {
    code: 0,
    stdout: '0 packages with known weaknesses, 0 of them moderate or worse\n',
    stderr: '',
  })
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
