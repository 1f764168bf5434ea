import { errorReason } from '@plinth/kernel'
import type { BoundScheduledTask } from '@plinth/kernel/host'
import {
  type CaseBodies,
  type ConformanceCase,
  type ConformanceLimits,
  createCallTimeouts,
  createCases,
  expectBothLanguages,
  expectEqual,
  expectNoSecret,
  expectThat,
  waitForLateEffects,
} from './conformance-case.ts'

type Awaitable<T> = T | Promise<T>

export interface ScheduledTaskHarness {
  /** The task, taken from a running product: `product.scheduledTasks.find(({ name }) => name === 'acme.poll')`. */
  readonly task: BoundScheduledTask
  /** Returns everything that the task may change, as plain data: rows, files, sent requests. */
  snapshot(): Awaitable<unknown>
  stop?(): Awaitable<void>
}

export interface ScheduledTaskCaseOptions<Harness extends ScheduledTaskHarness> extends ConformanceLimits {
  /** Makes the task fail, for example because a service does not respond. `none` for a task that cannot fail. */
  readonly dependency: { fail(harness: Harness): Awaitable<void> } | 'none'
  /** Secrets of the task; none may be shown in an error. */
  readonly secrets?: readonly string[]
}

/**
 * Returns test cases for the contract of `ScheduledTask`.
 *
 * @param create returns a harness in which the task has work to do; harnesses must not share data
 */
export function scheduledTaskCases<Harness extends ScheduledTaskHarness>(
  create: () => Awaitable<Harness>,
  options: ScheduledTaskCaseOptions<Harness>,
): ConformanceCase[] {
  const { dependency, secrets = [] } = options
  const { settle, answer } = createCallTimeouts(options)
  const snapshotOf = async (harness: Harness) =>
    structuredClone(await answer('snapshot() of the harness', () => harness.snapshot()))
  const run = (harness: Harness, signal = new AbortController().signal) => answer('run', () => harness.task.run(signal))

  const cases: CaseBodies<Harness> = {
    'describes itself': [
      'See ScheduledTask: a dotted name that begins with the plugin, displayName in English and Chinese, a delay.',
      ({ task }) => {
        const isNamed = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)+$/.test(task.name)
        expectThat('The name is lower-case words with dots', isNamed, 'for example "acme.poll"', task.name)
        expectBothLanguages('displayName is not empty in any language', task.displayName)
        const delay = task.fixedDelayMs()
        expectThat(
          'The delay is a positive number of milliseconds',
          Number.isSafeInteger(delay) && delay > 0,
          '> 0',
          delay,
        )
        expectEqual('autoStartup is a boolean', typeof task.autoStartup(), 'boolean')
      },
    ],

    'a run ends with its work': [
      'Await every promise before run returns.',
      async (harness) => {
        await run(harness)
        const after = await snapshotOf(harness)
        await waitForLateEffects()
        expectEqual('Nothing changes after the run has ended', await snapshotOf(harness), after)
      },
    ],

    'runs again without new work': [
      'Find nothing to do where an earlier run has done everything. Another instance may run the task next.',
      async (harness) => {
        for (let round = 0; round < 3; round++) await run(harness)
      },
    ],

    'an aborted run does nothing': [
      'Begin run with signal.throwIfAborted(), or check signal.aborted before each part of the work.',
      async (harness) => {
        const before = await snapshotOf(harness)
        const settled = await settle(() => harness.task.run(AbortSignal.abort(new Error('The product stops'))))
        expectThat('A run with an aborted signal ends', !('hanging' in settled), 'an end', 'none')
        await waitForLateEffects()
        expectEqual('A run with an aborted signal changes nothing', await snapshotOf(harness), before)
        await run(harness)
      },
    ],

    'an abort ends a run': [
      'Pass the signal to every wait, and check it between two parts of the work.',
      async (harness) => {
        const stopping = new AbortController()
        const running = settle(() => harness.task.run(stopping.signal))
        // Waits one tick, so that the abort arrives while the task runs.
        await new Promise((resolve) => setImmediate(resolve))
        stopping.abort(new Error('The product stops'))
        expectThat('A run ends after an abort', !('hanging' in (await running)), 'an end', 'none')
        const after = await snapshotOf(harness)
        await waitForLateEffects()
        expectEqual('Nothing changes after the run has ended', await snapshotOf(harness), after)
      },
    ],
  }
  const failing: CaseBodies<Harness> = {
    'a failure is an exception without secrets': [
      'Throw what failed, so that the scheduler records it. Do not catch it, and do not show a secret.',
      async (harness) => {
        if (dependency === 'none') return
        await dependency.fail(harness)
        const settled = await settle(() => harness.task.run(new AbortController().signal))
        const thrown = 'thrown' in settled ? settled.thrown : undefined
        const isError = thrown instanceof Error && errorReason(thrown) !== ''
        expectThat('run throws an Error with a message if it cannot do its work', isError, 'an Error', thrown)
        expectNoSecret('an error', thrown, secrets)
      },
    ],
  }
  return createCases(create, { ...cases, ...(dependency === 'none' ? {} : failing) }, options)
}
