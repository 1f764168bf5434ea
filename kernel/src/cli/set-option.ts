import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { codeOf } from '../errors/coded-error.ts'
import { isPlugin } from '../plugin.ts'
import type { Product } from '../product.ts'

/** Values of `--set`, as far as the command line has been read. */
export interface Settings {
  readonly values: Readonly<Record<string, string>>
  /** Keys whose value stands on the command line itself. */
  readonly shown: readonly string[]
}

export const noSettings: Settings = { values: {}, shown: [] }

/** Bytes of a value from a file or from standard input. */
const largest = 1024 * 1024

/**
 * Reads `key=value`, `key=@file` and `key=-` (standard input); `key=@@text` is the text `@text`. One line break at the end of
 * a file or of the input does not belong to the value.
 *
 * @param directory that files are named from
 * @param readInput everything on standard input
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
    // A pipe or a device would have no end.
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

/** What to tell about secrets that every user of the machine reads in the list of processes. Holds no value. */
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
