import type { CleanupPreview, QuickstartCleanup } from '@plinth/kernel'
import {
  type CaseBodies,
  type ConformanceCase,
  type ConformanceLimits,
  createCallTimeouts,
  createCases,
  expectBothLanguages,
  expectEqual,
  expectThat,
  waitForLateEffects,
} from './conformance-case.ts'

type Awaitable<T> = T | Promise<T>

export interface QuickstartCleanupHarness {
  /** The cleanup to test, from a product whose database contains demo data. */
  readonly cleanup: QuickstartCleanup
  /** Runs work in a transaction of the product's database, for example `database.transactional`. */
  transactional<T>(work: () => Promise<T>): Promise<T>
  /** Returns all rows that the cleanup may touch, as plain data. */
  snapshot(): Awaitable<unknown>
  /** Returns the rows that are not demo data and must stay, as plain data. */
  kept?(): Awaitable<unknown>
  stop?(): Awaitable<void>
}

/** Thrown to end a transaction of a test case, so that the transaction is rolled back. */
class RolledBack extends Error {}

const kebab = /^[a-z0-9]+(-[a-z0-9]+)*$/
/** Returns the counts of the targets that still exist, by type. */
const countsOf = ({ targets }: CleanupPreview) =>
  Object.fromEntries(targets.filter(({ count }) => count > 0).map(({ type, count }) => [type, count]))

/**
 * Returns test cases for the contract of `QuickstartCleanup`.
 *
 * @param create returns a harness with demo data and without blockers; harnesses must not share data
 */
export function quickstartCleanupCases<Harness extends QuickstartCleanupHarness>(
  create: () => Awaitable<Harness>,
  limits: ConformanceLimits = {},
): ConformanceCase[] {
  const { answer } = createCallTimeouts(limits)
  const never = new AbortController().signal
  const snapshotOf = async (harness: Harness) =>
    structuredClone(await answer('snapshot() of the harness', () => harness.snapshot()))
  const keptOf = async (harness: Harness) => structuredClone(await harness.kept?.())
  const preview = ({ cleanup }: Harness) => answer('preview', () => cleanup.preview(never))
  const execute = (harness: Harness) =>
    harness.transactional(() => answer('execute', () => harness.cleanup.execute(never)))
  /** Returns the counts of the demo data. Throws if there is none, because the case would then prove nothing. */
  const demoData = async (harness: Harness) => {
    const found = await preview(harness)
    const blockers = found.blockers.filter(({ count }) => count > 0)
    expectEqual('The harness has no blockers', blockers, [])
    expectThat('The harness has demo data', Object.keys(countsOf(found)).length > 0, 'a target', found.targets)
    return countsOf(found)
  }

  const cases: CaseBodies<Harness> = {
    'describes itself': [
      'See QuickstartCleanup: kebab-case types and codes, texts in English and Chinese, counts of rows.',
      async (harness) => {
        const { displayName, dataType } = harness.cleanup
        expectBothLanguages('displayName is not empty in any language', displayName)
        expectThat('dataType is kebab-case', kebab.test(dataType), 'for example "demo-boards"', dataType)
        const { targets, blockers } = await preview(harness)
        for (const { type, displayName, count } of targets) {
          expectThat('The type of a target is kebab-case', kebab.test(type), 'for example "boards"', type)
          expectBothLanguages('A target has a name in each language', displayName)
          expectThat('A count is a whole number', Number.isSafeInteger(count) && count >= 0, '0 or more', count)
        }
        for (const { code, message, count } of blockers) {
          expectThat('The code of a blocker is kebab-case', kebab.test(code), 'for example "real-posts"', code)
          expectBothLanguages('A blocker has a message in each language', message)
          expectThat('A count is a whole number', Number.isSafeInteger(count) && count >= 0, '0 or more', count)
        }
        const types = targets.map(({ type }) => type)
        expectEqual('Each type is listed once', types, [...new Set(types)])
      },
    ],

    'a preview only reads': [
      'Move everything that preview writes to execute.',
      async (harness) => {
        const before = await snapshotOf(harness)
        const first = await preview(harness)
        await waitForLateEffects()
        expectEqual('preview changes nothing', await snapshotOf(harness), before)
        expectEqual('A second preview returns the same', await preview(harness), first)
      },
    ],

    'execute removes exactly what the preview lists': [
      'Delete the rows that preview counts, with the same condition, and return their numbers by type.',
      async (harness) => {
        const listed = await demoData(harness)
        const kept = await keptOf(harness)
        const removed = await execute(harness)
        const counted = Object.entries(removed).filter(([, count]) => count !== 0)
        expectEqual(
          'execute returns the removed rows per type',
          Object.fromEntries(counted.sort()),
          Object.fromEntries(Object.entries(listed).sort()),
        )
        expectEqual('The preview finds nothing afterwards', countsOf(await preview(harness)), {})
        expectEqual('Other rows stay', await keptOf(harness), kept)
      },
    ],

    'execute ends with its work': [
      'Await every promise before execute returns. Its transaction ends then.',
      async (harness) => {
        await execute(harness)
        const after = await snapshotOf(harness)
        await waitForLateEffects()
        expectEqual('Nothing changes after execute has ended', await snapshotOf(harness), after)
      },
    ],

    'a rollback restores everything': [
      'Use only the database of the product, in the current transaction: no other connection, no file, no request.',
      async (harness) => {
        const before = await snapshotOf(harness)
        const work = async () => {
          await answer('execute', () => harness.cleanup.execute(never))
          throw new RolledBack('rolled back by the conformance kit')
        }
        await harness.transactional(work).catch((error: unknown) => {
          if (!(error instanceof RolledBack)) throw error
        })
        await waitForLateEffects()
        expectEqual('After a rollback everything is as before', await snapshotOf(harness), before)
      },
    ],

    'a second removal finds nothing': [
      'Return 0, or leave the type out, where no row was removed.',
      async (harness) => {
        await execute(harness)
        const state = await snapshotOf(harness)
        const removed = Object.values(await execute(harness)).filter((count) => count !== 0)
        expectEqual('A second execute removes nothing', removed, [])
        expectEqual('and changes nothing', await snapshotOf(harness), state)
      },
    ],
  }
  return createCases(create, cases, limits)
}
