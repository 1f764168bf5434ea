import { inspect } from 'node:util'
import type { BoundInstallTask } from '@plinth/kernel/host'
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

export interface InstallTaskHarness {
  /**
   * The task, taken from a running product: `product.service(kernel).installTasks.find(({ code }) => code ===
   * 'acme-uploads')`.
   */
  readonly task: BoundInstallTask
  /**
   * Returns the same task after a restart of the product: data and files are unchanged, but nothing is left in memory.
   */
  restarted(): Awaitable<BoundInstallTask>
  /**
   * Returns all data that the task creates, as plain data: files with contents, rows, settings. Omit data that differs
   * in each run, such as write times.
   */
  snapshot(): Awaitable<unknown>
  stop?(): Awaitable<void>
}

export interface InstallTaskCaseOptions<Harness extends InstallTaskHarness> extends ConformanceLimits {
  /** The server or file that the task needs. `none` only for a task that cannot fail. */
  readonly dependency:
    | {
        /** Breaks the dependency, so that the task fails. */
        fail(harness: Harness): Awaitable<void>
        /** Repairs the dependency. */
        recover(harness: Harness): Awaitable<void>
      }
    | 'none'
  /** Secrets that the task uses. They must not occur in notes and errors. */
  readonly secrets?: readonly string[]
}

/** Error that `note` throws to simulate that the process was killed. */
class Killed extends Error {
  override readonly message =
    'note() of the conformance kit simulates the death of the process: do not catch this error'
}

/**
 * Returns test cases for the contract of `InstallTask`. They interrupt the task at each call of `note()`, so a task
 * must call `note()` in each of its steps.
 *
 * @param create returns a harness in which the task has not run yet; harnesses must not share data
 */
