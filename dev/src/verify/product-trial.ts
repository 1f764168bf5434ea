import { readFileSync, writeFileSync } from 'node:fs'
import { defineProduct, type Plugin, type Product, type Role } from '@plinth/kernel'
import { prepareProduct, type RunningProduct, startProduct, toErrorLine } from '@plinth/kernel/host'
import { removeData } from '@plinth/kernel/program'
import { type Logger, pino } from 'pino'
import { changedTables, dropAllTables, snapshotOf, tablesIn } from './database-snapshot.ts'
import { undeclaredHostProblem, verifyError } from './errors.ts'
import { runConformanceKits } from './plugin-package.ts'
import { listenerCounts, maxBlockedMs, measureUsedMemory, measureWork, snapshotSharedValues } from './process-watch.ts'
import { countRejectedRequests, createTestUsers } from './route-calls.ts'
import { type SeededTable, seedRows } from './seeded-rows.ts'
import { TrialChecks, type TrialOptions } from './trial-checks.ts'
import { problemsOf, type VerifyJob } from './verify-report.ts'

/** Maximum that a plugin adds to the start of a product in milliseconds, and maximum growth of the memory in bytes. */
const limits = { setupMs: 2000, growthBytes: 5_000_000 }

/** Configuration of the product. Its deadlines are short, because a plugin should not need more time. */
const values = {
  'platform.http.port': '0',
  'platform.http.host': '127.0.0.1',
  'platform.kernel.setup-deadline': '20s',
  'platform.kernel.drain-deadline': '5s',
  'platform.kernel.stop-deadline': '5s',
}

/**
 * Results of the previous version. A process writes them to a file, and the processes of the upgrade and of the
 * downgrade read it.
 */
interface UpgradeState {
  readonly tables: readonly SeededTable[]
  /** Routes of the previous version that fail with the invented rows. */
  readonly failed: readonly string[]
}

type StartTimes = Pick<Awaited<ReturnType<typeof measureWork>>, 'lagMs' | 'durationMs'>

/** Thrown after a problem that was reported and makes the remaining steps useless. */
export class TrialAborted extends Error {}

/**
 * Starts and stops products with and without the plugin. Reports what the plugin changes, and which data it leaves
 * after its removal.
 */
export class PluginTrial {
  readonly #options: TrialOptions
  readonly #checks: TrialChecks
  /** True after the database was found to be empty, so that this trial may delete its tables. */
  #ownsDatabase = false
  /** A logger that does not mask secrets. Otherwise a secret that the plugin logs would not be found. */
  readonly #logger: Logger

  constructor(options: TrialOptions) {
    this.#options = options
    this.#checks = new TrialChecks(options)
    const output = pino.destination({ fd: 1, sync: true })
    const write = (line: string) => {
      output.write(line)
      this.#checks.readLogLine(line)
    }
    this.#logger = pino({ level: 'debug', base: null, serializers: { err: toErrorLine } }, { write })
  }

