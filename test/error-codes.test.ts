import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

t.test('every coded error of the reference is expected by a test', async (t) => {
  const codes = [...new Set(read('docs/errors.md').match(/\bPLINTH_[A-Z][A-Z_]*[A-Z]\b/g))].sort()
  t.ok(codes.length > 80, `${codes.length} codes`)
  const tests = globSync('{config-schema,kernel,migrations,plugins/*,examples/*,.}/{test/,}*.test.ts', { cwd: root })
  const expected = new Set(tests.flatMap((file) => read(file).match(/\bPLINTH_[A-Z_]+\b/g) ?? []))
  t.same(
    codes.filter((code) => !expected.has(code)),
    [],
  )
})
