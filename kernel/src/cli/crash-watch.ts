import { kernelError } from '../errors/kernel-errors.ts'
import { findFailingPlugin } from '../errors/stack.ts'
import { toErrorLine } from '../logging/error-line.ts'
import { startingPlugin } from '../process/opened-resources.ts'
import type { RunningProduct } from '../running-product.ts'
import type { Output } from './output.ts'
import { endProcess, exitCodes } from './process-end.ts'

/**
 * Maximum number of crashes that one process reports. Otherwise, repeated errors during the stop could fill the log.
 */
const maxReported = 10

/**
 * Number of stack frames to record when the process ends. The default of Node.js is too small to show the plugin if a
 * library calls `process.exit()` on its behalf.
 */
const longStack = 50

/**
 * Handles uncaught errors and unhandled rejections. Logs one line with masked secrets, the stack and the plugin that
 * threw, if the stack shows it. Then stops the product and ends the process with exit code 1.
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

  /** Sets the product that runs in this process. */
  readonly watch = (running: RunningProduct): void => {
    this.#running = running
  }

  /**
   * Listener for the event `uncaughtException` of the process, which Node.js also emits for unhandled rejections. Never
   * throws.
   */
  readonly onCrash = (error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void => {
    this.#crashes += 1
    try {
      if (this.#crashes <= maxReported) this.#report(error, origin)
    } catch {
      endProcess(exitCodes.failed)
    }
    if (this.#crashes > 1) return
    const stopped = this.#running?.stop('the process crashed') ?? Promise.resolve()
    // Waits one tick, so that other code that waits for the stop can first report resources that were not released.
    void stopped.catch(() => undefined).finally(() => setImmediate(() => endProcess(exitCodes.failed)))
  }

  /**
   * Handles an end of the process that the program did not request. The stack contains the call of `process.exit()` and
   * therefore the plugin that made it. The method is synchronous, because the process ends when it returns.
   */
  readonly onUnexpectedEnd = (exitCode: number): void => {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = longStack
    const place = new Error(`exit code ${exitCode}`)
    Error.stackTraceLimit = limit
    const running = this.#running
    // If no frame belongs to a plugin, a library called `process.exit()`. Then the plugin whose start is running is
    // reported.
    const plugin = findFailingPlugin(place.stack ?? '', running?.plugins ?? []) ?? startingPlugin()
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
    const { message, stack = '' } = toErrorLine(error)
    // An error may have no stack, for example a rejected text. Then the plugin whose start is running is reported.
    const plugin = findFailingPlugin(stack, running.plugins) ?? startingPlugin()
    const { code, fix } = kernelError('PLINTH_UNHANDLED_ERROR', { reason: message })
    const known = plugin === undefined ? {} : { plugin }
    running.log.fatal({ ...known, code, fix, origin, err: error }, `crashed: ${message}`)
  }
}
