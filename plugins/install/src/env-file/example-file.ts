import { readFile, stat } from 'node:fs/promises'
import { codeOf } from '@plinth/kernel'

/** A variable on a line of its own, also one that is commented out: an example shows most of them that way. */
const variable = /^[ \t]*(?:#[ \t]*)?(?:export[ \t]+)?([A-Z_][A-Z0-9_]*)=/gm

/** Names in the example file; `undefined` when there is no such file. */
export async function exampleNames(path: string): Promise<ReadonlySet<string> | undefined> {
  const text = await readExampleFile(path)
  return text === undefined ? undefined : new Set([...text.matchAll(variable)].flatMap(([, name]) => name ?? []))
}

/** `undefined` where there is no file: to read a pipe or a device would not end. */
export async function readExampleFile(path: string): Promise<string | undefined> {
  try {
    return (await stat(path)).isFile() ? await readFile(path, 'utf8') : undefined
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
