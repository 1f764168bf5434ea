import { InvalidArgumentError } from 'commander'
import type { Role } from '../plugin.ts'
import type { Product } from '../product.ts'
import type { StartOptions } from '../running-product.ts'
import type { CrashWatch } from './crash-watch.ts'
import type { Output, Streams } from './output.ts'
import type { SupervisorLink } from './supervisor-link.ts'

/** What the program sees of its process. */
export interface ProgramEnvironment extends Streams {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Directory to look for the product file in. */
  readonly directory: string
  /** Version of Node.js that runs the program, such as `24.21.0`; that of this process when absent. */
  readonly nodeVersion?: string
  /** Who starts this process again; nobody of ours when absent. */
  readonly supervisor?: SupervisorLink | undefined
  /** Registers who hears of errors that nobody in the process caught. */
  readonly onCrash?: (listener: NodeJS.UncaughtExceptionListener) => void
  /** Registers a listener for an end of the process that the program did not ask for. */
  readonly onUnexpectedEnd?: (listener: (exitCode: number) => void) => void
}

/** What every command works with. */
export interface CommandScope {
  readonly output: Output
  readonly supervisor: SupervisorLink | undefined
  readonly nodeVersion: string
  /** Reports errors that nobody caught. */
  readonly crashes: CrashWatch
  /** Throws when there is no usable product file. */
  readonly product: () => Product
  readonly options: () => StartOptions
  /** Sets the exit code of the program. */
  readonly exit: (code: number) => void
}

/** Reads `--role web,worker`. */
export function parseRoles(allowed: readonly Role[]): (text: string) => readonly Role[] {
  return (text) => {
    const chosen = text.split(',') as Role[]
    const unknown = chosen.find((role) => !allowed.includes(role))
    if (unknown !== undefined) throw new InvalidArgumentError(`"${unknown}" is not one of ${allowed.join(', ')}.`)
    return chosen
  }
}
