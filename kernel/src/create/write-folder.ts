import { existsSync } from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { kernelError } from '../errors/kernel-errors.ts'
import type { TemplateFiles } from './templates.ts'

/**
 * Writes files into a new or empty folder. If that fails, it removes what it has written.
 *
 * @throws PlinthError `PLINTH_CREATE_NOT_EMPTY` before anything is written
 */
export async function writeFolder(folder: string, files: TemplateFiles): Promise<void> {
  const content = existsSync(folder) ? await readdir(folder) : []
  const [first] = content
  if (first !== undefined) throw kernelError('PLINTH_CREATE_NOT_EMPTY', { folder, first })
  const created = await mkdir(folder, { recursive: true })
  try {
    for (const [path, text] of files) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      // Only the owner reads secrets.
      await writeFile(join(folder, path), text, { flag: 'wx', mode: path === '.env' ? 0o600 : 0o666 })
    }
  } catch (error) {
    const written = created === undefined ? (await readdir(folder)).map((name) => join(folder, name)) : [created]
    for (const path of written) await rm(path, { recursive: true, force: true })
    throw error
  }
}
