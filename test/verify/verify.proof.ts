/** Tests that `plinth plugin verify` finds the fault of each faulty plugin, and no fault in correct plugins. */
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { environmentName } from '@plinth/config-schema'
import databasePlugin, { database as databaseService } from '@plinth/database'
import { assertMembers, programEnvironment, startForTest, watchProcess } from '@plinth/dev/testing'
import { createDatabase, everyDialect, type TestDialect } from '@plinth/dev/testing/database'
import { defineProduct } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { type VerifyDatabase, type VerifyOptions, verifyPlugin } from '../../dev/src/verify/verify-plugin.ts'
import type { VerifyProblem, VerifyReport } from '../../dev/src/verify/verify-report.ts'
import { runProgram } from '../../kernel/src/cli/program.ts'
import { type FaultyPlugin, faultyPlugins, filesOf } from './faulty-plugins.ts'
import { correctPlugin, type Files, filesWithSeveralFaults, remainingFaults } from './other-plugins.ts'

const root = join(import.meta.dirname, '../..')
/** The directory is inside the repository, so that the plugins find its packages. */
const directory = t.testdir()

function writePlugin(name: string, files: Files): string {
  const folder = join(directory, name)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

/** Maximum number of verifications at a time. Each of them runs several processes. */
const maxConcurrent = 2
const waiting: (() => void)[] = []
let running = 0
async function verify(options: Omit<VerifyOptions, 'directory'>): Promise<VerifyReport> {
  if (running === maxConcurrent) await new Promise<void>((resolve) => waiting.push(resolve))
  running++
  try {
    return await verifyPlugin({ directory, ...options })
  } finally {
    running--
    waiting.shift()?.()
  }
}

const problemsOf = ({ checks }: Pick<VerifyReport, 'checks'>) => checks.flatMap(({ problems }) => problems)
const codesOf = (report: Pick<VerifyReport, 'checks'>) => problemsOf(report).map(({ code }) => code)
const reports = (problems: readonly VerifyProblem[], { code, names }: Pick<FaultyPlugin, 'code' | 'names'>) =>
  problems.some((one) => one.level === 'error' && one.code === code && one.message.includes(names))

/** Creates an empty database on a server for one verification. */
async function emptyDatabase(t: Test, dialect: TestDialect): Promise<VerifyDatabase> {
  const { config, drop } = await createDatabase(dialect)
  t.teardown(drop)
  const variables = Object.entries(config).map(([key, value]) => [environmentName(key), String(value)])
  return { name: dialect, environment: Object.fromEntries(variables) }
}

const servers = everyDialect.filter(({ dialect, skip }) => dialect !== 'sqlite' && skip === false)

t.test('the fault of each faulty plugin is found', { timeout: 900_000, jobs: maxConcurrent }, async (t) => {
  t.equal(faultyPlugins.length, 30)
  for (const plugin of faultyPlugins) {
    t.test(`${plugin.name}: ${plugin.fault}`, { buffered: true, timeout: 900_000 }, async (t) => {
      const databases: VerifyDatabase[] = []
      if (plugin.onServers) for (const { dialect } of servers) databases.push(await emptyDatabase(t, dialect))
      const report = await verify({ folder: writePlugin(plugin.name, plugin.files), databases })
      const found = problemsOf(report).map(({ code, message }) => `${code}: ${message}`)
      t.equal(report.passed, false)
      t.ok(reports(problemsOf(report), plugin), `${plugin.code} with ${plugin.names}`, { found })
      for (const { name } of databases) {
        const check = report.checks.find((one) => one.name === `empty product on ${name}`)
        t.ok(reports(check?.problems ?? [], plugin), `${plugin.code} on ${name}`, { found })
      }
    })
  }
})

/** Creates a plugin with pages by `plinth create`, changes its routes, and builds it. */
async function createPage(name: string, changeRoutes = (text: string) => text): Promise<string> {
  const folder = join(directory, name)
  const surroundings = { stdout: { write: () => {} }, stderr: { write: () => {} }, environment: {}, directory }
  await runProgram(['create', 'page', name, '--folder', folder], surroundings)
  const routes = join(folder, 'src/routes.ts')
  writeFileSync(routes, changeRoutes(readFileSync(routes, 'utf8')))
  // Replaces the build script, because the compiler would also compile the sources of the packages in this repository
  // that the plugin imports.
  writeFileSync(join(folder, 'build.mjs'), correctPlugin.build)
  await promisify(execFile)(process.execPath, ['build.mjs'], { cwd: folder })
  return folder
}

/** Removes the test script of a plugin and adds dependencies, so that only the other checks find its fault. */
function skipTests(folder: string, dependencies: Readonly<Record<string, string>> = {}): void {
  const file = join(folder, 'package.json')
  const { peerDependencies, ...manifest } = JSON.parse(readFileSync(file, 'utf8'))
  const changed = { ...manifest, scripts: {}, peerDependencies: { ...peerDependencies, ...dependencies } }
  writeFileSync(file, JSON.stringify(changed))
}

/** Declares the scope `caller` for all routes of a created plugin. Its handlers ignore it. */
const withIgnoredScope = (text: string) => text.replaceAll("scope: 'none'", "scope: 'caller'")
/** As `withIgnoredScope`, but the handlers read the scope and do not use it. */
const withUnusedScope = (text: string) =>
  withIgnoredScope(text)
    .replaceAll(/handler: (async )?\(\{ (query|params: \{ id \}) \}/g, 'handler: $1({ $2, principal }')
    .replaceAll('findPage(', 'principal?.dataScope && findPage(')
    .replaceAll('findOne(Entry, { id })', 'findOne(Entry, { id: principal?.dataScope && id })')

t.test('a created plugin that ignores its declared scope is found', { timeout: 900_000 }, async (t) => {
  const folder = await createPage('acme-scope', withIgnoredScope)
  const own = await promisify(execFile)(process.execPath, ['--test', 'test/plugin.test.ts'], { cwd: folder }).catch(
    (error) => error,
  )
  t.equal(own.code, 1)
  t.match(own.stdout, 'PLINTH_IAM_SCOPE_NOT_ASKED: POST /api/v1/admin/acme-scope of plugin "acme-scope"')
  // Without its tests, the other checks find it too.
  skipTests(folder)
  const codes = codesOf(await verify({ folder }))
  t.ok(codes.includes('PLINTH_IAM_SCOPE_NOT_ASKED'), codes.join())
})

t.test('a plugin that shows the rows of others is found', { timeout: 900_000 }, async (t) => {
  const folder = await createPage('acme-shown', withUnusedScope)
  skipTests(folder)
  const problems = problemsOf(await verify({ folder }))
  const found = problems.filter(({ code }) => code === 'PLINTH_VERIFY_SCOPE_IGNORED').map(({ message }) => message)
  assertMembers(t, found, [
    /^GET \/api\/v1\/admin\/acme-shown declares/,
    /^GET \/api\/v1\/admin\/acme-shown\/:id declares/,
  ])
})

/** Lets a created plugin accept idempotency keys for a call that commits no transaction. */
const withoutClaim = (text: string) =>
  `import { idempotent } from '@plinth/idempotency'\n${text}`
    .replace(
      'request: { body: Type.Object(facts) }',
      'annotations: [idempotent],\n    request: { body: Type.Object({}) }',
    )
    .replace('...body, state', "name: 'a', note: 'b', state")

t.test('a plugin that makes no claim of an idempotency key is found', { timeout: 900_000 }, async (t) => {
  const folder = await createPage('acme-claim', withoutClaim)
  skipTests(folder, { '@plinth/idempotency': '^1.0.0' })
  const problems = problemsOf(await verify({ folder, limitMs: 840_000 }))
  const found = problems.filter(({ code }) => code === 'PLINTH_IDEMPOTENCY_NO_CLAIM').map(({ message }) => message)
  assertMembers(t, found, [/POST \/api\/v1\/admin\/acme-claim of plugin "acme-claim"/])
})

t.test('correct plugins pass without a problem', { timeout: 900_000, jobs: maxConcurrent }, async (t) => {
  const created = await createPage('honest-page')
  const folders = [join(root, 'examples/acme-channel'), join(root, 'examples/notes'), created]
  for (const folder of folders) {
    t.test(folder.slice(root.length), { buffered: true, timeout: 900_000 }, async (t) => {
      const report = await verify({ folder })
      t.strictSame(problemsOf(report), [])
      t.equal(report.passed, true)
      t.ok(report.manifest?.['contributes'] ?? report.manifest?.['routes'], 'the manifest of the plugin')
      t.strictSame(
        report.checks.map(({ name, skipped }) => [name, skipped]),
        ['package', 'tests', 'empty product on sqlite', 'filled product on sqlite'].map((name) => [name, undefined]),
      )
    })
  }
})

t.test('a plugin does not see the environment of the caller', { timeout: 900_000 }, async (t) => {
  const variables = { PLATFORM_CALLER_SECRET: 'of the caller', NPM_TOKEN: 'of the caller' }
  Object.assign(process.env, variables)
  t.teardown(() => {
    for (const name of Object.keys(variables)) delete process.env[name]
  })
  const check = `const { HOME, ...others } = process.env
    if (HOME === ${JSON.stringify(homedir())} || Object.values(others).includes('of the caller')) throw new Error('it is visible')
    if (/verify/.test(process.argv.join() + import.meta.dirname)) throw new Error('the verification is visible')`
  const files = filesOf(
    'honest-setup',
    { setup: check },
    { scripts: { test: 'node --test test/plugin.test.js', prepack: 'exit 1', prepare: 'exit 1' } },
    {
      'test/plugin.test.js': `import { test } from 'node:test'\ntest('environment', () => {\n${check.replace(/\n.*verification is.*/, '')}\n})\n`,
    },
  )
  const problems = problemsOf(await verify({ folder: writePlugin('honest-setup', files) }))
  t.strictSame(
    problems.filter(({ message }) => message.includes('visible')),
    [],
  )
})

t.test('other errors have codes too', { timeout: 900_000, jobs: maxConcurrent }, async (t) => {
  for (const { name, files, codes, limitMs } of remainingFaults) {
    t.test(name, { buffered: true, timeout: 900_000 }, async (t) => {
      const report = await verify({ folder: writePlugin(name, files), ...(limitMs === undefined ? {} : { limitMs }) })
      t.strictSame(codesOf(report), codes)
      t.equal(report.passed, false)
    })
  }
  t.test('a database with tables is rejected', { buffered: true, timeout: 900_000 }, async (t) => {
    const { files } = faultyPlugins.find((one) => one.name === 'acme-data-left') as FaultyPlugin
    t.strictSame(await codesOnUsedDatabase(t, 'acme-used-database', files), ['PLINTH_VERIFY_DATABASE_NOT_EMPTY'])
  })
  t.test(
    'a plugin with an invalid declaration changes no database',
    { buffered: true, timeout: 900_000 },
    async (t) => {
      const before = "import { database } from '@plinth/database'"
      const members = "requires: { database }, setupDeadlineMs: '20s',"
      const files = filesOf('acme-invalid-deadline', { before, members })
      t.strictSame(await codesOnUsedDatabase(t, 'acme-invalid-deadline', files), ['PLINTH_PLAN_INVALID_DECLARATION'])
    },
  )
})

/**
 * Verifies a plugin on a database with a table, checks that the table remains, and returns the codes of the problems on
 * this database.
 */
async function codesOnUsedDatabase(t: Test, name: string, files: Files): Promise<readonly string[] | undefined> {
  const database = await emptyDatabase(t, 'sqlite')
  const used = defineProduct({ name: 'used', plugins: [databasePlugin] })
  const execute = async (sql: string) => {
    const running = await startForTest(used, { environment: database.environment, roles: ['cli'] })
    try {
      await running.service(databaseService).execute(sql)
    } finally {
      await running.stop('executed')
    }
  }
  await execute('create table kept (id integer)')
  const report = await verify({ folder: writePlugin(name, files), databases: [{ ...database, name: 'used' }] })
  await t.resolves(execute('insert into kept (id) values (1)'), 'its table is still there')
  const check = report.checks.find((one) => one.name === 'empty product on used')
  return check?.problems.map(({ code }) => code)
}

t.test('a signal ends the command and its processes', { timeout: 900_000 }, async (t) => {
  const endless = remainingFaults.find(({ name }) => name === 'acme-endless-loop')
  const folder = writePlugin('acme-interrupted', endless?.files ?? {})
  const temporary = t.testdir()
  const program = join(root, 'kernel/bin/plinth.js')
  const child = spawn(process.execPath, [program, 'plugin', 'verify', folder], {
    cwd: directory,
    env: { ...programEnvironment({ TMPDIR: temporary, TEMP: temporary }), NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const command = watchProcess(t, child)
  await command.until(() => command.output().includes('Checking: empty product'), 'the product starts')
  t.strictSame(await command.end('SIGTERM'), [130, null])
  t.match(command.output(), 'SIGTERM received')
  const remaining = readdirSync(temporary).filter((name) => name.startsWith('plinth-'))
  t.strictSame(remaining, [], 'the files of the verification are removed')
})

t.test('the command prints a table or JSON, and its exit code is 1 for errors', { timeout: 900_000 }, async (t) => {
  const run = async (...words: string[]) => {
    let [stdout, stderr] = ['', '']
    const code = await runProgram(['plugin', 'verify', ...words], {
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: (text) => (stderr += text) },
      environment: {},
      directory,
    })
    return { code, stdout, stderr }
  }
  const honest = writePlugin('honest-small', correctPlugin.small)
  const passed = await run(honest)
  t.equal(passed.code, 0, passed.stdout)
  t.match(passed.stdout, /^OUTCOME +CHECK +DETAIL\nok +package +honest-small 1\.0\.0/)
  t.match(passed.stdout, 'honest-small 1.0.0 passed.')
  t.match(
    passed.stderr,
    /^This command executes the code and the tests of the plugin with your rights on this machine\.\n/,
  )
  t.match(passed.stderr, 'Checking: filled product on sqlite')

  const settings = join(directory, 'database.env')
  writeFileSync(settings, `PLATFORM_DATABASE_SQLITE_FILE=${join(directory, 'other.sqlite')}\n`)
  const failed = await run(writePlugin('acme-several', filesWithSeveralFaults), '--database', settings, '--json')
  t.equal(failed.code, 1)
  const report: VerifyReport = JSON.parse(failed.stdout)
  t.hasStrict(report, { name: 'acme-several', version: '1.0.0', passed: false })
  const inProduct = [
    'warning PLINTH_VERIFY_KIT_MISSING',
    'error PLINTH_VERIFY_ROUTE_FAILED',
    'warning PLINTH_VERIFY_TASK_FAILED',
  ]
  const found = report.checks.map(({ name, skipped, problems }) => [
    name,
    skipped ?? problems.map(({ level, code }) => `${level} ${code}`),
  ])
  t.strictSame(found, [
    ['package', []],
    ['tests', ['error PLINTH_VERIFY_TESTS_FAILED']],
    ['empty product on sqlite', inProduct],
    ['empty product on database.env', inProduct],
    ['filled product on sqlite', 'correct the errors first'],
    ['filled product on database.env', 'correct the errors first'],
  ])

  const missing = await run('no-such-folder', '--json')
  t.equal(missing.code, 1)
  t.hasStrict(JSON.parse(missing.stdout), { error: { code: 'PLINTH_VERIFY_FOLDER' } })
  t.match(await run(honest, '--limit', 'soon'), { code: 2, stderr: /PLINTH_CLI_USAGE: .*whole number of seconds/ })
})
