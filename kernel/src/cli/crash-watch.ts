import { kernelError } from '../errors/kernel-errors.ts'
import { pluginOf } from '../errors/stack.ts'
import { errorLine } from '../logging/error-line.ts'
import { startingPlugin } from '../process/opened-resources.ts'
import type { RunningProduct } from '../running-product.ts'
import type { Output } from './output.ts'
import { endProcess, exitCodes } from './process-end.ts'

/** Maximum number of reported crashes of one process. Repeated errors while the product stops must not fill the log. */
const maxReported = 10

/**
 * Number of frames for the end of a process: more than the default of Node.js, because the last caller may be a
 * library.
 */
const longStack = 50

/**
 * Handles uncaught errors and rejections. Logs one masked line with the stack and, if the stack shows it, the plugin.
 * Then the product drains and stops under its deadlines, and the process ends with 1.
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

  /** Sets the product that this process runs from now on. */
  readonly watch = (running: RunningProduct): void => {
    this.#running = running
  }

  /** For the event `uncaughtException` of the process, which also receives unhandled rejections. Never throws. */
  readonly onCrash = (error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void => {
    this.#crashes += 1
    try {
      if (this.#crashes <= maxReported) this.#report(error, origin)
    } catch {
      endProcess(exitCodes.failed)
    }
    if (this.#crashes > 1) return
    const stopped = this.#running?.stop('the process crashed') ?? Promise.resolve()
    // One tick later, so that other code that waits for the end can first report resources that could not be released.
    void stopped.catch(() => undefined).finally(() => setImmediate(() => endProcess(exitCodes.failed)))
  }

  /**
   * For an end of the process that the program did not request. The plugin is found in the stack, which contains the
   * call of `process.exit()`. Synchronous, because the process ends afterwards.
   */
  readonly onUnexpectedEnd = (exitCode: number): void => {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = longStack
    const place = new Error(`exit code ${exitCode}`)
    Error.stackTraceLimit = limit
    const running = this.#running
    // If a library ends the process, the plugin whose start called it is reported.
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
    // For an error without a stack, such as a rejected text, the plugin whose start it ended is reported.
    const plugin = pluginOf(stack, running.plugins) ?? startingPlugin()
    const { code, fix } = kernelError('PLINTH_UNHANDLED_ERROR', { reason: message })
    const known = plugin === undefined ? {} : { plugin }
    running.log.fatal({ ...known, code, fix, origin, err: error }, `crashed: ${message}`)
  }
}
