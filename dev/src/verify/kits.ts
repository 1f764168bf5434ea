import { type Plugin, type QuickstartCleanup, service } from '@plinth/kernel'
import type { BoundScheduledTask, RunningProduct } from '@plinth/kernel/host'
import { unwrapOptional } from '@plinth/kernel/host'
import type { PageServer } from '../conformance/admin.ts'
import type { ConformanceCase } from '../conformance/conformance-case.ts'
import { quickstartCleanupCases } from '../conformance/quickstart-cleanup-cases.ts'
import { scheduledTaskCases } from '../conformance/scheduled-task-cases.ts'
import { signIn, testUserName } from './route-calls.ts'

/** A running product with the plugin, for the kits that need no harness from the author of the plugin. */
interface KitContext {
  readonly running: RunningProduct
  readonly plugin: Plugin
  /** Scheduled tasks of the plugin that succeeded in this product. */
  readonly tasks: readonly BoundScheduledTask[]
  /** Returns the rows of the plugin's tables. */
  readonly snapshot: () => Promise<unknown>
  readonly secrets: readonly string[]
  readonly size: 'empty' | 'filled'
}

/** The cases of one contribution or task. */
interface KitRun {
  /** Description of the tested object for messages, for example `The disk "acme-cloud"`. */
  readonly what: string
  readonly kit: string
  readonly cases: readonly ConformanceCase[]
}

interface Disk {
  verify(signal: AbortSignal): Promise<void>
}
interface Database {
  transactional<T>(work: () => Promise<T>): Promise<T>
}
const database = service<Database>('database')
const http = service<PageServer>('http')

/** Maximum wait for a disk that may be on a server, in milliseconds. */
const diskMs = 5000

type Contribution = readonly [name: string, implementation: never]

/** Functions that create the cases for the contributions of the plugin, by the id of the extension point. */
const kits: Readonly<Record<string, (world: KitContext, own: readonly Contribution[]) => Promise<readonly KitRun[]>>> =
  {
    'kernel.quickstart-cleanup': async ({ running, snapshot }, own) => {
      const transactional: Database['transactional'] = (work) => running.service(database).transactional(work)
      const runs = own.map(async ([name, cleanup]: readonly [string, QuickstartCleanup]) => {
        const { targets } = await cleanup.preview(AbortSignal.timeout(diskMs))
        const hasData = targets.some(({ count }) => count > 0)
        const cases = quickstartCleanupCases(() => ({ cleanup, transactional, snapshot }))
        // The removal of demo data can be checked only once, because nothing restores the data afterwards.
        const usable = cases.filter(({ name }) => hasData || !name.startsWith('execute removes'))
        return { what: `The cleanup "${name}"`, kit: 'quickstartCleanupCases', cases: usable }
      })
      return Promise.all(runs)
    },
    'storage.disk': async (_world, own) => {
      const { storageDiskCases } = await import('../conformance/storage.ts')
      const isUsable = async ([, disk]: readonly [string, Disk]) =>
        disk.verify(AbortSignal.timeout(diskMs)).then(
          () => true,
          () => false,
        )
      const usable = await Promise.all(own.map(async (one) => ((await isUsable(one)) ? [one] : [])))
      return usable.flat().map(([name, disk]) => {
        return { what: `The disk "${name}"`, kit: 'storageDiskCases', cases: storageDiskCases(() => ({ disk }), {}) }
      })
    },
    'iam.login-guard': async (_world, own) => {
      const { loginGuardCases } = await import('../conformance/iam.ts')
      return own.map(([name, guard]) => {
        const cases = loginGuardCases(() => ({ guard }), { limit: 'none' })
        return { what: `The login guard "${name}"`, kit: 'loginGuardCases', cases }
      })
    },
    'console.page': async ({ running, size }, own) => {
      if (size === 'empty') return []
      const { adminPageCases } = await import('../conformance/admin.ts')
      const headersOf = async (username?: string) => ({ authorization: `Bearer ${await signIn(running, username)}` })
      const [administrator, stranger] = [await headersOf(), await headersOf(testUserName(1))]
      const harness = { pages: new Map(own), server: running.service(http), administrator, stranger }
      const cases = adminPageCases(() => harness, { hasRows: false })
      return [{ what: 'A page of the back office', kit: 'adminPageCases', cases }]
    },
  }

/** Returns the kits that need no harness of the author, for everything that the plugin contributes and declares. */
export async function createKitRuns(world: KitContext): Promise<readonly KitRun[]> {
  const { running, plugin, tasks, snapshot, secrets } = world
  const runs: KitRun[] = tasks.map((task) => ({
    what: `The scheduled task "${task.name}"`,
    kit: 'scheduledTaskCases',
    cases: scheduledTaskCases(() => ({ task, snapshot }), { dependency: 'none', secrets }),
  }))
  for (const point of (plugin.contributes ?? []).map((need) => unwrapOptional(need))) {
    const own = [...running.contributions(point)].filter(([name]) => running.contributor(point, name) === plugin.id)
    const kit = kits[point.id]
    if (kit !== undefined && own.length > 0) runs.push(...(await kit(world, own as unknown as readonly Contribution[])))
  }
  return runs
}
