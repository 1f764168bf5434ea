/** Runs random streams of items on two processes that are killed again and again, and compares the digests with a model. */
import { fork } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { until, type WatchedProcess, watchProcess } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import { type Command, type Config, startInstance } from './instance.ts'
import { runStream, type Worker } from './streams.ts'

const program = new URL('instance-process.ts', import.meta.url)
const startMs = Date.UTC(2027, 2, 1, 9)
const [steps, kills] = [240, 20]
const held: { readonly database: string; readonly kills: number; readonly items: number; readonly digests: number }[] =
  []
t.teardown(() => console.table(held))

/** A process that executes commands. It is started again after it was killed. */
class Instance implements Worker {
  readonly #t: Test
  readonly #config: Config
  #process: WatchedProcess | undefined
  /** The process that replaces this one after it was killed. */
  #next: Promise<WatchedProcess> | undefined
  #lastId = 0

  constructor(t: Test, config: Config) {
    this.#t = t
    this.#config = config
  }

  async start(): Promise<this> {
    if (this.#process !== undefined) return this
    this.#process = await (this.#next ?? this.#launch())
    this.#next = this.#launch()
    // At the end of the test, it is killed while it starts.
    this.#next.catch(() => {})
    return this
  }

  async #launch(): Promise<WatchedProcess> {
    const words = [JSON.stringify({ config: this.#config, startMs })]
    const options = { silent: true, execArgv: ['--disable-warning=ExperimentalWarning'] }
    const started = watchProcess(this.#t, fork(program, words, options))
    await started.until(() => started.messages.includes('started'), 'the process started')
    return started
  }

  async run(command: Command): Promise<boolean> {
    const running = this.#process
    if (running === undefined) return false
    const id = ++this.#lastId
    running.child.send({ id, command }, () => {})
    type Answer = { readonly done?: number; readonly failed?: number; readonly reason?: string }
    const answerOf = () => running.messages.find((one) => [Object(one).done, Object(one).failed].includes(id)) as Answer
    const isOver = () =>
      answerOf() !== undefined || running.child.exitCode !== null || running.child.signalCode !== null
    await until(isOver, 'the command ends', 2, 60_000)
    if (answerOf()?.failed !== undefined) throw new Error(answerOf().reason)
    return answerOf() !== undefined
  }

  async kill(): Promise<void> {
    const victim = this.#process
    this.#process = undefined
    await victim?.end('SIGKILL')
  }
}

onEachDatabase(t, 'processes that are killed lose no item and send no digest twice', async (t, at) => {
  const parent = await startInstance(at.config, startMs)
  t.teardown(() => parent.stop())
  const instances = [new Instance(t, at.config), new Instance(t, at.config)] as const
  let killed = 0
  const stream = {
    db: parent.db,
    preferences: parent.preferences,
    workers: async () => [await instances[0].start(), await instances[1].start()] as const,
    async disturb(step: number) {
      if (killed >= kills || step % Math.floor(steps / kills) !== 0) return
      await pause(step % 12)
      await (instances[killed++ % 2] as Instance).kill()
    },
  }
  const result = await runStream(t, { ...stream, steps, seed: 7 + at.dialect.length, startMs })
  t.equal(killed, kills)
  held.push({ database: at.dialect, kills: killed, ...result })
})
