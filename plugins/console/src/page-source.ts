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
  /**
   * Where pages are before they are finished: not among what is published, but on the same volume, so that a rename is
   * enough to put them into place.
   */
  readonly workplace: string
  /** The built pages. */
  readonly output: string
  /** Hash of the sources that `output` was built from. */
  readonly record: string
}

/** @param root directory of the package */
export function pagePlaces(root: string): PagePlaces {
  const output = join(root, 'dist', 'web')
  return {
    root,
    sources: join(root, 'web'),
    program: join(root, 'scripts', 'build-pages.ts'),
    manifest: join(root, 'package.json'),
    workplace: join(root, 'node_modules', '.cache'),
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
  // The versions alone: packing changes other parts of the manifest for a moment. All are built into the pages.
  hash.update(JSON.stringify(JSON.parse(await readFile(manifest, 'utf8')).devDependencies))
  for (const file of [...files.sort(), program]) {
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
