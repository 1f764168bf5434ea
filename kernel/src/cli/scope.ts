import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { codeOf } from '../errors/coded-error.ts'
import { isPlugin, type Role } from '../plugin.ts'
import type { Product } from '../product.ts'
import type { StartOptions } from '../running-product.ts'
import type { CrashWatch } from './crash-watch.ts'
import type { Output, Streams } from './output.ts'
import type { SupervisorLink } from './supervisor-link.ts'

/** Values of `--set` that have been read from the command line so far. */
export interface Settings {
  readonly values: Readonly<Record<string, string>>
  /** Keys whose value is part of the command line itself. */
  readonly shown: readonly string[]
}

export const noSettings: Settings = { values: {}, shown: [] }

/** Maximum bytes of a value from a file or from standard input. */
const largest = 1024 * 1024

/**
 * Reads `key=value`, `key=@file` and `key=-` (standard input); `key=@@text` is the text `@text`. One line break at the
 * end of a file or of the input is removed.
 *
 * @param directory base directory of relative paths
 * @param readInput returns all of standard input
 */
export function settingReader(directory: string, readInput = () => readFileSync(0)) {
  let inputKey: string | undefined
  return (text: string, previous: Settings): Settings => {
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
    // A pipe or a device might not end.
    if (!statSync(file).isFile()) throw new InvalidArgumentError(`The file for "${key}" is none: ${file}.`)
    return content(readFileSync(file), `The file for "${key}"`)
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error
    throw new InvalidArgumentError(`The file for "${key}" cannot be read (${codeOf(error)}): ${file}.`)
  }
}

function content(bytes: Buffer, what: string): string {
  if (bytes.length > largest) throw new InvalidArgumentError(`${what} has more than ${largest} bytes.`)
  return bytes.toString('utf8').replace(/\r?\n$/, '')
}

/**
 * Returns warnings about secrets that every user of the machine can read in the list of processes. They contain no
 * value.
 */
export function shownSecrets({ shown }: Settings, product: Product | undefined): readonly string[] {
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

/** The parts of the process that the program uses. */
export interface ProgramEnvironment extends Streams {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Directory of the product file. */
  readonly directory: string
  /** Asks a question and returns the typed line, or an empty text if the input ends. Absent without a terminal. */
  readonly ask?: ((question: string) => Promise<string>) | undefined
  /** Version of Node.js that runs the program, such as `24.21.0`. Default: the version of this process. */
  readonly nodeVersion?: string
  /** The supervisor that restarts this process. Absent if the product has no supervisor. */
  readonly supervisor?: SupervisorLink | undefined
  /** Registers a listener for uncaught errors of the process. */
  readonly onCrash?: (listener: NodeJS.UncaughtExceptionListener) => void
  /** Registers a listener for an end of the process that the program did not request. */
  readonly onUnexpectedEnd?: (listener: (exitCode: number) => void) => void
}

/** The objects that every command uses. */
export interface CommandScope {
  readonly output: Output
  readonly supervisor: SupervisorLink | undefined
  readonly nodeVersion: string
  /** Reports uncaught errors. */
  readonly crashes: CrashWatch
  /** @throws PlinthError if there is no usable product file */
  readonly product: () => Product
  readonly options: () => StartOptions
  /** Sets the exit code of the program. */
  readonly exit: (code: number) => void
}

/** Reads `--role web,worker`. */
export function parseRoles(allowed: readonly Role[]): (text: string) => readonly Role[] {
  return (text) => {
    const isAllowed = (role: string): role is Role => allowed.some((one) => one === role)
    const chosen = text.split(',')
    const unknown = chosen.find((role) => !isAllowed(role))
    if (unknown !== undefined) throw new InvalidArgumentError(`"${unknown}" is not one of ${allowed.join(', ')}.`)
    return chosen.filter(isAllowed)
  }
}
