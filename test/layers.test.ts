import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { assertMembers } from '@plinth/dev/testing'
import t from 'tap'
import { climbingImports, layers } from '../scripts/layers.ts'

const loadsTypeBox = 'import Type from @plinth/http or @plinth/config-schema/typebox, not from typebox'
const root = join(import.meta.dirname, '..')

t.test('an import of a higher layer, or one that bypasses the name of a package, is an error', async (t) => {
  const problems: readonly (readonly [file: string, source: string, problem: string])[] = [
    ['kernel/src/a.ts', `import http from '@plinth/http'`, 'kernel may not import http'],
    ['config-schema/src/a.ts', `import '@plinth/kernel'`, 'config-schema may not import kernel'],
    ['plugins/events/src/a.ts', `import type { X } from '@plinth/rate-limit'`, 'events may not import rate-limit'],
    ['plugins/database/src/a/b.ts', `import {\n  x,\n} from '@plinth/iam/verification'`, 'database may not import iam'],
    ['plugins/i18n/src/a.ts', `export * from '@plinth/console'`, 'i18n may not import console'],
    ['plugins/http/src/a.ts', `  await import('@plinth/install')`, 'http may not import install'],
    ['plugins/console/web/a.tsx', `import { http } from '@plinth/http'`, 'a page of the browser may not import http'],
    [
      'plugins/console/web/a.ts',
      `import { x } from '../src/x.ts'`,
      '../src/x.ts leads out of the files of the browser',
    ],
    [
      'plugins/console/web/admin/shell/a.tsx',
      `import type { X } from '../../../src/contract.ts'`,
      '../../../src/contract.ts leads out of the files of the browser',
    ],
    [
      'plugins/console/web/a.ts',
      'const page = await import(name)',
      'a page of the browser names each file that it imports',
    ],
    ['plugins/http/src/a.ts', `import x from '@plinth/nothing'`, 'http may not import nothing'],
    ['plugins/iam/src/a.ts', `import x from '../../http/src/x.ts'`, '../../http/src/x.ts leads out of the package'],
    ['plugins/iam/src/a.ts', `import { Type } from 'typebox'`, loadsTypeBox],
    ['plugins/http/src/a.ts', `import { Type } from 'typebox'`, loadsTypeBox],
    ['plugins/iam/src/a.ts', `import {\n  Type,\n} from 'typebox'`, loadsTypeBox],
    ['plugins/iam/src/a.ts', `export * from 'typebox/value'`, loadsTypeBox],
  ]
  for (const [file, source, problem] of problems) {
    t.strictSame(climbingImports(file, `// first\n${source}\n`), [`${file}: ${problem}`], source)
  }
  assertMembers(t, climbingImports('plugins/new/src/a.ts', ''), [/"new" stands in no layer/])
})

t.test('imports of lower layers, the own package, libraries and examples in comments are no errors', async (t) => {
  const fine = [
    `import { kernel } from '@plinth/kernel'`,
    `import { planProduct } from '@plinth/kernel/host'`,
    `import { x } from '@plinth/open-platform'`,
    `import { y } from '../src/y.ts'`,
    `import t from 'tap'`,
    `import type { TSchema } from 'typebox'`,
    ` * import { order } from '@plinth/install'`,
  ]
  t.strictSame(climbingImports('plugins/open-platform/src/a.ts', fine.join('\n')), [])
  const ofPages = `import { y } from '../api/y.ts'\nconst page = lazy(() => import('./page.tsx'))`
  t.strictSame(climbingImports('plugins/console/web/admin/a.tsx', ofPages), [])
  t.strictSame(
    climbingImports('config-schema/src/typebox-builders.ts', `export { Array } from 'typebox'`),
    [],
    'the entry point of the bundle',
  )
})

t.test('every package is in one layer, and lint finds no import of a higher layer', async (t) => {
  const named = layers.flatMap(({ packages }) => packages)
  t.equal(new Set(named).size, named.length)
  const packages = globSync('{config-schema,create-plinth,dev,kernel,migrations,plugins/*}/package.json', { cwd: root })
  for (const file of packages) t.ok(named.includes(file.replace(/^plugins\/|\/package.json$/g, '')), file)
  const { stdout } = await promisify(execFile)(process.execPath, ['scripts/layers.ts'], { cwd: root })
  t.match(stdout, /import nothing that stands above them/)
})
