import { kernelError } from '../errors/kernel-errors.ts'
import { pluginOf } from '../errors/stack.ts'
import { errorLine } from '../logging/error-line.ts'
import { startingPlugin } from '../process/opened-resources.ts'
import type { RunningProduct } from '../running-product.ts'
import type { Output } from './output.ts'
import { endProcess, exitCodes } from './process-end.ts'

/** Crashes of one process that are reported: what fails while the product stops must not fill the log. */
const mostReported = 10

/** Frames that lead to the end of a process: more than Node.js keeps by default, because the last caller may be a library. */
const longStack = 50

/**
 * What happens to errors that nobody caught, thrown or rejected: one masked line in the log with the plugin, where the
 * stack says it, and the stack; then the product drains and stops under its deadlines, and the process ends with 1.
 */
export class CrashWatch {
  readonly #output: Output
  #running: RunningProduct | undefined
  #crashes = 0

  constructor(output: Output) {
    this.#output = output
  }

  get hasCrashed(): boolean {
    return this.#crashes > 0
  }

  /** The product that this process runs from now on. */
  readonly watch = (running: RunningProduct): void => {
    this.#running = running
  }

  /** For the event `uncaughtException` of the process, which unhandled rejections end in as well. Never throws. */
  readonly onCrash = (error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void => {
    this.#crashes += 1
    try {
      if (this.#crashes <= mostReported) this.#report(error, origin)
    } catch {
      endProcess(exitCodes.failed)
    }
    if (this.#crashes > 1) return
    const stopped = this.#running?.stop('the process crashed') ?? Promise.resolve()
    // A turn later, so that whoever waits for the same end has said what could not be released.
    void stopped.catch(() => undefined).finally(() => setImmediate(() => endProcess(exitCodes.failed)))
  }

  /**
   * For an end of the process that nobody asked for. The plugin comes from the stack, which leads to the call of
   * `process.exit()`. Synchronous, because the process ends after it.
   */
  readonly onUnexpectedEnd = (exitCode: number): void => {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = longStack
    const place = new Error(`exit code ${exitCode}`)
    Error.stackTraceLimit = limit
    const running = this.#running
    // A library that ends the process is known by the start that called it.
    const plugin = pluginOf(place.stack ?? '', running?.plugins ?? []) ?? startingPlugin()
    const by = plugin === undefined ? '' : ` by plugin "${plugin}"`
    const error = kernelError('PLINTH_PROCESS_ENDED', { exitCode, by }, place)
    if (running === undefined || running.isCommand) {
      this.#output.failure(error)
      return
    }
    const named = plugin === undefined ? {} : { plugin }
    running.log.fatal({ ...named, exitCode, code: error.code, err: error }, `crashed: ${error.message}`)
  }

  #report(error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void {
    const running = this.#running
    if (running === undefined) {
      this.#output.failure(error)
      return
    }
    const { message, stack = '' } = errorLine(error)
    // An error without a stack, such as a rejected text, is known by the work that it ended.
    const plugin = pluginOf(stack, running.plugins) ?? startingPlugin()
    const { code, fix } = kernelError('PLINTH_UNHANDLED_ERROR', { reason: message })
    const known = plugin === undefined ? {} : { plugin }
    running.log.fatal({ ...known, code, fix, origin, err: error }, `crashed: ${message}`)
  }
}
