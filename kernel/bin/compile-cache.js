import { statSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { dirname, join, resolve } from 'node:path'

/** Status of Node.js if the directory of the cache cannot be created. */
const failed = 0

/**
 * Enables the compile cache of Node.js in the nearest `node_modules` at or above the product file in which its
 * directory exists or can be created. A directory that exists may be read-only: its entries are then used as they are.
 *
 * @param {readonly string[]} words command line without the program
 * @param {string} directory working directory
 */
export function enableCompileCache(words, directory) {
  const at = words.findIndex((word) => /^--product(=|$)/.test(word))
  const named = words[at]?.slice('--product='.length) || words[at + 1]
  const start = at === -1 || named === undefined ? resolve(directory) : dirname(resolve(directory, named))
  for (let folder = start; ; folder = dirname(folder)) {
    const modules = join(folder, 'node_modules')
    const cache = join(modules, '.cache', 'plinth')
    if (isTrusted(modules) && isTrusted(cache, true)) {
      if (nodeModule.enableCompileCache(cache).status !== failed) return
    }
    if (folder === dirname(folder)) return
  }
}

/**
 * Node.js executes the code in the cache, so no other user may be able to write it, as in a folder below `/tmp`. A
 * directory that cannot be examined is not trusted.
 *
 * @param {string} path
 * @param {boolean} mayBeMissing
 */
function isTrusted(path, mayBeMissing = false) {
  let found
  try {
    found = statSync(path, { throwIfNoEntry: false })
  } catch {
    return false
  }
  if (found === undefined) return mayBeMissing
  const self = process.getuid?.()
  return self === undefined || ((found.uid === self || found.uid === 0) && (found.mode & 0o002) === 0)
}
