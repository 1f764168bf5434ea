import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'

/** Stands in the built HTML wherever the nonce of the response belongs. */
export const noncePlaceholder = '__CSP_NONCE__'

/** Where the pages of a package are made and kept. All paths are absolute. */
export interface PagePlaces {
  /** Directory of the package. */
  readonly root: string
  /** Browser sources; only a checkout has them. */
  readonly sources: string
  /** Program that builds them. */
  readonly program: string
  /** Names the exact versions of everything that is built in. */
  readonly manifest: string
  /** Parent of `output`; temporary directories stand next to it, so that a rename is enough to publish them. */
  readonly workplace: string
  /** The built pages. */
  readonly output: string
  /** Hash of the sources that `output` was built from. */
  readonly record: string
}

/** @param root directory of the package */
export function pagePlaces(root: string): PagePlaces {
  const workplace = join(root, 'dist')
  const output = join(workplace, 'web')
  return {
    root,
    sources: join(root, 'web'),
    program: join(root, 'scripts', 'build-pages.ts'),
    manifest: join(root, 'package.json'),
    workplace,
    output,
    record: join(output, 'source-hash'),
  }
}

/**
 * Hash of everything that the pages are made of: sources, build program, dependency versions. `undefined` when there are
 * no sources, as in a published package.
 */
export async function sourceHash({ root, sources, program, manifest }: PagePlaces): Promise<string | undefined> {
  const entries = await readdir(sources, { recursive: true, withFileTypes: true }).catch(() => undefined)
  if (entries === undefined) return undefined
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const hash = createHash('sha256')
  for (const file of [...files.sort(), program, manifest]) {
    // Its place in the package, not on this machine: two checkouts of one commit agree.
    const content = await readFile(file)
    hash.update(`${relative(root, file).replaceAll(sep, '/')}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

/** Hash that the built pages were made from; `undefined` when there are none. */
export async function builtHash({ record }: PagePlaces): Promise<string | undefined> {
  return readFile(record, 'utf8').catch(() => undefined)
}
