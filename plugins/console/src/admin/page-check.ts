import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Kernel } from '@plinth/kernel'

interface PageCheckOptions {
  readonly isProduction: boolean
  /** Directory of the compile cache; undefined without one. */
  readonly cacheDirectory: string | undefined
  readonly kernel: {
    readonly product: Pick<Kernel['product'], 'root'>
    readonly plugins: readonly Pick<Kernel['plugins'][number], 'id' | 'version'>[]
  }
}

/**
 * Checks the pages at a start, and returns their problems (decision G15). The check needs the description of all
 * operations, so production repeats it only after the lock file or the version of a plugin has changed. A check that
 * finds nothing is noted next to the compile cache. Without a place for this note, production skips the check.
 * `plinth doctor` and `plinth plugin verify` always check.
 */
export async function checkPagesAtStart(
  { isProduction, cacheDirectory, kernel }: PageCheckOptions,
  find: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  if (!isProduction) return find()
  if (cacheDirectory === undefined) return []
  const note = join(cacheDirectory, `pages-${fingerprintOf(kernel)}.checked`)
  if (existsSync(note) || !isWritable(cacheDirectory)) return []
  const problems = await find()
  if (problems.length === 0) writeNote(note)
  return problems
}

function fingerprintOf({ product, plugins }: PageCheckOptions['kernel']): string {
  const lockFile = join(product.root, 'plinth.lock.json')
  const lock = existsSync(lockFile) ? readFileSync(lockFile, 'utf8') : ''
  const versions = plugins.map(({ id, version }) => `${id} ${version}`).sort()
  return createHash('sha256')
    .update(JSON.stringify([versions, lock]))
    .digest('hex')
    .slice(0, 16)
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function writeNote(file: string): void {
  try {
    writeFileSync(file, '')
  } catch {
    // The next start checks again.
  }
}
