import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'

/** Placeholder in the built HTML for the nonce of the response. */
export const noncePlaceholder = '__CSP_NONCE__'

/** Absolute paths of the pages of a package. */
export interface PagePaths {
  /** Directory of the package. */
  readonly root: string
  /** Sources of the browser pages. Only a checkout of the repository contains them. */
  readonly sources: string
  /** Program that builds the pages. */
  readonly program: string
  /** The `package.json` that contains the exact versions of all bundled dependencies. */
  readonly manifest: string
  /**
   * Directory of unfinished pages. It is not published, but is on the same volume as `output`, so that a rename can
   * move the pages.
   */
  readonly workplace: string
  /** Directory with the assets of builds that were replaced within the last day. It is not published. */
  readonly former: string
  /** Directory of the built pages. */
  readonly output: string
  /** File that contains the hash of the sources of `output`. */
  readonly record: string
}

/** @param root directory of the package */
export function pagePathsOf(root: string): PagePaths {
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
 * Returns the hash of all inputs of the pages: sources, build program, dependency versions. Returns `undefined` if
 * there are no sources, as in a published package. The function is synchronous, because reading two hundred small files
 * asynchronously takes five times as long during the start.
 */
export function sourceHash({ root, sources, program, manifest }: PagePaths): string | undefined {
  const files = filesBelow(sources)
  if (files === undefined) return undefined
  const hash = createHash('sha256')
  // Only the versions are hashed, because packing temporarily changes other parts of the manifest.
  hash.update(JSON.stringify(JSON.parse(readFileSync(manifest, 'utf8')).devDependencies))
  for (const file of [...files.sort(), program]) {
    // The path is relative, so that two checkouts of the same commit have the same hash.
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

/** Returns the hash of the sources of the built pages, or `undefined` if no pages are built. */
export async function builtHash({ record }: PagePaths): Promise<string | undefined> {
  return readFile(record, 'utf8').catch(() => undefined)
}
