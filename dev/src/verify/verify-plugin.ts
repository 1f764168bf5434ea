import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { extname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { omitUndefined } from '@plinth/config-schema'
import { isPlinthError } from '@plinth/kernel'
import { kernelError } from '@plinth/kernel/program'
import { verifyError } from './errors.ts'
import { findManifestProblems, findModuleProblems } from './package-checks.ts'
import {
  createMinimalEnvironment,
  type InstalledPlugin,
  installPlugin,
  installPreviousVersion,
  manifestIn,
  runPluginTests,
} from './plugin-package.ts'
import { SecretWatch } from './secret-watch.ts'
import {
  type EntriesByKind,
  type ReportLine,
  type VerifyCheck,
  type VerifyJob,
  type VerifyProblem,
  type VerifyReport,
  withLevel,
} from './verify-report.ts'

/** An empty database, with the environment variables that configure a product to use it. */
export interface VerifyDatabase {
  readonly name: string
  readonly environment: Readonly<Record<string, string>>
}

export interface VerifyOptions {
  /** Folder of the plugin. */
  readonly folder: string
  /** Working directory. Packages that the folder does not contain are searched in its `node_modules`. */
  readonly directory: string
  /** Empty databases in addition to SQLite. */
  readonly databases?: readonly VerifyDatabase[]
  /** Packed archive or folder of the previous version. Default: the installed package with the same name, if any. */
  readonly previous?: string | undefined
  /** Configuration values by key, for keys whose value cannot be invented. */
  readonly set?: Readonly<Record<string, string>>
  /** Maximum duration of one check in milliseconds. */
  readonly limitMs?: number
  /** Called with the name of each check when it begins. */
  readonly onCheck?: (name: string) => void
  readonly signal?: AbortSignal
}

const sqlite: VerifyDatabase = { name: 'sqlite', environment: {} }
const defaultLimitMs = 300_000
/** Maximum characters of process output that are kept. The beginning of a longer output is removed. */
const maxOutput = 20_000_000
const worker = fileURLToPath(new URL(`./verify-worker${extname(import.meta.url)}`, import.meta.url))

interface CheckResult {
  readonly detail: string
  readonly problems: readonly VerifyProblem[]
  readonly manifest?: EntriesByKind | undefined
}

/**
 * Verifies a plugin: packs it, installs it in an empty and in a filled product, and uses it like an operator, who
 * starts, stops, disables, enables, removes and reinstalls it. Sends nothing to other machines. The filled product is
 * skipped if the plugin already has errors.
 *
 * @throws PlinthError `PLINTH_VERIFY_FOLDER`, or the reason of the signal when it aborts
 */
export async function verifyPlugin(options: VerifyOptions): Promise<VerifyReport> {
  const folder = resolve(options.directory, options.folder)
  const { directory, databases = [], limitMs = defaultLimitMs, onCheck, signal } = options
  const source = manifestIn(folder)
  let manifest: EntriesByKind | undefined
  const work = await realpath(await mkdtemp(join(tmpdir(), 'plinth-')))
  const checks: VerifyCheck[] = []
  const hasErrors = () => checks.some(({ problems }) => problems.some(({ level }) => level === 'error'))
  const check = async (name: string, run: () => Promise<CheckResult>) => {
    signal?.throwIfAborted()
    onCheck?.(name)
    const startedAt = performance.now()
    const result = await run()
    const { detail, problems } = result
    manifest = result.manifest ?? manifest
    checks.push({ name, detail, durationMs: Math.round(performance.now() - startedAt), problems: distinct(problems) })
  }
  let installed: InstalledPlugin | undefined
  /** Runs the previous version, the verified version, and the previous version again, all on one database. */
  const checkUpgrades = async () => {
    const given = options.previous === undefined ? undefined : resolve(directory, options.previous)
    const previous = await installPreviousVersion(folder, source, given, { work, directory, signal })
    if (previous === undefined) return
    const { version } = previous.manifest
    const places = { work: join(work, 'previous'), directory, archive: previous.archive, signal }
    const old = await installPlugin(previous.folder, previous.manifest, places)
    for (const database of [sqlite, ...databases]) {
      const name = `upgrade from ${version} on ${database.name}`
      const fresh = installed
      if (fresh === undefined) {
        checks.push({ name, skipped: 'correct the errors first', detail: '', durationMs: 0, problems: [] })
        continue
      }
      await check(name, async () => {
        const place = await mkdtemp(join(work, 'upgrade-'))
        const state = join(place, 'state.json')
        const environment = { PLATFORM_DATABASE_SQLITE_FILE: join(place, 'product.sqlite'), ...database.environment }
        const details: string[] = []
        const problems: VerifyProblem[] = []
        for (const phase of ['before', 'upgrade', 'downgrade'] as const) {
          const { product, folder: plugin } = phase === 'upgrade' ? fresh : old
          const upgrade = { phase, version, state }
          const on = { ...database, environment }
          const trial = { product, plugin, size: 'empty' as const, database: on, folder, work, upgrade }
          const result = await runTrial(trial, options, limitMs)
          details.push(result.detail)
          problems.push(...result.problems)
          if (result.problems.some(({ level }) => level === 'error')) break
        }
        return { detail: details[0] ?? '', problems }
      })
    }
  }
  try {
    await check('package', async () => {
      const problems = [...findManifestProblems(source)]
      try {
        installed = await installPlugin(folder, source, { work, directory, signal })
        problems.push(...findModuleProblems(installed))
      } catch (error) {
        if (!isPlinthError(error)) throw error
        problems.push(withLevel(error))
      }
      return { detail: `${source.name} ${source.version}`, problems }
    })
    await check('tests', async () => ({
      detail: source.scripts?.['test'] === undefined ? 'the package has no script "test"' : 'npm test',
      problems: await runPluginTests(folder, source, { timeout: limitMs, signal, home: join(work, 'home') }),
    }))
    await checkUpgrades()
    for (const size of ['empty', 'filled'] as const) {
      for (const database of [sqlite, ...databases]) {
        const name = `${size} product on ${database.name}`
        if (installed === undefined || (size === 'filled' && hasErrors())) {
          checks.push({ name, skipped: 'correct the errors first', detail: '', durationMs: 0, problems: [] })
        } else {
          const { product, folder: plugin } = installed
          await check(name, () => runTrial({ product, plugin, size, database, folder, work }, options, limitMs))
        }
      }
    }
  } finally {
    await rm(work, { recursive: true, force: true, maxRetries: 3 })
  }
  const { name, version } = source
  return omitUndefined<VerifyReport>({ folder, name, version, passed: !hasErrors(), checks, manifest })
}

/** Removes duplicates, because each start reports the same problems again. */
const distinct = (problems: readonly VerifyProblem[]) => [
  ...new Map(problems.map((problem) => [`${problem.code} ${problem.message}`, problem])).values(),
]

interface Trial extends Pick<VerifyJob, 'product' | 'folder' | 'plugin' | 'size' | 'upgrade'> {
  readonly database: VerifyDatabase
  readonly work: string
}

/**
 * Verifies the plugin in one product. Runs in a separate process, because the plugin could change, block or end its
 * process.
 */
async function runTrial(
  { product, folder, plugin, size, database, work, upgrade }: Trial,
  { set = {}, signal }: VerifyOptions,
  limitMs: number,
): Promise<CheckResult> {
  const place = await mkdtemp(join(work, 'trial-'))
  await rm(join(product, 'data'), { recursive: true, force: true })
  await mkdir(join(product, 'data'))
  const environment = {
    PLATFORM_DATABASE_SQLITE_FILE: join(product, 'data', 'product.sqlite'),
    ...database.environment,
  }
  const host = database.environment['PLATFORM_DATABASE_HOST']
  const report = join(place, 'report.jsonl')
  const job: VerifyJob = omitUndefined<VerifyJob>({
    upgrade,
    product,
    folder,
    plugin,
    size,
    environment,
    set,
    report,
    allowedHosts: host === undefined ? [] : [host],
  })
  await writeFile(join(place, 'job.json'), JSON.stringify(job), { mode: 0o600 })
  const { output, isLate } = await runWorker(
    join(place, 'job.json'),
    { cwd: product, home: join(work, 'home') },
    limitMs,
    signal,
  )
  const lines = readLines(report)
  const problems = lines.flatMap((line) => (line.kind === 'problem' ? [line.problem] : []))
  const secrets = new SecretWatch()
  for (const line of lines) if (line.kind === 'secret') secrets.add(line.key, line.value)
  for (const key of secrets.in(output)) problems.push(withLevel(verifyError('PLINTH_VERIFY_SECRET_LOGGED', { key })))
  const step = lines.findLast((line) => line.kind === 'step')?.step ?? 'start of the process'
  if (isLate)
    problems.push(withLevel(verifyError('PLINTH_VERIFY_ENDLESS', { seconds: Math.round(limitMs / 1000), step })))
  const manifest = lines.findLast((line) => line.kind === 'manifest')?.entries
  const done = lines.find((line) => line.kind === 'done')
  if (done === undefined && problems.length === 0) {
    problems.push(
      withLevel(
        kernelError('PLINTH_UNEXPECTED', { reason: `The process ended in the step "${step}": ${output.slice(-2000)}` }),
      ),
    )
  }
  return { detail: done?.detail ?? `ended in the step: ${step}`, problems, manifest }
}

/**
 * Runs the worker process.
 *
 * @returns the output of the process, and whether it was killed because it ran too long
 */
async function runWorker(
  job: string,
  { cwd, home }: { readonly cwd: string; readonly home: string },
  limitMs: number,
  signal?: AbortSignal,
) {
  const words = ['--expose-gc', '--disable-warning=ExperimentalWarning', worker, job]
  const child = spawn(process.execPath, words, {
    cwd,
    env: createMinimalEnvironment(home),
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
    // The plugin may ignore other signals.
    killSignal: 'SIGKILL',
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-maxOutput)
    })
  }
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, limitMs)
  // When the signal aborts, the process emits an error and then ends. The end is awaited below.
  child.on('error', () => {})
  await new Promise((resolve) => child.once('close', resolve))
  clearTimeout(timer)
  signal?.throwIfAborted()
  return { output, isLate }
}

const readLines = (file: string): readonly ReportLine[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
    : []