  /**
   * Runs all steps and returns a summary of the measurements.
   *
   * @throws TrialAborted
   */
  async run(): Promise<string> {
    const { job, plugin, base } = this.#options
    this.#checkPlan()
    for (const problem of runConformanceKits(job.folder, plugin)) this.#checks.problem(problem)
    await this.#requireEmptyDatabase()
    const [before, again] = [
      await this.#round('the product without the plugin', base, async (running) => {
        if (job.size === 'filled') await createTestUsers(running)
        return snapshotOf(running)
      }),
      await this.#round('the product without the plugin, again', base, snapshotOf),
    ]
    const shared = { values: snapshotSharedValues(), listeners: listenerCounts() }
    const changing = new Set(changedTables(before.result, again.result))

    const first = await this.#withPlugin('start and stop', (running) => this.#checks.checkTables(running, again.result))
    await this.#checks.checkProcess(shared)
    await this.#round('disable', base, async () => {})
    const second = await this.#withPlugin('enable', snapshotOf)
    const addedMs = this.#checkTimes(again, [first, second])
    await this.#remove()
    const removed = await this.#round('the product after the removal', base, snapshotOf)
    this.#checks.checkLeft(again.result, second.result, removed.result, changing)

    const calls = await this.#installAgain(async (running) => {
      const requests = await this.#checks.callRoutes(running)
      const tasks = await this.#checks.runTasks(running)
      this.#checks.searchTables(await snapshotOf(running))
      const rules = await this.#checks.runKits(running, tasks)
      return { requests, tasks: tasks.all, rules }
    })
    await this.#checks.checkProcess(shared)
    if (job.size === 'filled')
      await this.#withPlugin('operators of different scope', (running) => this.#checks.checkScopes(running))
    const growth = job.size === 'empty' ? await this.#checkMemory() : 0
    await this.emptyDatabase()
    const measured = [
      `start ${addedMs} ms longer`,
      `routes called: ${calls.requests}`,
      `tasks run: ${calls.tasks}`,
      `rules of contracts: ${calls.rules}`,
      `${base.length} other plugins`,
      ...(job.size === 'empty' ? [`memory ${(growth / 1e6).toFixed(1)} MB per start`] : []),
    ]
    return measured.join(', ')
  }

  #product(plugins: readonly Plugin[]): Product {
    return { ...defineProduct({ name: 'product', plugins }), root: this.#options.job.product }
  }

  #startOptions(plugins: readonly Plugin[], roles: readonly Role[]) {
    const { job, set } = this.#options
    const declared = new Set(plugins.flatMap(({ config = {} }) => Object.keys(config)))
    const known = Object.entries({ ...values, ...set }).filter(
      ([key]) => declared.has(key) || key.startsWith('platform.kernel.'),
    )
    return { roles, envFile: false, environment: job.environment, set: Object.fromEntries(known) } as const
  }

  /** Reports the problems and warnings that the planner finds for the plugin. */
  #checkPlan(): void {
    const { plugin, base } = this.#options
    const plugins = [...base, plugin]
    const { problems, warnings } = prepareProduct(
      this.#product(plugins),
      this.#startOptions(plugins, ['web', 'worker']),
    )
    for (const problem of [...problems, ...warnings.filter((warning) => warning.plugin === plugin.id)]) {
      this.#checks.problem({ ...problem, message: `${problem.place}: ${problem.message}` })
    }
    if (problems.length > 0) throw new TrialAborted()
  }

  /** Starts a product, uses it and stops it. If the start or the stop fails, the trial ends. */
  async #round<T>(
    step: string,
    plugins: readonly Plugin[],
    use: (running: RunningProduct) => Promise<T>,
    roles: readonly Role[] = ['web', 'worker'],
  ) {
    this.#options.report({ kind: 'step', step })
    try {
      const options = { ...this.#startOptions(plugins, roles), logger: this.#logger, capturesOutput: true }
      const start = () => startProduct(this.#product(plugins), options)
      const { result: running, lagMs, durationMs } = await measureWork(start)
      const stop = async () => {
        // If a hook of the plugin did not await a promise that rejects, the error becomes visible during this wait.
        await new Promise((resolve) => setTimeout(resolve, 50))
        await running.stop('verified')
      }
      const result = await use(running).catch(async (error: unknown) => {
        await running.stop('verified').catch(() => undefined)
        throw error
      })
      await stop()
      return { result, lagMs, durationMs }
    } catch (error) {
      if (error instanceof TrialAborted) throw error
      for (const problem of problemsOf(error))
        this.#checks.problem({ ...problem, message: `${step}: ${problem.message}` })
      throw new TrialAborted()
    }
  }

  async #withPlugin<T>(step: string, use: (running: RunningProduct) => Promise<T>) {
    const { plugin, base } = this.#options
    return this.#round(step, [...base, plugin], async (running) => {
      const used = await use(running)
      const count = await countRejectedRequests(running, plugin.id)
      if (count > 0) this.#checks.problem(undeclaredHostProblem('a host that @plinth/outgoing-http rejected', plugin))
      return used
    })
  }

  async #requireEmptyDatabase(): Promise<void> {
    const { base } = this.#options
    const table = await this.#inCommand('the database', base, async (running) => (await tablesIn(running))[0])
    this.#ownsDatabase = table === undefined
    if (table === undefined) return
    this.#checks.problem(verifyError('PLINTH_VERIFY_DATABASE_NOT_EMPTY', { table }))
    throw new TrialAborted()
  }

  /**
   * Drops all tables that the trial created, even if it ended early. Does nothing if the database contained tables
   * before.
   */
  async emptyDatabase(): Promise<void> {
    if (this.#ownsDatabase) await this.#inCommand('the database', this.#options.base, dropAllTables)
  }

  /** Starts a product in the role `cli`, in which no migration and no background work runs. */
  async #inCommand<T>(step: string, plugins: readonly Plugin[], use: (running: RunningProduct) => Promise<T>) {
    return (await this.#round(step, plugins, use, ['cli'])).result
  }

  /**
   * Compares the faster of the starts with the start of the product without the plugin. Returns the milliseconds that the
   * plugin adds.
   */
  #checkTimes(without: StartTimes, starts: readonly StartTimes[]): number {
    const addedBy = (member: keyof StartTimes) =>
      Math.max(0, Math.min(...starts.map((times) => times[member])) - without[member])
    const [ms, lagMs] = [addedBy('durationMs'), addedBy('lagMs')]
    if (lagMs > maxBlockedMs)
      this.#checks.problem(verifyError('PLINTH_VERIFY_LOOP_BLOCKED', { work: 'The start', ms: lagMs }))
    if (ms <= limits.setupMs) return ms
    this.#checks.problem(verifyError('PLINTH_VERIFY_SLOW_SETUP', { ms, phase: 'setup', limit: limits.setupMs }))
    throw new TrialAborted()
  }

  async #remove(): Promise<void> {
    const { plugin, base } = this.#options
    await this.#inCommand('remove', [...base, plugin], (running) => removeData(running, plugin))
  }

  async #installAgain<T>(use: (running: RunningProduct) => Promise<T>): Promise<T> {
    const { plugin, base } = this.#options
    const plugins = [...base, plugin]
    try {
      const running = await startProduct(this.#product(plugins), {
        ...this.#startOptions(plugins, ['web', 'worker']),
        logger: this.#logger,
      })
      await running.stop('verified')
    } catch (error) {
      const [problem] = problemsOf(error)
      this.#checks.problem(
        verifyError('PLINTH_VERIFY_MIGRATION_REPEAT', { reason: `${problem?.code}: ${problem?.message}` }),
      )
      throw new TrialAborted()
    }
    return (await this.#withPlugin('install again', use)).result
  }

  /** Runs one phase of an upgrade test and returns a summary. @throws TrialAborted */
  async runUpgrade({ phase, version, state }: NonNullable<VerifyJob['upgrade']>): Promise<string> {
    const { plugin, base } = this.#options
    this.#ownsDatabase = phase !== 'before'
    if (phase === 'before') {
      await this.#requireEmptyDatabase()
      await this.#withPlugin(`start of version ${version}`, async () => {})
      const tables = await this.#inCommand('rows of the previous version', [...base, plugin], async (running) =>
        seedRows(running, await this.#checks.ownTables(running)),
      )
      const { result: failed } = await this.#withPlugin(`routes of version ${version}`, (running) =>
        this.#checks.failing(running),
      )
      writeFileSync(state, JSON.stringify({ tables, failed } satisfies UpgradeState))
      return `${tables.reduce((sum, { rows }) => sum + rows, 0)} row(s) in ${tables.length} table(s)`
    }
    const before: UpgradeState = JSON.parse(readFileSync(state, 'utf8'))
    const isUpgrade = phase === 'upgrade'
    const code = isUpgrade ? 'PLINTH_VERIFY_UPGRADE_FAILED' : 'PLINTH_VERIFY_DOWNGRADE'
    const failed = await this.#startOn(code, version, async (running) => {
      if (isUpgrade) await this.#checks.checkUpgraded(running, version, before.tables)
      return this.#checks.failing(running)
    })
    // A route that already failed in the previous version is not reported, because the invented rows may be invalid.
    for (const route of failed.filter((one) => !before.failed.includes(one)))
      this.#checks.problem(verifyError('PLINTH_VERIFY_ROUTE_FAILED', { route }))
    if (!isUpgrade) await this.emptyDatabase()
    return `${before.tables.length} table(s) with rows of version ${version}`
  }

  /** Starts the product on a database of another version. @throws TrialAborted */
  async #startOn<T>(
    code: 'PLINTH_VERIFY_UPGRADE_FAILED' | 'PLINTH_VERIFY_DOWNGRADE',
    version: string,
    use: (running: RunningProduct) => Promise<T>,
  ): Promise<T> {
    const plugins = [...this.#options.base, this.#options.plugin]
    const options = { ...this.#startOptions(plugins, ['web', 'worker']), logger: this.#logger }
    let running: RunningProduct
    try {
      running = await startProduct(this.#product(plugins), options)
    } catch (error) {
      const reason = problemsOf(error)
        .map(({ code, message }) => `${code}: ${message}`)
        .join(' ')
      this.#checks.problem(verifyError(code, { version, reason }))
      throw new TrialAborted()
    }
    try {
      return await use(running)
    } finally {
      await running.stop('verified')
    }
  }

  /** Returns the smallest memory growth of several starts in bytes, because caches grow only during the first start. */
  async #checkMemory(): Promise<number> {
    const used = [await measureUsedMemory()]
    for (let round = 0; round < 3; round++) {
      await this.#withPlugin('start and stop repeatedly', async () => {})
      used.push(await measureUsedMemory())
    }
    const growth = Math.min(...used.slice(1).map((bytes, index) => bytes - (used[index] ?? 0)))
    if (growth > limits.growthBytes) {
      this.#checks.problem(verifyError('PLINTH_VERIFY_MEMORY_GROWTH', { megabytes: Math.round(growth / 1e6) }))
    }
    return Math.max(0, growth)
  }
}
