import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'

/** Placeholder in the built HTML for the nonce of the response. */
export const noncePlaceholder = '__CSP_NONCE__'

/** Paths of the pages of a package. All are absolute. */
export interface PagePlaces {
  /** Directory of the package. */
  readonly root: string
  /** Browser sources, which only a checkout contains. */
  readonly sources: string
  /** Program that builds them. */
  readonly program: string
  /** Contains the exact versions of all bundled dependencies. */
  readonly manifest: string
  /**
   * Directory of unfinished pages. Not published, but on the same volume, so that a rename moves them to their place.
   */
  readonly workplace: string
  /** Assets of builds that were replaced within the last day. Not published. */
  readonly former: string
  /** The built pages. */
  readonly output: string
  /** File with the hash of the sources of `output`. */
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
 * Returns the hash of all inputs of the pages: sources, build program, dependency versions. Returns `undefined` without
 * sources, as in a published package. Synchronous, because reading two hundred small files asynchronously takes five
 * times as long during the start.
 */
export function sourceHash({ root, sources, program, manifest }: PagePlaces): string | undefined {
  const files = filesBelow(sources)
  if (files === undefined) return undefined
  const hash = createHash('sha256')
  // Only the versions, because packing changes other parts of the manifest temporarily.
  hash.update(JSON.stringify(JSON.parse(readFileSync(manifest, 'utf8')).devDependencies))
  for (const file of [...files.sort(), program]) {
    // Relative path, so that two checkouts of one commit have the same hash.
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

/** Returns the hash of the sources of the built pages, or `undefined` without built pages. */
export async function builtHash({ record }: PagePlaces): Promise<string | undefined> {
  return readFile(record, 'utf8').catch(() => undefined)
}
