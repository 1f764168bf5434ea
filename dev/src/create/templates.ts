import { randomBytes } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createError } from './errors.ts'

const root = fileURLToPath(new URL('../../templates', import.meta.url))

const capital = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1)

/** Placeholders of the templates, and how each is made from the words of the chosen name. */
const placeholders: Readonly<Record<string, (words: readonly string[]) => string>> = {
  'sample-name': (words) => words.join('-'),
  sample_name: (words) => words.join('_'),
  SAMPLE_NAME: (words) => words.join('_').toUpperCase(),
  SampleName: (words) => words.map(capital).join(''),
  sampleName: ([first = '', ...others]) => first + others.map(capital).join(''),
  'Sample name': (words) => capital(words.join(' ')),
  // In this repository, the test of the product template imports the product file of a preset. In a created product, it
  // imports the product file of that product.
  '../../presets/standard/': () => '../',
  // Each placeholder gets a different secret of 32 random bytes in hexadecimal form.
  GENERATED_SECRET: () => randomBytes(32).toString('hex'),
}
const replaced = new RegExp(Object.keys(placeholders).join('|'), 'g')

/** File contents by relative path with `/`. */
type TemplateFiles = ReadonlyMap<string, string>

/**
 * Replaces all placeholders in a text.
 *
 * @param name in kebab case
 */
export function fillTemplate(text: string, name: string): string {
  const words = name.split('-')
  return text.replace(replaced, (form) => placeholders[form]?.(words) ?? form)
}

/**
 * Returns the files of template folders with all placeholders replaced. A leading `_` of a file name becomes `.`,
 * because npm does not publish some files with a leading dot. `package.template.json` becomes `package.json`, because
 * only one manifest of a package may have `exports`.
 *
 * @param folders below `templates`
 * @param name in kebab case
 */
export function templateFiles(folders: readonly string[], name: string): TemplateFiles {
  const files = folders.flatMap((folder) => {
    const paths = globSync('**', { cwd: join(root, folder), withFileTypes: true }).filter((entry) => entry.isFile())
    return paths.map((entry): [string, string] => {
      const file = join(entry.parentPath, entry.name)
      const path = file.slice(join(root, folder).length + 1).replaceAll('\\', '/')
      const written = path.replace(/(^|\/)_/, '$1.').replace(/(^|\/)package\.template\.json$/, '$1package.json')
      return [fillTemplate(written, name), fillTemplate(readFileSync(file, 'utf8'), name)]
    })
  })
  return new Map(files.sort(([one], [other]) => (one < other ? -1 : 1)))
}

/**
 * Converts a TypeScript product to JavaScript. The sources contain no types, so only file names change. The generated
 * client is TypeScript and is omitted.
 */
export function convertToJavaScript(files: TemplateFiles): TemplateFiles {
  const renamed = (text: string) => text.replaceAll(/\b(plinth\.config|product\.test)\.ts\b/g, '$1.js')
  return new Map(
    [...files]
      .filter(([path]) => path !== 'tsconfig.json')
      .map(([path, text]) => [
        renamed(path),
        path === 'package.json'
          ? withoutTypeScript(text)
          : renamed(text).replace(/^.*npm run (client|typecheck).*\n/gm, ''),
      ]),
  )
}

function withoutTypeScript(text: string): string {
  const { scripts, devDependencies, ...manifest } = JSON.parse(text)
  const { client: _, typecheck: __, ...others } = scripts
  const kept = Object.entries(devDependencies).filter(([name]) => name.startsWith('@plinth/'))
  const written = { ...manifest, scripts: others, devDependencies: Object.fromEntries(kept) }
  return `${JSON.stringify(written, undefined, 2)}\n`
}

/**
 * Writes files into a new or empty folder. Removes them again if an error occurs.
 *
 * @throws PlinthError `PLINTH_CREATE_NOT_EMPTY` before anything is written
 */
export async function writeFolder(folder: string, files: TemplateFiles): Promise<void> {
  const content = existsSync(folder) ? await readdir(folder) : []
  const [first] = content
  if (first !== undefined) throw createError('PLINTH_CREATE_NOT_EMPTY', { folder, first })
  const created = await mkdir(folder, { recursive: true })
  try {
    for (const [path, text] of files) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      // Only the owner may read the secrets in `.env`.
      await writeFile(join(folder, path), text, { flag: 'wx', mode: path === '.env' ? 0o600 : 0o666 })
    }
  } catch (error) {
    const written = created === undefined ? (await readdir(folder)).map((name) => join(folder, name)) : [created]
    for (const path of written) await rm(path, { recursive: true, force: true })
    throw error
  }
}