export function installTaskCases<Harness extends InstallTaskHarness>(
  create: () => Awaitable<Harness>,
  options: InstallTaskCaseOptions<Harness>,
): ConformanceCase[] {
  const { secrets = [], dependency } = options
  if (dependency === undefined)
    throw new TypeError('Pass options.dependency: { fail, recover }, or "none" for a task that cannot fail.')
  const { settle, answer } = createCallTimeouts(options)
  const never = new AbortController().signal

  interface Attempt {
    readonly notes: readonly string[]
    readonly thrown: unknown
    readonly ended: boolean
  }
  /** Runs the task. Checks that its notes and errors contain no secrets. */
  const attempt = async (
    task: BoundInstallTask,
    signal: AbortSignal = never,
    atNote: (count: number) => void = () => {},
  ): Promise<Attempt> => {
    const notes: string[] = []
    const settled = await settle(() =>
      task.run(signal, (text) => {
        notes.push(text)
        atNote(notes.length)
      }),
    )
    expectThat('run settles', !('hanging' in settled), 'an end', 'none')
    const thrown = 'thrown' in settled ? settled.thrown : undefined
    expectNoSecret('a note', notes, secrets)
    expectNoSecret('an error', thrown, secrets)
    const sound = notes.every((text) => typeof text === 'string' && text.trim() !== '')
    expectThat('A note is a text that is not empty', sound, 'text', notes)
    return { notes, thrown, ended: 'value' in settled }
  }
  const runToEnd = async (task: BoundInstallTask, rule = 'run does its work and throws nothing') => {
    const { ended, thrown, notes } = await attempt(task)
    expectThat(rule, ended, 'no exception', thrown)
    return notes.length
  }
  const isCompleted = (task: BoundInstallTask) => answer('isCompleted', () => task.isCompleted(never))
  const snapshotOf = async (harness: Harness) =>
    structuredClone(await answer('snapshot() of the harness', () => harness.snapshot()))
  const inNewWorld = async <T>(work: (harness: Harness) => Promise<T>): Promise<T> => {
    const harness = await create()
    try {
      return await work(harness)
    } finally {
      await harness.stop?.()
    }
  }
  /** Returns the number of notes and the final data of a run without interruption. */
  const undisturbed = () =>
    inNewWorld(async (harness) => ({ notes: await runToEnd(harness.task), state: await snapshotOf(harness) }))

  const cases: CaseBodies<Harness> = {
    'describes itself': [
      'See InstallTask: a kebab-case code, displayName in English and Chinese, order, required, retryable, dependencies.',
      ({ task }) => {
        const kebab = /^[a-z0-9]+(-[a-z0-9]+)*$/
        expectThat('code is kebab-case', kebab.test(task.code), 'for example "acme-uploads"', task.code)
        expectBothLanguages('displayName is not empty in any language', task.displayName)
        expectThat('order is a number', Number.isFinite(task.order), 'a number', task.order)
        const flags = [typeof task.required, typeof task.retryable]
        expectEqual('required and retryable are booleans', flags, ['boolean', 'boolean'])
        const dependencies = task.dependencies ?? []
        const sound = dependencies.every((code) => kebab.test(code) && code !== task.code)
        const single = new Set(dependencies).size === dependencies.length
        expectThat('dependencies are codes of other tasks, each once', sound && single, 'kebab-case', dependencies)
      },
    ],

    'is completed after a run and not before': [
      'Let isCompleted look at what run leaves behind, not at memory: another process may ask.',
      async (harness) => {
        const before = await snapshotOf(harness)
        expectEqual('isCompleted is false where the task has not run', await isCompleted(harness.task), false)
        await runToEnd(harness.task)
        expectEqual('isCompleted is true after run', await isCompleted(harness.task), true)
        const changed = inspect(await snapshotOf(harness), { depth: null }) !== inspect(before, { depth: null })
        expectThat('A run leaves something behind that snapshot() shows', changed, 'a change', before)
        expectEqual('isCompleted is true in another process too', await isCompleted(await harness.restarted()), true)
      },
    ],

    'isCompleted writes nothing': [
      'Move what isCompleted writes or creates to run.',
      async (harness) => {
        for (const moment of ['before', 'after']) {
          const before = await snapshotOf(harness)
          await isCompleted(harness.task)
          await waitForLateEffects()
          expectEqual(`isCompleted writes nothing, ${moment} the run`, await snapshotOf(harness), before)
          if (moment === 'before') await runToEnd(harness.task)
        }
      },
    ],

    'run ends when its work has ended': [
      'Await every promise before run returns.',
      async (harness) => {
        await runToEnd(harness.task)
        const state = await snapshotOf(harness)
        await waitForLateEffects()
        expectEqual('Nothing changes after run has ended', await snapshotOf(harness), state)
      },
    ],

    'a second run ends in the same state': [
      'Write what shall be there, instead of adding to what is there.',
      async (harness) => {
        await runToEnd(harness.task)
        const first = await snapshotOf(harness)
        for (const task of [harness.task, await harness.restarted()]) {
          await runToEnd(task, 'run can be started again')
          expectEqual('run ends in the same state however often it was started', await snapshotOf(harness), first)
          expectEqual('and the task stays completed', await isCompleted(task), true)
        }
      },
    ],

    'survives being killed at each note': [
      'Note each step before it begins, let what note() throws through, write what proves completion last, and let run cope with what is half done.',
      async () => {
        const { notes, state } = await undisturbed()
        expectThat('A task notes each step, so that a crash can be rehearsed there', notes > 0, 'a note', notes)
        for (let killedAt = 1; killedAt <= notes; killedAt++) {
          await inNewWorld(async (harness) => {
            const moment = `killed at note ${killedAt} of ${notes}`
            const { ended } = await attempt(harness.task, never, (count) => {
              if (count >= killedAt) throw new Killed()
            })
            expectEqual(`What note() throws ends the run (${moment})`, ended, false)
            const task = await harness.restarted()
            if (await isCompleted(task)) {
              const rule = `isCompleted is true only when nothing is left to do (${moment})`
              expectEqual(rule, await snapshotOf(harness), state)
            }
            await runToEnd(task, `run can be started again (${moment})`)
            expectEqual(
              `run again ends in the state of an undisturbed run (${moment})`,
              await snapshotOf(harness),
              state,
            )
            expectEqual(`the task is completed then (${moment})`, await isCompleted(task), true)
          })
        }
      },
    ],

    'an aborted run does not pretend to be done': [
      'Begin run with signal.throwIfAborted().',
      async (harness) => {
        const { state } = await undisturbed()
        const before = await snapshotOf(harness)
        const { ended } = await attempt(harness.task, AbortSignal.abort(new Error('The product stops')))
        expectEqual('run with an aborted signal throws', ended, false)
        await waitForLateEffects()
        expectEqual('and has done nothing', await snapshotOf(harness), before)
        await runToEnd(harness.task)
        expectEqual('after an aborted run, run ends in the usual state', await snapshotOf(harness), state)
      },
    ],

    'an abort ends the run at the next step': [
      'Call signal.throwIfAborted() before each note(), and pass the signal to every call that waits.',
      async () => {
        const { notes, state } = await undisturbed()
        for (let abortedAt = 1; abortedAt <= notes; abortedAt++) {
          await inNewWorld(async (harness) => {
            const controller = new AbortController()
            const moment = `aborted at note ${abortedAt} of ${notes}`
            const { notes: noted, ended } = await attempt(harness.task, controller.signal, (count) => {
              if (count === abortedAt) controller.abort(new Error('The product stops'))
            })
            expectEqual(`No step begins after the abort (${moment})`, noted.length, abortedAt)
            const left = await snapshotOf(harness)
            if (ended) expectEqual(`A run that does not throw did everything (${moment})`, left, state)
            await waitForLateEffects()
            expectEqual(`Nothing changes after run has ended (${moment})`, await snapshotOf(harness), left)
            await runToEnd(harness.task, `run can be started again (${moment})`)
            expectEqual(`and ends in the usual state (${moment})`, await snapshotOf(harness), state)
          })
        }
      },
    ],
  }

  const failing: CaseBodies<Harness> = {
    'a failure is an exception': [
      'Throw what failed, without secrets and without its address; remember nothing of a failure.',
      async (harness) => {
        if (dependency === 'none') return
        const { state } = await undisturbed()
        await dependency.fail(harness)
        const { ended, thrown } = await attempt(harness.task)
        const rule = 'run throws an Error with a message when it could not do its work'
        expectThat(
          rule,
          !ended && thrown instanceof Error && thrown.message !== '',
          'an Error',
          thrown ?? 'no exception',
        )
        const completed = await settle(() => harness.task.isCompleted(never))
        expectNoSecret('an error', completed, secrets)
        const pretends = 'hanging' in completed || ('value' in completed && completed.value !== false)
        expectThat('isCompleted is false or throws after a failure', !pretends, 'false', completed)
        await dependency.recover(harness)
        await runToEnd(harness.task, 'run does its work when what failed works again')
        expectEqual('and ends in the usual state', await snapshotOf(harness), state)
      },
    ],
  }
  return createCases(create, { ...cases, ...(dependency === 'none' ? {} : failing) }, options)
}
