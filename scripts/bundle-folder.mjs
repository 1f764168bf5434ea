/** What `library-bundle.mjs` and `package-bundle.mjs` share: a folder that is made once from what `key` names. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
const mapFile = 'map.json'

export function isMadeFrom(folder, key) {
  const file = join(folder, mapFile)
  return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).key === key
}

/**
 * Puts what `make` writes in the place of the folder, in one step.
 *
 * @param {(draft: string) => Promise<object>} make writes into the folder that it gets, and returns what its map says
 */
export async function replaceBundle(folder, key, make) {
  const draft = `${folder}.${process.pid}`
  mkdirSync(draft, { recursive: true })
  try {
    const map = await make(draft)
    writeFileSync(join(draft, mapFile), JSON.stringify({ key, ...map }))
    rmSync(folder, { recursive: true, force: true })
    renameSync(draft, folder)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}
