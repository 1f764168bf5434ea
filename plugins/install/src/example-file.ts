import { readFile } from 'node:fs/promises'

/** A variable on a line of its own, also one that is commented out: an example shows most of them that way. */
const variable = /^[ \t]*(?:#[ \t]*)?(?:export[ \t]+)?([A-Z_][A-Z0-9_]*)=/gm

/** Names in the example file; `undefined` when there is no such file. */
export async function exampleNames(path: string): Promise<ReadonlySet<string> | undefined> {
  try {
    const text = await readFile(path, 'utf8')
    return new Set([...text.matchAll(variable)].flatMap(([, name]) => name ?? []))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
