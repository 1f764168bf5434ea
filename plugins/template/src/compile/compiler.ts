import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type BusinessError, type Clock, errorCodeOf, withinDeadline } from '@plinth/kernel'
import { businessError } from '../declarations.ts'
import type { Compilation } from './compile.ts'
import type { CompiledTemplate } from './program.ts'
import type { SourceProblem, TemplateSource } from './source.ts'

/** Maximum number of running and waiting compilations. */
const maxQueueLength = 8
/**
 * Maximum number of waiting calls for a preview. It is smaller than `maxQueueLength`, so that templates can still be
 * saved while previews wait.
 */
const maxPreviewQueueLength = 4
/** An idle thread ends after this time. */
const idleMs = 30_000

/** File of the compiler thread. In the built package it is also next to this file. */
const workerFile = new URL(import.meta.url.replace(/compiler(\.[jt]s)$/, 'compile-worker$1'))

const workerOptions = {
  env: {},
  execArgv: ['--disable-warning=ExperimentalWarning'],
  resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
}

/**
 * Compiles one template after another in a thread, which ends when a compilation takes too long or when it is idle.
 * Only the thread loads the parsers and MJML.
 */
export class Compiler {
  readonly #clock: Clock
  readonly #deadlineMs: () => number
  #waiting = 0
  #queueEnd: Promise<unknown> = Promise.resolve()
  #worker: Worker | undefined
  #idle = new AbortController()

  constructor(clock: Clock, deadlineMs: () => number) {
    this.#clock = clock
    this.#deadlineMs = deadlineMs
  }

  /**
   * Compiles a template.
   *
   * @throws BusinessError "400" `template.source-refused` with `data.fault`, `template.compile-timeout`; "503"
   * `template.compiler-busy`
   */
  compile(source: TemplateSource): Promise<CompiledTemplate> {
    return this.#queued(source, maxQueueLength)
  }

  /** Like `compile`, but fails earlier if calls are waiting, so that templates can still be saved. */
  preview(source: TemplateSource): Promise<CompiledTemplate> {
    return this.#queued(source, maxPreviewQueueLength)
  }

  #queued(source: TemplateSource, maxLength: number): Promise<CompiledTemplate> {
    if (this.#waiting >= maxLength) throw businessError('compiler-busy')
    this.#waiting += 1
    const work = this.#queueEnd.then(() => this.#run(source))
    this.#queueEnd = work.catch(() => {})
    return work.finally(() => {
      this.#waiting -= 1
    })
  }

  /** Ends the thread. A running compilation fails. */
  async stop(): Promise<void> {
    this.#idle.abort()
    await this.#end()
  }

  async #run(source: TemplateSource): Promise<CompiledTemplate> {
    this.#idle.abort()
    const worker = this.#worker ?? this.#start()
    const deadlineMs = this.#deadlineMs()
    try {
      const late = () => businessError('compile-timeout', { params: { seconds: deadlineMs / 1000 } })
      const compilation = await withinDeadline(
        this.#clock,
        deadlineMs,
        (signal) => responseOf(worker, source, signal),
        late,
      )
      this.#endWhenIdle()
      if (compilation.fault === undefined) return compilation.compiled
      throw rejected(compilation.fault)
    } catch (error) {
      // Ends the thread, because its late result must not be taken for the result of the next compilation.
      if (!isSourceRejected(error)) await this.#end()
      throw isOutOfMemory(error) ? businessError('compile-timeout', { text: 'compile-memory' }) : error
    }
  }

  #start(): Worker {
    const worker = new Worker(workerFile, workerOptions)
    worker.unref()
    this.#worker = worker
    return worker
  }

  #endWhenIdle(): void {
    const idle = new AbortController()
    this.#idle = idle
    this.#clock.sleep(idleMs, idle.signal).then(() => (idle.signal.aborted ? undefined : this.#end()))
  }

  async #end(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }
}

/** Sends a source to the thread and returns its result. @throws if the thread ends first */
async function responseOf(worker: Worker, source: TemplateSource, signal: AbortSignal): Promise<Compilation> {
  const ended = new AbortController()
  const received = { signal: AbortSignal.any([signal, ended.signal]) }
  try {
    const answered = once(worker, 'message', received)
    const exited = once(worker, 'exit', received).then(() => {
      throw new Error('The compiler ended without a result')
    })
    worker.postMessage(source)
    const [compilation] = await Promise.race([answered, exited])
    return compilation
  } finally {
    ended.abort()
  }
}

const isOutOfMemory = (error: unknown) => errorCodeOf(error) === 'ERR_WORKER_OUT_OF_MEMORY'
const isSourceRejected = (error: unknown) => Object(error).reason === 'template.source-refused'

function rejected(fault: SourceProblem): BusinessError {
  const { field, rule, line, column, near } = fault
  const place = line === undefined ? field : `${field}:${line}:${column}`
  return businessError('source-refused', { text: `rules.${rule}`, params: { place, near }, data: { field, fault } })
}
