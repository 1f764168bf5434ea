import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const productFiles = ['plinth.config.ts', 'plinth.config.js', 'plinth.config.mjs']

/** Returns the value of an option in an unparsed command line: `--name value` or `--name=value`. */
export function findOptionValue(words: readonly string[], name: string): string | undefined {
  const at = words.findIndex((word) => word === name || word.startsWith(`${name}=`))
  if (at === -1) return undefined
  return words[at] === name ? words[at + 1] : words[at]?.slice(name.length + 1)
}

/** Returns the value that `--set key=value` sets in an unparsed command line. */
export function findSetValue(words: readonly string[], key: string): string | undefined {
  const setting = words.findLast((word) => word.replace(/^--set=/, '').startsWith(`${key}=`))
  return setting?.slice(setting.indexOf(`${key}=`) + key.length + 1)
}

/**
 * Returns the path of the product file: the path in the option `--product`, otherwise the first product file in the
 * directory or its nearest parent. If none exists, returns the path in the directory where it would be.
 */
export function resolveProductFile(words: readonly string[], directory: string): string {
  const named = findOptionValue(words, '--product')
  if (named !== undefined) return resolve(directory, named)
  for (let folder = resolve(directory); ; folder = dirname(folder)) {
    const found = productFiles.map((name) => join(folder, name)).find((file) => existsSync(file))
    if (found !== undefined) return found
    if (folder === dirname(folder)) return join(directory, 'plinth.config.ts')
  }
}

/**
 * Returns the text of a product file with one more plugin. Returns `undefined` if the plugins are not listed in one
 * array of names, so that a developer has to add the plugin.
 *
 * @param path of the plugin, relative to the product file
 */
export function addPluginToSource(source: string, identifier: string, path: string): string | undefined {
  const [list, ...others] = source.matchAll(/^\s*plugins: \[([\w$.,\s]*)\]/gm)
  const lastImport = [...source.matchAll(/^(?:import |\} from )[^\n]*(['"])[^'"\n]+\1(;?)$/gm)].at(-1)
  if (list?.[1] === undefined || others.length > 0 || lastImport === undefined) return undefined
  const names = list[1].trimEnd()
  const lineBreak = list[1].slice(names.length)
  const separator = names === '' ? '' : lineBreak === '' ? ', ' : `,${/^\s*/.exec(names)?.[0] ?? ' '}`
  const added = `${names.replace(/,$/, '')}${separator}${identifier}${lineBreak === '' ? '' : `,${lineBreak}`}`
  const listEnd = list.index + list[0].length - 1
  const importEnd = lastImport.index + lastImport[0].length
  const [, quote = "'", semicolon = ''] = lastImport
  return [
    source.slice(0, importEnd),
    `\nimport ${identifier} from ${quote}${path}${quote}${semicolon}`,
    source.slice(importEnd, listEnd - list[1].length),
    added,
    source.slice(listEnd),
  ].join('')
}
