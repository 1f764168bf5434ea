import { errorReason, type Plugin } from '@plinth/kernel'
import { type BoundScheduledTask, createManifest, pluginData, type RunningProduct } from '@plinth/kernel/host'
import { addedRows, type DatabaseSnapshot, snapshotOf } from './database-snapshot.ts'
import { verifyError } from './errors.ts'
import { createKitRuns } from './kits.ts'
import {
  addedListeners,
  changedSharedValues,
  maxBlockedMs,
  measureWork,
  type OpenResourceRecorder,
  snapshotSharedValues,
} from './process-watch.ts'
import { callRoutes, routesOf, signIn } from './route-calls.ts'
import { findIgnoredScopes } from './scope-calls.ts'
import type { SecretWatch } from './secret-watch.ts'
import { countRows, type SeededTable, unknownChangeSets } from './seeded-rows.ts'
import { type Report, type VerifyJob, withLevel } from './verify-report.ts'

/** Time limit of a scheduled task in milliseconds. */
const taskMs = 10_000

export interface TrialOptions {
  readonly job: VerifyJob
  readonly plugin: Plugin
  /** The other plugins of the product. */
  readonly base: readonly Plugin[]
  readonly secrets: SecretWatch
  readonly opened: OpenResourceRecorder
  readonly report: Report
  readonly set: Readonly<Record<string, string>>
}

/** Checks what the plugin does in a running product, and what it leaves in the process and in the database. */
export class TrialChecks {
  readonly #options: TrialOptions

  constructor(options: TrialOptions) {
    this.#options = options
  }

  /** Reports a problem of the plugin. */
  problem(problem: Parameters<typeof withLevel>[0]): void {
    this.#options.report({ kind: 'problem', problem: withLevel(problem) })
  }

  /** Compares the tables with those that the plugin declares, and searches them for secrets. */
  async checkTables(running: RunningProduct, before: DatabaseSnapshot): Promise<void> {
    const { plugin, report } = this.#options
    const manifest = createManifest(running.plugins, running).plugins[plugin.id]
    if (manifest !== undefined) report({ kind: 'manifest', entries: manifest.entries })
    const tables = await this.ownTables(running)
    const after = await snapshotOf(running)
    for (const table of after.keys()) {
      if (!before.has(table) && !tables.has(table))
        this.problem(verifyError('PLINTH_VERIFY_TABLE_UNDECLARED', { table }))
    }
    this.searchTables(after)
  }

  searchTables(snapshot: DatabaseSnapshot): void {
    for (const [table, rows] of snapshot) {
      for (const key of this.#options.secrets.in([...rows].join('\n'))) {
        this.problem(verifyError('PLINTH_VERIFY_SECRET_STORED', { table, key }))
      }
    }
  }

