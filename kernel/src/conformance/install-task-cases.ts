import type { BoundInstallTask } from '../kernel-service.ts'
import { type ConformanceCase, casesOver, expectEqual, expectNamed, expectThat, settle } from './conformance-case.ts'

type Awaitable<T> = T | Promise<T>

export interface InstallTaskHarness {
  /** From a running product: `product.service(kernel).installTasks.find(({ code }) => code === 'acme-uploads')`. */
  readonly task: BoundInstallTask
  /**
   * Everything that the task may leave behind, as plain data: files with contents, rows, settings. Without what differs
   * from run to run by its nature, such as times of writing.
   */
  snapshot(): Awaitable<unknown>
  stop?(): Awaitable<void>
}

export interface InstallTaskCaseOptions {
  /** Secrets that the task was given; none may show in a note. */
  readonly secrets?: readonly string[]
}

/** Thrown by `note` in place of the death of the process. */
class Killed extends Error {}

/**
 * The contract of `InstallTask` as cases. A crash is rehearsed at each `note()`, so a task notes each of its steps.
 *
 * @param create makes a world in which the task has not run; worlds share nothing
 */
export function installTaskCases(
  create: () => Awaitable<InstallTaskHarness>,
  options: InstallTaskCaseOptions = {},
): ConformanceCase[] {
  const never = new AbortController().signal

  /** Runs until the nth note, or to the end when there are fewer. Answers the notes. */
  const runUntil = async ({ task }: InstallTaskHarness, lastNote = Number.POSITIVE_INFINITY): Promise<string[]> => {
    const notes: string[] = []
    try {
      await task.run(never, (text) => {
        notes.push(text)
        if (notes.length === lastNote) throw new Killed()
      })
    } catch (error) {
      if (!(error instanceof Killed)) throw error
    }
    return notes
  }
  const inNewWorld = async <T>(work: (harness: InstallTaskHarness) => Promise<T>): Promise<T> => {
    const harness = await create()
    try {
      return await work(harness)
    } finally {
      await harness.stop?.()
    }
  }
  /** What one undisturbed run leaves behind, and how often it notes. */
  const undisturbed = () =>
    inNewWorld(async (harness) => {
      const notes = await runUntil(harness)
      return { notes: notes.length, state: await harness.snapshot() }
    })

  return casesOver<InstallTaskHarness>(create, {
    'describes itself': ({ task }) => {
      const kebab = /^[a-z0-9]+(-[a-z0-9]+)*$/
      expectThat('code is kebab-case', kebab.test(task.code), 'for example "acme-uploads"', task.code)
      expectNamed('displayName is not empty in any language', task.displayName)
      expectThat('order is a number', Number.isFinite(task.order), 'a number', task.order)
      expectEqual(
        'required and retryable are booleans',
        [typeof task.required, typeof task.retryable],
        ['boolean', 'boolean'],
      )
      const dependencies = task.dependencies ?? []
      const sound = dependencies.every((code) => kebab.test(code) && code !== task.code)
      expectThat('dependencies are codes of other tasks', sound, 'kebab-case codes', dependencies)
    },

    'is completed after a run and not before': async ({ task }) => {
      expectEqual('isCompleted is false where the task has not run', await task.isCompleted(never), false)
      await task.run(never)
      expectEqual('isCompleted is true after run', await task.isCompleted(never), true)
    },

    'isCompleted writes nothing': async (harness) => {
      const { task } = harness
      for (const moment of ['before', 'after']) {
        const before = await harness.snapshot()
        await task.isCompleted(never)
        expectEqual(`isCompleted writes nothing, ${moment} the run`, await harness.snapshot(), before)
        if (moment === 'before') await task.run(never)
      }
    },

    'a second run ends in the same state': async (harness) => {
      const { task } = harness
      await task.run(never)
      const first = await harness.snapshot()
      await task.run(never)
      expectEqual('run ends in the same state however often it was started', await harness.snapshot(), first)
      expectEqual('and the task stays completed', await task.isCompleted(never), true)
    },

    'survives being killed at each note': async () => {
      const { notes, state } = await undisturbed()
      expectThat(
        'A task notes each step, so that a crash can be rehearsed there',
        notes > 0,
        'at least one note',
        notes,
      )
      for (let killedAt = 1; killedAt <= notes; killedAt++) {
        await inNewWorld(async (harness) => {
          await runUntil(harness, killedAt)
          const moment = `killed at note ${killedAt} of ${notes}`
          if (await harness.task.isCompleted(never)) {
            const rule = `isCompleted is true only when nothing is left to do (${moment})`
            expectEqual(rule, await harness.snapshot(), state)
          }
          const answer = await settle(() => harness.task.run(never))
          expectThat(`run can be started again (${moment})`, 'value' in answer, 'no exception', answer)
          expectEqual(`run again ends in the state of an undisturbed run (${moment})`, await harness.snapshot(), state)
          expectEqual(`the task is completed then (${moment})`, await harness.task.isCompleted(never), true)
        })
      }
    },

    'an aborted run does not pretend to be done': async (harness) => {
      const { task } = harness
      const { state } = await undisturbed()
      const answer = await settle(() => task.run(AbortSignal.abort(new Error('The product stops'))))
      expectThat('run settles when its signal aborts', !('hanging' in answer), 'an answer', answer)
      if ('value' in answer) {
        expectEqual('run with an aborted signal throws, unless it did everything', await harness.snapshot(), state)
      }
      await task.run(never)
      expectEqual('after an aborted run, run ends in the usual state', await harness.snapshot(), state)
    },

    'notes hold no secrets': async (harness) => {
      const notes = (await runUntil(harness)).join('\n')
      for (const secret of options.secrets ?? []) {
        const told = `a secret of ${secret.length} characters`
        expectThat('Notes hold no secrets', !notes.includes(secret), 'no secret', told)
      }
    },
  })
}
