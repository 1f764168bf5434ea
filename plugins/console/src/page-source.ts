import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
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
  /** Assets of builds that were replaced within the last day; not among what is published. */
  readonly former: string
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
    workplace: join(root, '.build'),
    former: join(root, '.build', 'former-pages'),
    output,
    record: join(output, 'source-hash'),
  }
}

/**
 * Hash of everything that the pages are made of: sources, build program, dependency versions. `undefined` when there are
 * no sources, as in a published package.
 *
 * In one go: reading two hundred small files one by one, beside everything else, takes five times as long.
 */
export function sourceHash({ root, sources, program, manifest }: PagePlaces): string | undefined {
  const files = filesBelow(sources)
  if (files === undefined) return undefined
  const hash = createHash('sha256')
  // The versions alone: packing changes other parts of the manifest for a moment. All are built into the pages.
  hash.update(JSON.stringify(JSON.parse(readFileSync(manifest, 'utf8')).devDependencies))
  for (const file of [...files.sort(), program]) {
    // Its place in the package, not on this machine: two checkouts of one commit agree.
    const content = readFileSync(file)
    hash.update(`${relative(root, file).replaceAll(sep, '/')}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

function filesBelow(directory: string): string[] | undefined {
  try {
    const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  } catch {
    return undefined
  }
}

/** Hash that the built pages were made from; `undefined` when there are none. */
export async function builtHash({ record }: PagePlaces): Promise<string | undefined> {
  return readFile(record, 'utf8').catch(() => undefined)
}