  async checkProcess({
    values,
    listeners,
  }: {
    values: ReturnType<typeof snapshotSharedValues>
    listeners: ReadonlyMap<string, number>
  }) {
    for (const name of changedSharedValues(values, snapshotSharedValues())) {
      this.problem(verifyError('PLINTH_VERIFY_GLOBAL_CHANGED', { name }))
    }
    for (const event of addedListeners(listeners)) this.problem(verifyError('PLINTH_VERIFY_LISTENER_LEFT', { event }))
    for (const opened of await this.#options.opened.stillOpen())
      this.problem(verifyError('PLINTH_VERIFY_LEFT_OPEN', opened))
  }

  /**
   * Reports rows and tables that appeared while the plugin was installed and still exist after its removal. Tables in
   * `changing` are ignored, because the removal itself changes them, for example audits.
   */
  checkLeft(
    before: DatabaseSnapshot,
    during: DatabaseSnapshot,
    after: DatabaseSnapshot,
    changing: ReadonlySet<string>,
  ): void {
    for (const table of after.keys()) {
      const rows = addedRows(before, during, table).filter((row) => after.get(table)?.has(row)).length
      if (!before.has(table)) this.problem(verifyError('PLINTH_VERIFY_DATA_LEFT', { table, rows: 'the table itself' }))
      else if (rows > 0 && !changing.has(table)) {
        this.problem(verifyError('PLINTH_VERIFY_DATA_LEFT', { table, rows: `${rows} row(s)` }))
      }
    }
  }

  /** Calls all routes of the plugin. Returns how many routes responded with each code, such as `2 (200), 1 (404)`. */
  async callRoutes(running: RunningProduct): Promise<string> {
    const { plugin, secrets, job } = this.#options
    const token = job.size === 'filled' ? await signIn(running) : undefined
    const calls = await callRoutes(running, routesOf(running, plugin.id), { token })
    for (const { route, lagMs, status, text } of calls) {
      if (lagMs > maxBlockedMs) this.problem(verifyError('PLINTH_VERIFY_LOOP_BLOCKED', { work: route, ms: lagMs }))
      if (status >= 500) this.problem(verifyError('PLINTH_VERIFY_ROUTE_FAILED', { route }))
      for (const key of secrets.in(text)) this.problem(verifyError('PLINTH_VERIFY_SECRET_SENT', { route, key }))
    }
    const byStatus = [...Map.groupBy(calls, ({ status }) => status)].sort(([one], [other]) => one - other)
    return byStatus.map(([status, { length }]) => `${length} (${status})`).join(', ') || '0'
  }

  /** Reports routes with the scope `caller` that show or change the rows of other users. */
  async checkScopes(running: RunningProduct): Promise<void> {
    const { plugin } = this.#options
    for (const route of await findIgnoredScopes(running, plugin.id, await this.ownTables(running)))
      this.problem(verifyError('PLINTH_VERIFY_SCOPE_IGNORED', { route }))
  }

  /**
   * Reports the error of a request that the product has logged, if it has a code. Such errors exist only in development,
   * for example for a handler that ignores the declared scope.
   */
  readLogLine(line: string): void {
    if (!line.includes('"PLINTH_')) return
    const { err, msg }: { readonly err?: { readonly code?: string; readonly message: string }; readonly msg?: string } =
      JSON.parse(line)
    if (msg !== 'request failed' || !err?.code?.startsWith('PLINTH_')) return
    const fix = 'Correct the handler of the route. docs/errors.md explains the code.'
    this.problem({ code: err.code, message: err.message, fix })
  }

  /** Runs each scheduled task of the plugin. Returns the number of tasks, and the tasks that succeeded. */
  async runTasks(running: RunningProduct) {
    const tasks = running.scheduledTasks.filter(({ plugin }) => plugin === this.#options.plugin.id)
    const succeeded: BoundScheduledTask[] = []
    for (const one of tasks) {
      const { name: task, run } = one
      const work = () => run(AbortSignal.timeout(taskMs))
      const { result, lagMs } = await measureWork(() =>
        work().catch((error: unknown) => ({ reason: errorReason(error) })),
      )
      if (result === undefined) succeeded.push(one)
      else this.problem(verifyError('PLINTH_VERIFY_TASK_FAILED', { task, reason: result.reason }))
      if (lagMs > maxBlockedMs) {
        this.problem(verifyError('PLINTH_VERIFY_LOOP_BLOCKED', { work: `The scheduled task "${task}"`, ms: lagMs }))
      }
    }
    return { all: tasks.length, succeeded }
  }

  /** Runs the conformance kits that need no harness from the author of the plugin. Returns the number of cases. */
  async runKits(running: RunningProduct, { succeeded }: { readonly succeeded: readonly BoundScheduledTask[] }) {
    const { plugin, job, secrets } = this.#options
    const own = await this.ownTables(running)
    const snapshot = async () =>
      [...(await snapshotOf(running))]
        .filter(([table]) => own.has(table))
        .map(([table, rows]) => [table, [...rows].sort()])
    const world = { running, plugin, tasks: succeeded, snapshot, secrets: secrets.values, size: job.size }
    let count = 0
    for (const { what, kit, cases } of await createKitRuns(world)) {
      for (const { name, run } of cases) {
        count++
        const error: unknown = await run().catch((error: unknown) => error)
        const reason = `${name}: ${errorReason(error)}`
        if (error !== undefined) this.problem(verifyError('PLINTH_VERIFY_CONTRACT', { what, kit, reason }))
      }
    }
    return count
  }

  async ownTables(running: RunningProduct): Promise<ReadonlySet<string>> {
    const parts = [...running.contributions(pluginData).values()]
    const data = (await Promise.all(parts.map((part) => part.find(this.#options.plugin)))).flat()
    return new Set(data.filter(({ kind }) => kind === 'table').map(({ name }) => name))
  }

  /** Returns the GET routes of the plugin that fail. */
  async failing(running: RunningProduct): Promise<readonly string[]> {
    const reads = routesOf(running, this.#options.plugin.id).filter(({ method }) => method === 'GET')
    const calls = await callRoutes(running, reads)
    return calls.filter(({ status }) => status >= 500).map(({ route }) => route)
  }

  /** Reports rows of the previous version that are gone, and its change sets that the new version lacks. */
  async checkUpgraded(running: RunningProduct, version: string, seeded: readonly SeededTable[]): Promise<void> {
    const counts = await countRows(running, seeded)
    for (const [index, { table, rows }] of seeded.entries()) {
      const lost = rows - (counts[index] ?? 0)
      if (lost > 0)
        this.problem(verifyError('PLINTH_VERIFY_UPGRADE_LOST', { version, table, rows: `${lost} of ${rows} row(s)` }))
    }
    for (const id of await unknownChangeSets(running, this.#options.plugin.id))
      this.problem(verifyError('PLINTH_VERIFY_CHANGE_SET_GONE', { version, id }))
  }
}
