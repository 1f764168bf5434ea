/** Tests that each imported component of the library has its styles. Without them, the component is drawn without layout. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const web = join(import.meta.dirname, '../web')
const read = (pattern: string) => globSync(pattern, { cwd: web }).map((path) => readFileSync(join(web, path), 'utf8'))

t.test('each component of the library that a page imports has its styles', async (t) => {
  const imported = read('**/*.{ts,tsx}').flatMap((code) =>
    [...code.matchAll(/import \{([^}]*)\} from '@mantine\/core'/g)].flatMap(([, names = '']) => names.split(',')),
  )
  const styled = new Set(imported.map((name) => `@mantine/core/styles/${name.trim()}.css`))
  const files = [...styled].filter((path) => existsSync(fileURLToPath(import.meta.resolve(path))))
  t.ok(files.length > 10, `${files.length} components with styles`)
  const styles = read('**/*.css').join('\n')
  t.strictSame(
    files.filter((path) => !styles.includes(`@import "${path}"`)),
    [],
  )
})
