import { errorLine } from '../logging/error-line.ts'
import type { RunningProduct } from '../running-product.ts'
import { exitCodes } from './exit-codes.ts'
import type { Output } from './output.ts'
import { pluginOf } from './stack.ts'

/** Crashes of one process that are reported: what fails while the product stops must not fill the log. */
const mostReported = 10

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
      process.exit(exitCodes.failed)
    }
    if (this.#crashes > 1) return
    const stopped = this.#running?.stop('the process crashed') ?? Promise.resolve()
    // A turn later, so that whoever waits for the same end has said what could not be released.
    void stopped.catch(() => undefined).finally(() => setImmediate(() => process.exit(exitCodes.failed)))
  }

  #report(error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void {
    const running = this.#running
    if (running === undefined) {
      this.#output.failure(error)
      return
    }
    const { message, stack = '' } = errorLine(error)
    const plugin = pluginOf(stack, running.plugins)
    running.log.fatal({ ...(plugin === undefined ? {} : { plugin }), origin, err: error }, `crashed: ${message}`)
  }
}
