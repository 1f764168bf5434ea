import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { declaringFileOf } from '../errors/stack.ts'
import type { Plugin } from '../plugin.ts'

/**
 * Returns the SHA-256 hash of all files of the installed package that declares a plugin. Returns `undefined` for a plugin
 * outside of `node_modules`: its sources belong to the product, and its author changes them.
 *
 * @param known hashes by directory, because several plugins may be in one package
 */
export function packageHash(plugin: Plugin, known: Map<string, string>): string | undefined {
  const file = declaringFileOf(plugin)
  if (file === undefined || !existsSync(file)) return undefined
  const real = realpathSync(file)
  if (!real.includes(`${sep}node_modules${sep}`)) return undefined
  let directory = dirname(real)
  while (!existsSync(join(directory, 'package.json'))) directory = dirname(directory)
  const hash = known.get(directory) ?? hashFiles(directory)
  known.set(directory, hash)
  return hash
}

function hashFiles(directory: string): string {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(directory, join(parentPath, name)).replaceAll(sep, '/'))
    .filter((path) => !path.split('/').includes('node_modules'))
  const hash = createHash('sha256')
  for (const path of files.sort()) {
    const content = createHash('sha256')
      .update(readFileSync(join(directory, path)))
      .digest('hex')
    hash.update(`${content}  ${path}\n`)
  }
  return `sha256-${hash.digest('base64')}`
}
