import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const productFiles = ['plinth.config.ts', 'plinth.config.js', 'plinth.config.mjs']

/** Returns the value of an option in a command line that is not parsed yet: `--name value` or `--name=value`. */
export function optionOf(words: readonly string[], name: string): string | undefined {
  const at = words.findIndex((word) => word === name || word.startsWith(`${name}=`))
  if (at === -1) return undefined
  return words[at] === name ? words[at + 1] : words[at]?.slice(name.length + 1)
}

/** Returns the value of `--set key=value` in a command line that is not parsed yet. */
export function settingOf(words: readonly string[], key: string): string | undefined {
  const setting = words.findLast((word) => word.replace(/^--set=/, '').startsWith(`${key}=`))
  return setting?.slice(setting.indexOf(`${key}=`) + key.length + 1)
}

/**
 * Returns the path of the product file: the option `--product`, otherwise the first product file in the directory or in
 * one above it. If nothing is found, the path in the directory itself, which does not exist.
 */
export function productFileOf(words: readonly string[], directory: string): string {
  const named = optionOf(words, '--product')
  if (named !== undefined) return resolve(directory, named)
  for (let folder = resolve(directory); ; folder = dirname(folder)) {
    const found = productFiles.map((name) => join(folder, name)).find((file) => existsSync(file))
    if (found !== undefined) return found
    if (folder === dirname(folder)) return join(directory, 'plinth.config.ts')
  }
}
