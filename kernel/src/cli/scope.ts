import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { errorCodeOf } from '../errors/coded-error.ts'
import { isPlugin, type Role } from '../plugin.ts'
import type { Product } from '../product.ts'
import type { StartOptions } from '../running-product.ts'
import type { CrashWatch } from './crash-watch.ts'
import type { loadDevelopmentCommands } from './dev-package.ts'
import type { Output, Streams } from './output.ts'
import type { SupervisorLink } from './supervisor-link.ts'

/** Values of all `--set` options that were parsed so far. */
export interface SetOptions {
  readonly values: Readonly<Record<string, string>>
  /** Keys whose value is written in the command line itself. */
  readonly shown: readonly string[]
}

export const noSetOptions: SetOptions = { values: {}, shown: [] }

/** Maximum bytes of a value from a file or from standard input. */
const maxValueBytes = 1024 * 1024

/**
 * Parses the argument of `--set`: `key=value`, `key=@file` or `key=-` (standard input). `key=@@text` sets the text
 * `@text`. One line break at the end of a file or of the input is removed.
 *
 * @param directory base directory of relative paths
 * @param readInput returns the whole standard input
 */
export function createSetOptionParser(directory: string, readInput = () => readFileSync(0)) {
  let inputKey: string | undefined
  return (text: string, previous: SetOptions): SetOptions => {
    const at = text.indexOf('=')
    if (at < 1) throw new InvalidArgumentError('Write it as key=value, key=@file or key=-.')
    const key = text.slice(0, at)
    const given = text.slice(at + 1)
    const values = (value: string) => ({ ...previous.values, [key]: value })
    if (given === '-') {
      if (inputKey !== undefined) throw new InvalidArgumentError(`"${inputKey}" reads standard input already.`)
      inputKey = key
      return { ...previous, values: values(content(readInput(), `Standard input for "${key}"`)) }
    }
    if (given.startsWith('@') && !given.startsWith('@@')) {
      return { ...previous, values: values(fileContent(resolve(directory, given.slice(1)), key)) }
    }
    return { values: values(given.replace(/^@@/, '@')), shown: [...previous.shown, key] }
  }
}

function fileContent(file: string, key: string): string {
  try {
    // Only regular files are read, because reading a pipe or a device might never end.
    if (!statSync(file).isFile()) throw new InvalidArgumentError(`The file for "${key}" is none: ${file}.`)
    return content(readFileSync(file), `The file for "${key}"`)
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error
    throw new InvalidArgumentError(`The file for "${key}" cannot be read (${errorCodeOf(error)}): ${file}.`)
  }
}

function content(bytes: Buffer, what: string): string {
  if (bytes.length > maxValueBytes) throw new InvalidArgumentError(`${what} has more than ${maxValueBytes} bytes.`)
  return bytes.toString('utf8').replace(/\r?\n$/, '')
}

/**
 * Returns a warning for each secret in the command line, because all users of the machine can read it in the process
 * list. The warnings do not contain the values.
 */
export function warnOfVisibleSecrets({ shown }: SetOptions, product: Product | undefined): readonly string[] {
  const plugins = product?.plugins.filter(isPlugin) ?? []
  const isSecret = (key: string) => plugins.some(({ config }) => config?.[key]?.sensitive === true)
  return [...new Set(shown)]
    .filter(isSecret)
    .map(
      (key) =>
        `--set ${key}: the list of processes shows this secret to every user of the machine. ` +
        `Write --set ${key}=@<file> or --set ${key}=- (standard input).`,
    )
}

/** The parts of the process that the program uses. Tests replace them. */
export interface ProgramEnvironment extends Streams {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Directory in which the search for the product file starts. */
  readonly directory: string
  /**
   * Asks a question and returns the line that the user types, or an empty text at the end of the input. Absent without
   * a terminal.
   */
  readonly ask?: ((question: string) => Promise<string>) | undefined
  /** Version of Node.js, such as `24.21.0`. Default: the version of this process. */
  readonly nodeVersion?: string
  /** Default: the commands of `@plinth/dev`, if it is installed. */
  readonly developmentCommands?: typeof loadDevelopmentCommands
  /** The supervisor that restarts this process; absent if there is none. */
  readonly supervisor?: SupervisorLink | undefined
  /** Registers a listener for uncaught errors of the process. */
  readonly onCrash?: (listener: NodeJS.UncaughtExceptionListener) => void
  /** Registers a listener that is called if the process ends and the program did not request it. */
  readonly onUnexpectedEnd?: (listener: (exitCode: number) => void) => void
}

/** Objects that all commands share. */
export interface CommandScope {
  readonly output: Output
  readonly supervisor: SupervisorLink | undefined
  readonly nodeVersion: string
  /** Reports uncaught errors. */
  readonly crashes: CrashWatch
  /**
   * Returns the product of the command.
   *
   * @throws PlinthError if there is no valid product file
   */
  readonly product: () => Product
  readonly options: () => StartOptions
  /** Sets the exit code of the program. */
  readonly exit: (code: number) => void
}

/** Returns a parser for the option `--role web,worker`. */
export function parseRoles(allowed: readonly Role[]): (text: string) => readonly Role[] {
  return (text) => {
    const isAllowed = (role: string): role is Role => allowed.some((one) => one === role)
    const chosen = text.split(',')
    const unknown = chosen.find((role) => !isAllowed(role))
    if (unknown !== undefined) throw new InvalidArgumentError(`"${unknown}" is not one of ${allowed.join(', ')}.`)
    return chosen.filter(isAllowed)
  }
}
