/** Tests that `plinth plugin verify` finds the fault of each faulty plugin, and no fault in correct plugins. */
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { environmentName } from '@plinth/config-schema'
import databasePlugin, { database as databaseService } from '@plinth/database'
import { createDatabase, dialectsUnderTest, type TestDialect } from '@plinth/database/testing'
import { defineProduct } from '@plinth/kernel'
import { programEnvironment, startForTest, watchProcess } from '@plinth/kernel/testing'
import t, { type Test } from 'tap'
import { runProgram } from '../../kernel/src/cli/program.ts'
import { type VerifyDatabase, type VerifyOptions, verifyPlugin } from '../../kernel/src/verify/verify-plugin.ts'
import type { VerifyProblem, VerifyReport } from '../../kernel/src/verify/verify-report.ts'
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

const servers = dialectsUnderTest.filter(({ dialect, skip }) => dialect !== 'sqlite' && skip === false)

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

t.test('correct plugins pass without a problem', { timeout: 900_000, jobs: maxConcurrent }, async (t) => {
  const created = join(directory, 'honest-page')
  const surroundings = { stdout: { write: () => {} }, stderr: { write: () => {} }, environment: {}, directory }
  t.equal(await runProgram(['create', 'page', 'honest-page', '--folder', created], surroundings), 0)
  // Replaces the build script, because the compiler would also compile the sources of the packages in this repository
  // that the plugin imports.
  writeFileSync(join(created, 'build.mjs'), correctPlugin.build)
  const manifest = JSON.parse(readFileSync(join(created, 'package.json'), 'utf8'))
  const scripts = { ...manifest.scripts, build: 'node build.mjs' }
  writeFileSync(join(created, 'package.json'), JSON.stringify({ ...manifest, scripts }))
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

t.test('a plugin does not see the configuration of the caller', { timeout: 900_000 }, async (t) => {
  process.env['PLATFORM_CALLER_SECRET'] = 'of the caller'
  t.teardown(() => delete process.env['PLATFORM_CALLER_SECRET'])
  const setup = "if ('PLATFORM_CALLER_SECRET' in process.env) throw new Error('it is visible')"
  const report = await verify({ folder: writePlugin('honest-setup', filesOf('honest-setup', { setup })) })
  t.strictSame(problemsOf(report), [])
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
  const remaining = readdirSync(temporary).filter((name) => name.startsWith('plinth-verify-'))
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
